# SPDX-License-Identifier: MIT
"""A hostile host that compiles graphs of several layers.

Each trick is a function that raises :class:`~armnn_conformance.running.NonconformityError`. In all
of them the graph is overwritten after the call of compile, and so is each constant that is not
kept; node ids are not positions; tensors have an offset and guards. Programs are made again and
again, and stored.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.native import NativeLibrary
from armnn_backend_api import ctypes_mirror as abi
from armnn_conformance.hostile.host import CALL, GAP, Answer, GraphOfC, LentGraph, NativeLife
from armnn_conformance.operands import decode
from armnn_conformance.running import SHARED, NonconformityError

_CYCLES: Final = 200
_LEAK_BYTES: Final = 16
"""The bytes that each cycle may leak: less than the C library's smallest block."""

_libc: Final[Any] = ctypes.CDLL(None)


class NothingToPlayError(Exception):
    """The backend lacks the function that the trick is about."""


def repeat(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Repeat create to destroy; check the memory in use."""
    graph = graphs[0]
    if not hasattr(_libc, "mallinfo2"):
        raise NothingToPlayError(f"{platform.libc_ver()} does not say how much memory is in use")

    def cycle() -> None:
        with (
            life.backend() as backend,
            life.program(backend, graph) as (program, _),
            life.context(program) as context,
        ):
            life.execute(context, graph)

    def growth() -> int:
        before = _bytes_in_use()
        for _ in range(_CYCLES):
            cycle()
        return _bytes_in_use() - before

    cycle()
    # Memory that is kept or freed once, such as a pool of threads, does not grow again.
    usual = statistics.median(growth() for _ in range(3))
    if usual > _LEAK_BYTES * _CYCLES:
        raise NonconformityError(
            f"{_CYCLES} times a backend, a program and a context left {usual} bytes that were "
            "not freed"
        )


def store(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Serialize programs, destroy them, and run the deserialized ones."""
    if life.library.function("serialize") is None or life.library.function("deserialize") is None:
        raise NothingToPlayError("the backend does not serialize programs")
    with life.backend() as backend:
        for graph in graphs:
            with life.program(backend, graph) as (program, _):
                _check_write_errors(life, program)
                blob = _blob_of(life, program)
            data = ctypes.create_string_buffer(blob, len(blob))
            made = ctypes.c_void_p()
            answer = life.call("deserialize", backend, None, data, len(blob), ctypes.byref(made))
            ctypes.memset(data, 0xFF, len(blob))
            if answer.code != abi.OK:
                raise NonconformityError(
                    f"deserialize refused the bytes of serialize: {answer.code} ({answer.message})"
                )
            with life.context(made) as context:
                for when in ("after deserialize", "in the second call after deserialize"):
                    life.check_right(context, graph, when)
            life.library.required("program_destroy")(made)


def _blob_of(life: NativeLife, program: ctypes.c_void_p) -> bytes:
    parts: list[bytes] = []

    def take(_arg: int | None, data: int | None, size: int) -> int:
        parts.append(ctypes.string_at(data, size) if data and size else b"")
        return int(abi.OK)

    answer = life.call("serialize", program, abi.WriteFn(take), None)
    if answer.code != abi.OK:
        raise NonconformityError(f"serialize answered {answer.code} ({answer.message})")
    return b"".join(parts)


def _check_write_errors(life: NativeLife, program: ctypes.c_void_p) -> None:
    full = abi.WriteFn(lambda *_: abi.RESOURCE_EXHAUSTED)
    answer = life.call("serialize", program, full, None)
    if answer.code != abi.RESOURCE_EXHAUSTED:
        raise NonconformityError(
            f"serialize answered {answer.code} when the host took no bytes and answered "
            f"{abi.RESOURCE_EXHAUSTED}: expected the host's code"
        )


def _bytes_in_use() -> int:
    """Return the bytes of blocks, without Python's garbage."""
    gc.collect()
    _libc.mallinfo2.restype = _MallInfo
    found = _libc.mallinfo2()
    return int(found.uordblks + found.hblkhd)


class _MallInfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


CONTEXTS: Final = 4
_PAUSES: Final = 6
"""How many questions of one call are made use of."""

_PATIENCE_SECONDS: Final = 20
_SLOW_SECONDS: Final = 0.05
_STOPPED: Final = (abi.CANCELLED, abi.DEADLINE_EXCEEDED)
_PAST_NS, _FUTURE_NS = 1, 3600 * 10**9


def _free_the_graph(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Overwrite graph and constants after compile; count keep and drop."""
    with life.backend() as backend:
        for graph in graphs:
            with life.program(backend, graph) as (program, _), life.context(program) as context:
                for when in ("after compile", "in the second call"):
                    life.check_right(context, graph, when)


def _space_out_arrays(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Put garbage between the elements of all arrays."""
    life.gap = GAP
    with life.backend() as backend:
        for graph in graphs:
            taken = life.query(backend, LentGraph(graph.native, gap=GAP))
            if not all(taken):
                raise NonconformityError(
                    f"{graph.graph}: query answers {taken} if its arrays have larger strides: "
                    "step by node_stride, value_stride, attribute_stride and support_stride, as "
                    "ARMNN_AT does"
                )
    _free_the_graph(life, graphs)


def _refuse_a_layer(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Compile an unknown layer among known ones; expect its id."""
    with life.backend() as backend:
        for graph in graphs:
            lent = LentGraph(graph.native)
            last = lent.struct.nodes[lent.struct.num_nodes - 1]
            last.type = abi.String(ctypes.addressof(_UNKNOWN_TYPE), len(_UNKNOWN_TYPE) - 1)
            wanted = [number != lent.node_ids[-1] for number in lent.node_ids]
            if life.query(backend, lent) != wanted:
                raise NonconformityError(
                    "query answers for a graph whose last layer type is unknown: "
                    f"{life.query(backend, lent)}, expected {wanted}"
                )
            answer, _ = life.compile(backend, lent)
            if answer.code != abi.UNSUPPORTED_NODE:
                raise NonconformityError(
                    f"compile answered {answer.code} ({answer.message}) to an unknown layer type: "
                    f"expected {abi.UNSUPPORTED_NODE}, ARMNN_UNSUPPORTED_NODE"
                )
            if answer.nodes != (lent.node_ids[-1],):
                raise NonconformityError(
                    f"compile refused the nodes {list(answer.nodes)}: expected the id "
                    f"{lent.node_ids[-1]} of the one with an unknown layer type"
                )
            lent.constants.check_balance("after a refused compile")


def _pass_unknown_options(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Create and compile with an option that does not exist."""
    answers = {"create": life.create(NoSuchOption="1")}
    with life.backend() as backend:
        lent = LentGraph(graphs[0].native)
        answers["compile"], program = life.compile(backend, lent, NoSuchOption="1")
        if answers["compile"].code == abi.OK:
            life.library.required("program_destroy")(program)
        lent.constants.check_balance("after a compile with an unknown option")
    for name, answer in answers.items():
        if answer.code != abi.INVALID_ARGUMENT:
            raise NonconformityError(
                f"{name} answered {answer.code} ({answer.message}) to an unknown option: expected "
                f"{abi.INVALID_ARGUMENT}, ARMNN_INVALID_ARGUMENT"
            )


def _cancel(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Cancel a call at its first and last question."""
    most = [0]

    def play(context: ctypes.c_void_p, graph: GraphOfC) -> None:
        life.polls = 0
        life.check_right(context, graph, "in a call that may be cancelled", call=CALL)
        questions = life.polls
        if not questions:
            raise NonconformityError(
                f"execute of {len(graph.native.layers)} layers never asks `cancelled` of the host "
                "whether to stop: ask between layers"
            )
        _check_stops(life, context, graph, "at its first question", lambda call: call == CALL)
        if questions == 1:
            questions = _questions_of_slow_call(life, context, graph)
        most[0] = max(most[0], questions)
        life.polls = 0
        life.stops = _from_question(life, questions)
        answer, _ = life.execute(context, graph, call=CALL)
        life.stops = lambda _call: False
        # A backend may ask by the clock: then this run may have ended without that question.
        if life.polls >= questions:
            _check_stopped(life, context, graph, f"at question {questions}", answer)

    _with_contexts(life, graphs, play)
    if most[0] == 1:
        raise NonconformityError(
            "execute asks `cancelled` once in a call, although the first question took "
            f"{_SLOW_SECONDS:g} s: a long call could not be stopped. Ask between layers, or while "
            "the device computes"
        )


def _questions_of_slow_call(life: NativeLife, context: ctypes.c_void_p, graph: GraphOfC) -> int:
    """Return how often a slow call asks.

    A backend may ask by the clock, so a short call has one question.
    """

    def answer_late(call: int) -> bool:
        if call == CALL and life.polls == 1:
            time.sleep(_SLOW_SECONDS)
        return False

    life.polls, life.stops = 0, answer_late
    life.check_right(context, graph, "in a call that may be cancelled", call=CALL)
    life.stops = lambda _call: False
    return life.polls


def _set_deadlines(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Set a deadline in the past, and one ahead."""

    def play(context: ctypes.c_void_p, graph: GraphOfC) -> None:
        late = {"call": CALL, "deadline_ns": _PAST_NS}
        _check_stops(
            life, context, graph, "at a deadline in the past", lambda call: call == CALL, **late
        )
        until = time.monotonic_ns() + _FUTURE_NS
        life.check_right(context, graph, "before the deadline", call=CALL, deadline_ns=until)

    _with_contexts(life, graphs, play)


def _pause_calls(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Run other contexts whenever one asks whether to stop."""
    with life.backend() as backend, ThreadPoolExecutor(1) as other:
        for graph in graphs:
            with life.program(backend, graph) as (program, _), ExitStack() as stack:
                contexts = [stack.enter_context(life.context(program)) for _ in range(CONTEXTS)]
                _check_paused(life, graph, contexts, other)


def _check_paused(
    life: NativeLife, graph: GraphOfC, contexts: Sequence[ctypes.c_void_p], other: Any
) -> None:
    feeds = [[np.roll(array, places) for array in graph.feeds] for places in range(CONTEXTS)]
    alone = [life.execute(contexts[0], graph, each)[1] for each in feeds]
    together: list[list[NDArray[Any]]] = []
    is_stuck = False

    def run_the_others() -> None:
        for context, each in zip(contexts[1:], feeds[1:], strict=True):
            together.append(life.execute(context, graph, each)[1])

    def pause(call: int) -> bool:
        nonlocal is_stuck
        if call == CALL and not is_stuck and len(together) < _PAUSES * (CONTEXTS - 1):
            try:
                other.submit(run_the_others).result(_PATIENCE_SECONDS)
            except TimeoutError:
                is_stuck = True
        return False

    life.stops = pause
    _, first = life.execute(contexts[0], graph, feeds[0], call=CALL)
    life.stops = lambda _call: False
    if is_stuck:
        raise NonconformityError(
            f"{graph.graph}: while a call waited in `cancelled`, calls in other contexts did not "
            f"end within {_PATIENCE_SECONDS} s: the backend holds a lock while it asks"
        )
    if not _same(first, alone[0], graph):
        raise NonconformityError(
            f"{graph.graph}: a call computed something else when calls in other contexts ran "
            f"meanwhile: {SHARED}"
        )
    for number, results in enumerate(together):
        if not _same(results, alone[1 + number % (CONTEXTS - 1)], graph):
            raise NonconformityError(
                f"{graph.graph}: a call computed something else while another one waited: {SHARED}"
            )


def _hold_several_programs(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Hold two programs of each graph, and run them all."""
    with life.backend() as backend:
        with ExitStack() as stack:
            held = []
            for graph in (*graphs, *graphs):
                program, _ = stack.enter_context(life.program(backend, graph))
                held.append((stack.enter_context(life.context(program)), graph))
            for context, graph in (*held, *reversed(held)):
                life.check_right(context, graph, "with several programs")
        with life.program(backend, graphs[0]) as (program, _), life.context(program) as context:
            life.check_right(context, graphs[0], "after other programs were destroyed")


def _free_dropped_constants(life: NativeLife, graphs: Sequence[GraphOfC]) -> None:
    """Overwrite each constant once compile drops it."""
    life.frees_dropped = True
    _free_the_graph(life, graphs)


FREES_DROPPED: Final = "frees each constant that compile drops"
"""The trick for backends that state the capability ReleasesConstants."""

_UNKNOWN_TYPE: Final = ctypes.create_string_buffer(b"FluxCapacitor")

TRICKS: Final[dict[str, Callable[[NativeLife, Sequence[GraphOfC]], None]]] = {
    "frees the graph after compile": _free_the_graph,
    "hands over arrays with larger strides": _space_out_arrays,
    FREES_DROPPED: _free_dropped_constants,
    "asks for an unknown layer among others": _refuse_a_layer,
    "passes unknown options": _pass_unknown_options,
    "cancels calls": _cancel,
    "sets deadlines": _set_deadlines,
    "pauses calls": _pause_calls,
    "holds several programs": _hold_several_programs,
    "makes and destroys everything again and again": repeat,
    "stores programs": store,
}


def play(library: NativeLibrary, trick: str, graphs: Sequence[GraphOfC]) -> None:
    """Play a trick with the graphs of a native backend.

    Raises:
        NonconformityError: The backend does not keep the contract.
        NothingToPlayError: The backend lacks the function that the trick is about.
    """
    life = NativeLife(library)
    answer = life.create()
    if answer.code == abi.UNAVAILABLE:
        raise NothingToPlayError(f"a host without extensions cannot use it: {answer.message}")
    TRICKS[trick](life, graphs)


def _with_contexts(
    life: NativeLife,
    graphs: Sequence[GraphOfC],
    use: Callable[[ctypes.c_void_p, GraphOfC], None],
) -> None:
    with life.backend() as backend:
        for graph in graphs:
            with life.program(backend, graph) as (program, _), life.context(program) as context:
                use(context, graph)


def _check_stops(
    life: NativeLife,
    context: ctypes.c_void_p,
    graph: GraphOfC,
    when: str,
    stops: Callable[[int], bool],
    **how: Any,
) -> None:
    life.stops = stops
    answer, _ = life.execute(context, graph, **{"call": CALL, **how})
    life.stops = lambda _call: False
    _check_stopped(life, context, graph, when, answer)


def _check_stopped(
    life: NativeLife, context: ctypes.c_void_p, graph: GraphOfC, when: str, answer: Answer
) -> None:
    if answer.code not in _STOPPED:
        raise NonconformityError(
            f"execute answered {answer.code} when the host stopped the call {when}: expected "
            "ARMNN_CANCELLED or ARMNN_DEADLINE_EXCEEDED"
        )
    ids = [-1, *LentGraph(graph.native).node_ids]
    if not set(answer.nodes) <= set(ids):
        raise NonconformityError(f"a stopped call names the nodes {list(answer.nodes)} of {ids}")
    life.check_right(context, graph, "after a call that was stopped")


def _from_question(life: NativeLife, at: int) -> Callable[[int], bool]:
    return lambda call: call == CALL and life.polls >= at


def _same(one: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]], graph: GraphOfC) -> bool:
    rows = zip(one, other, graph.outputs, strict=True)
    return all(
        bool((np.abs(decode(a, v.info) - decode(b, v.info)) <= v.error).all()) for a, b, v in rows
    )
