# SPDX-License-Identifier: MIT
"""Objects of a native backend under a hostile host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends.native import NativeGraph
from armnn.single_layer import prepare
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, new_error, struct, text_of
from armnn_conformance.graphs._graph import Graph
from armnn_conformance.hostile.memory import CountedConstants, GuardedTensors, LentGraph
from armnn_conformance.running import GARBAGE, MemoryDamageError, NonconformityError, garbage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.native import NativeLibrary
    from armnn_conformance.graphs._graph import GraphValue

CALL: Final = 7
"""The call_id of a call that is watched; others have 0."""

_OFFSET: Final = 64
_NO_LAYERS: Final = ("Input", "Output", "Constant")


@dataclass(slots=True)
class Answer:
    """What a call answered.

    Attributes:
        code: An ``armnn_code``.
        message: For people.
        nodes: The ids of nodes that the error names.
    """

    code: int
    message: str = ""
    nodes: tuple[int, ...] = ()


class GraphOfC:
    """A graph as C gets it.

    Attributes:
        graph: The graph with its expected values.
        native: It in memory of the usual host.
        feeds: What execute receives, in its order.
        outputs: What execute writes, in its order.
        constants: Those of its last program.
    """

    def __init__(self, graph: Graph, library: NativeLibrary) -> None:
        network = graph.network()
        layers = [each for each in network.topological_order() if each.type not in _NO_LAYERS]
        for layer in layers:
            prepare(network, layer.name)
        made = {value for layer in layers for value in layer.outputs}
        read = dict.fromkeys(v for layer in layers for v in layer.inputs if v is not None)
        shown = dict.fromkeys(layer.inputs[0] for layer in network.outputs)
        wanted = [value for value in shown if value in made]  # others never reach a backend
        inputs = [value for value in read if value not in made]
        self.graph = graph
        self.constants: CountedConstants | None = None
        self.native = NativeGraph(
            layers, inputs, [v for v in wanted if v is not None], library.api_version
        )
        expected = dict(zip(shown, graph.outputs, strict=True))
        feeds = graph.feeds()
        self.feeds = [feeds[value.producer.name] for value in self.native.inputs]
        self.outputs: list[GraphValue] = [expected[value] for value in wanted]

    def problem(self, results: Sequence[NDArray[Any]]) -> str:
        """Return the first output's difference from its expected value, or ""."""
        shown = Graph(self.graph.name, nodes=self.graph.nodes, outputs=self.outputs)
        return shown.problem(results)


class NativeLife:
    """A backend with a host of its own.

    Attributes:
        library: The backend's.
        polls: How often the backend asked whether a call shall stop.
        stops: Answers whether the call of this number shall stop.
        frees_dropped: Whether constants that ``compile`` drops are freed at once.
        gap: Bytes of garbage between the elements of all arrays.
    """

    def __init__(self, library: NativeLibrary) -> None:
        self.library = library
        self.polls = 0
        self.stops: Callable[[int], bool] = lambda _call: False
        self.frees_dropped = False
        self.gap = 0
        self._table = type(library.host.table).from_buffer_copy(library.host.table)
        self._cancelled = abi.HostCancelled(self._asked)
        self._table.cancelled = self._cancelled
        self._table.get_extension = abi.HostGetExtension()
        self._arena = Arena()

    def call(self, name: str, *args: Any) -> Answer:
        """Call a function that fills an error.

        Raises:
            NonconformityError: The error does not agree with the code.
        """
        error = new_error()
        code: int = self.library.required(name)(*args, error)
        answer = Answer(code, text_of(error.message))
        if code != abi.OK:
            if error.code not in (code, abi.OK):
                raise NonconformityError(f"{name} returned {code}, but its error says {error.code}")
            named = [error.nodes[i] for i in range(error.num_nodes)] if bool(error.nodes) else []
            answer.nodes = tuple(named or [error.node_id])
            if bool(error.release):
                error.release(error)
        return answer

    @contextmanager
    def backend(self) -> Iterator[ctypes.c_void_p]:
        """Yield a backend."""
        made = ctypes.c_void_p()
        self._must("create", self._table, None, 0, ctypes.byref(made))
        yield made
        self.library.required("destroy")(made)

    def create(self, **options: str) -> Answer:
        """Create a backend with options; destroy it if that works."""
        made = ctypes.c_void_p()
        rows, count = self._options(options)
        answer = self.call("create", self._table, rows, count, ctypes.byref(made))
        if answer.code == abi.OK:
            self.library.required("destroy")(made)
        return answer

    def compile(
        self, backend: ctypes.c_void_p, lent: LentGraph, **options: str
    ) -> tuple[Answer, ctypes.c_void_p]:
        """Compile a graph, which is overwritten then."""
        made, how = ctypes.c_void_p(), struct(abi.CompileArgs)
        how.options, how.num_options = self._options(options)
        with lent.lent() as graph:
            answer = self.call("compile", backend, None, graph, how, ctypes.byref(made))
        ctypes.memset(ctypes.addressof(how), 0xFF, ctypes.sizeof(how))
        return answer, made

    def query(self, backend: ctypes.c_void_p, lent: LentGraph) -> list[bool]:
        """Return which nodes of a graph the backend takes.

        Raises:
            NonconformityError: It fails, or refuses one without a reason.
        """
        size = ctypes.sizeof(abi.Support)
        stride = size + self.gap
        block = self._arena.filled(ctypes.c_ubyte, [GARBAGE] * stride * len(lent.node_ids))
        rows = [abi.Support.from_buffer(block, n * stride) for n in range(len(lent.node_ids))]
        for row, number in zip(rows, lent.node_ids, strict=True):
            ctypes.memset(ctypes.addressof(row), 0, size)
            row.header = abi.Header(stride, abi.STRUCT_IDS[abi.Support], None)
            row.node_id = number
        first = ctypes.cast(block, ctypes.POINTER(abi.Support))
        self._must("query", backend, None, lent.struct, first, stride)
        between = [bytes(block[n * stride + size : (n + 1) * stride]) for n in range(len(rows))]
        if any(set(gap) - {GARBAGE} for gap in between):
            raise MemoryDamageError(
                f"query wrote between its answers, which are {stride} bytes apart: step by "
                "support_stride, as ARMNN_AT does"
            )
        for row in rows:
            if row.level == abi.NOT_SUPPORTED and not text_of(row.reason):
                raise NonconformityError("a node of a graph is refused without a reason")
        return [row.level != abi.NOT_SUPPORTED for row in rows]

    @contextmanager
    def program(
        self, backend: ctypes.c_void_p, graph: GraphOfC
    ) -> Iterator[tuple[ctypes.c_void_p, LentGraph]]:
        """Yield a program and the overwritten memory of its graph.

        Raises:
            NonconformityError: It is not compiled, or constants are still held in the end.
        """
        lent = LentGraph(graph.native, gap=self.gap)
        lent.constants.frees_dropped = self.frees_dropped
        answer, made = self.compile(backend, lent)
        if answer.code != abi.OK:
            raise NonconformityError(
                f"compile answered {answer.code} ({answer.message}) to {len(lent.node_ids)} "
                f"layers that are claimed one by one: {graph.graph}"
            )
        graph.constants = lent.constants
        yield made, lent
        self.library.required("program_destroy")(made)
        lent.constants.check_balance("after program_destroy")

    @contextmanager
    def context(self, program: ctypes.c_void_p) -> Iterator[ctypes.c_void_p]:
        """Yield a context."""
        made = ctypes.c_void_p()
        self._must("context_create", program, ctypes.byref(made))
        yield made
        self.library.required("context_destroy")(made)

    def execute(
        self,
        context: ctypes.c_void_p,
        graph: GraphOfC,
        feeds: Sequence[NDArray[Any]] | None = None,
        *,
        call: int = 0,
        deadline_ns: int = 0,
    ) -> tuple[Answer, list[NDArray[Any]]]:
        """Execute a program; return answer and outputs.

        Raises:
            NonconformityError: It wrote elsewhere than to the outputs' elements.
        """
        inputs = GuardedTensors(graph.feeds if feeds is None else feeds, offset=_OFFSET)
        blank = [np.full(v.shape, garbage(v.info)) for v in graph.outputs]
        outputs = GuardedTensors(blank, offset=_OFFSET)
        args = struct(abi.ExecuteArgs)
        args.inputs, args.num_inputs = inputs.first, len(inputs.arrays)
        args.outputs, args.num_outputs = outputs.first, len(outputs.arrays)
        args.call_id, args.deadline_ns = call, deadline_ns
        answer = self.call("execute", context, args)
        inputs.check_guards("input", unchanged=True)
        outputs.check_guards("output", unchanged=False)
        return answer, [array.copy() for array in outputs.arrays]

    def check_right(
        self, context: ctypes.c_void_p, graph: GraphOfC, when: str, **how: Any
    ) -> list[NDArray[Any]]:
        """Execute a program and compare; return the outputs.

        Raises:
            NonconformityError: It failed, or computed something else than the oracles.
        """
        answer, results = self.execute(context, graph, **how)
        if answer.code != abi.OK:
            raise NonconformityError(
                f"{graph.graph}: {when}, execute answered {answer.code} ({answer.message})"
            )
        problem = graph.problem(results)
        if problem:
            lost = "" if graph.constants is None else graph.constants.overwritten()
            hint = f"; compile did not keep {lost}: they are overwritten by now" if lost else ""
            raise NonconformityError(f"{graph.graph}: {when}, {problem}{hint}")
        return results

    def _must(self, name: str, *args: Any) -> None:
        answer = self.call(name, *args)
        if answer.code != abi.OK:
            raise NonconformityError(f"{name} answered {answer.code} ({answer.message})")

    def _asked(self, _ctx: int | None, call: int) -> int:
        self.polls += 1
        return int(self.stops(call))

    def _options(self, options: dict[str, str]) -> tuple[Any, int]:
        if not options:
            return None, 0
        rows = self._arena.array(abi.Option, len(options))
        for row, (key, value) in zip(rows, options.items(), strict=False):
            row.key, row.value = self._arena.text(key), self._arena.text(value)
        return rows, len(options)
