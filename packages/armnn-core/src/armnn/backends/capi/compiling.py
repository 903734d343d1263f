# SPDX-License-Identifier: MIT
"""From layers to programs: single workloads and PreCompiled layers.

A PreCompiled layer replaces a whole subgraph.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from armnn._load_times import count_packing
from armnn.backends.cache import Footprint
from armnn.backends.capi.blobs import lending
from armnn.backends.capi.calls import (
    NOBODY,
    attempt,
    call,
    compile_details,
    exception_of,
    watched_call,
)
from armnn.backends.capi.contexts import (
    NativeDevice,
    NativeModelContext,
    device_pointer,
    read_capabilities,
)
from armnn.backends.capi.graph import KeptGraph, NativeGraph, packer
from armnn.backends.capi.library import NativeObject
from armnn.backends.capi.programs import NativeProgram, cached_program
from armnn.backends.capi.values import RELEASES_CONSTANTS
from armnn.backends.capi.workload import NativeWorkload
from armnn.backends.contract import (
    SUPPORTED,
    OptimizationViews,
    SubgraphView,
    Substitution,
    Support,
    current_control,
)
from armnn.errors import BackendError
from armnn.graph import Layer, Network, Value
from armnn.layers.plumbing import PreCompiledDescriptor
from armnn.types import DataLayout
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import Arena, shown_text, struct


def compile_layer(
    backend: NativeObject, version: BackendVersion, layer: Layer, model: NativeModelContext
) -> NativeWorkload:
    """Return the workload of one layer.

    Raises:
        ArmnnError: The backend cannot compile it.
    """
    with NativeGraph.of_layer(layer, version) as graph:
        outcome = _program(backend, graph, model)
        if isinstance(outcome, Failure):
            raise exception_of(outcome, backend.library, "compile", graph.names)
        positions = [layer.inputs.index(value) for value in graph.inputs]
    return NativeWorkload(outcome, positions, layer.input_infos, layer.output_infos)


def compile_view(
    backend: NativeObject, version: BackendVersion, view: SubgraphView, model: NativeModelContext
) -> OptimizationViews:
    """Compile a subgraph into as few programs as possible.

    The backend's refusals limit that. The backend was asked about the layers and takes each of
    them; ``compile`` may refuse some.

    Raises:
        ArmnnError: The backend failed for another reason than that it does not support a layer.
    """
    if not view.outputs:
        return OptimizationViews(untouched=[view])
    refused: dict[Layer, str] = {}
    lets_go = view.network.lets_constants_go and _releases_constants(backend)
    is_kept = view.network.keeps_graphs and backend.library.function("optimize") is None
    views = OptimizationViews()
    kept = _sorted_out(backend, version, view, model, views)
    waiting = list(_runs(view.layers, kept))
    while waiting:
        layers = waiting.pop(0)
        part = view if len(layers) == len(view.layers) else view.part(*layers)
        graph = _graph_of(part, version, model, lets_go=lets_go)
        outcome = _kept_program(backend, version, graph, model, is_kept=is_kept)
        if isinstance(outcome, Failure):
            reason = outcome.text or "the backend cannot compile it"
            named = [layers[node] for node in outcome.nodes if 0 <= node < len(layers)]
            refused.update(dict.fromkeys(named if named else layers, reason))
            waiting[:0] = _runs(layers, refused)
        else:
            replacement = _replacement(part, graph.inputs, outcome)
            views.substitutions.append(Substitution(part, replacement))
    if refused:
        views.failed.append(view.part(*refused))
        views.reasons.update({layer.name: reason for layer, reason in refused.items()})
    return views


def _graph_of(
    view: SubgraphView, version: BackendVersion, model: NativeModelContext, *, lets_go: bool
) -> NativeGraph:
    """Return a view's graph, that of the query if possible."""
    asked: NativeGraph | None = model.asked
    model.asked = None
    if asked is not None and asked.lent_for(view, lets_go=lets_go):
        return asked
    return NativeGraph.of_view(view, version, lets_go=lets_go)


def _sorted_out(
    backend: NativeObject,
    version: BackendVersion,
    view: SubgraphView,
    model: NativeModelContext,
    views: OptimizationViews,
) -> dict[Layer, int]:
    """Enter and return the layers that are not compiled.

    Raises:
        BackendError: A disposition is none of the header's.
        ArmnnError: The backend failed to answer.
    """
    library = backend.library
    optimize = library.function("optimize")
    if optimize is None or (version.major, version.minor) < _OPTIMIZE_SINCE:
        return {}
    found = (ctypes.c_int32 * len(view.layers))()
    with NativeGraph.of_view(view, version) as graph:
        device = device_pointer(model.device)
        action = f"optimize {graph.title}"
        names = graph.names
        call(library, "optimize", action, backend.pointer, device, graph.struct, found, names=names)
    for layer, disposition in zip(view.layers, found, strict=True):
        if disposition not in _DISPOSITIONS:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) answered optimize with {disposition} for "
                f"layer {layer.name!r}: expected one of {_DISPOSITIONS}"
            )
    kept = {
        layer: disposition
        for layer, disposition in zip(view.layers, found, strict=True)
        if disposition != abi.NODE_COMPILED
    }
    for layer, disposition in kept.items():
        parts = views.deleted if disposition == abi.NODE_DELETED else views.untouched
        parts.append(view.part(layer))
    return kept


_OPTIMIZE_SINCE: Final = (1, 2)
_DISPOSITIONS: Final = (abi.NODE_COMPILED, abi.NODE_UNTOUCHED, abi.NODE_DELETED)


def _releases_constants(backend: NativeObject) -> bool:
    return read_capabilities(backend).get(RELEASES_CONSTANTS) is True


def _runs(layers: Sequence[Layer], refused: Mapping[Layer, object]) -> Iterator[tuple[Layer, ...]]:
    """Yield the layers between refused ones.

    No path leaves a run of layers in topological order and comes back to it, so each run can be one
    program.
    """
    for is_refused, run in itertools.groupby(layers, refused.__contains__):
        if not is_refused:
            yield tuple(run)


def _program(
    backend: NativeObject, graph: NativeGraph, model: NativeModelContext
) -> NativeProgram | Failure:
    """Return the program, cached or compiled, or the refused layers.

    Raises:
        ArmnnError: The backend failed for another reason.
    """
    try:
        return cached_program(backend, graph, model, lambda: _compile(backend, graph, model))
    except _RefusedLayersError as refused:
        return refused.failure


def _kept_program(
    backend: NativeObject,
    version: BackendVersion,
    graph: NativeGraph,
    model: NativeModelContext,
    *,
    is_kept: bool,
) -> NativeProgram | Failure:
    """Return the program, with its graph if wanted."""

    def compile_again(graph: NativeGraph, program: NativeProgram) -> NativeProgram | None:
        graph.struct.fingerprint = _NO_TEXT
        replan = backend.library.replan
        with lending(model.blobs):
            if replan is None and not _is_taken(backend, graph, model):
                return None
            try:
                if replan is None:
                    return _compile(backend, graph, model)
                return _replanned(backend, graph, model, partial(replan, program.pointer))
            except _RefusedLayersError:
                return None

    with contextlib.ExitStack() as stack:
        stack.enter_context(graph)
        outcome = _program(backend, graph, model)
        if is_kept and isinstance(outcome, NativeProgram):
            stack.pop_all()
            outcome.kept = KeptGraph(graph, version, compile_again)
    return outcome


def _is_taken(backend: NativeObject, graph: NativeGraph, model: NativeModelContext) -> bool:
    levels = [row.level for row in _query(backend, model.device, graph)]
    return all(level in (abi.SUPPORTED, abi.PREFERRED) for level in levels)


_NO_TEXT: Final = Arena().text("")


class _RefusedLayersError(Exception):
    """The backend refuses some layers."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def _compile(backend: NativeObject, graph: NativeGraph, model: NativeModelContext) -> NativeProgram:
    """Compile a graph; the program has its footprint."""
    device = device_pointer(model.device)
    compile_now = partial(backend.library.required("compile"), backend.pointer, device)
    began = time.perf_counter()
    with compile_details() as details, watched_call() as call_ids:
        pointer = _compiled(backend, graph, model, compile_now, call_ids)
    footprint = Footprint.from_details(details)
    count_packing(details.get("pack_ns"), began)
    return NativeProgram(backend, pointer, graph.names, footprint, model.device)


def _replanned(
    backend: NativeObject,
    graph: NativeGraph,
    model: NativeModelContext,
    replan: Callable[..., int],
) -> NativeProgram:
    """Compile a graph like an earlier one."""
    if current_control.get() is None:
        pointer = _compiled(backend, graph, model, replan, (NOBODY, 0))
    else:
        with watched_call() as call_ids:
            pointer = _compiled(backend, graph, model, replan, call_ids)
    return NativeProgram(backend, pointer, graph.names, device=model.device)


def _compiled(
    backend: NativeObject,
    graph: NativeGraph,
    model: NativeModelContext,
    compile_now: Callable[..., int],
    call_ids: tuple[int, int],
) -> int | None:
    """Return the address of the program that a function compiles a graph to.

    Raises:
        _RefusedLayersError: The backend refuses some layers.
        ArmnnError: It failed for another reason.
    """
    library = backend.library
    args, pointer = struct(abi.CompileArgs), ctypes.c_void_p()
    args.options, args.num_options = model.option_array, len(model.options)
    args.call_id, args.deadline_ns = call_ids
    failure = attempt(library, compile_now, graph.struct, args, ctypes.byref(pointer))
    if failure is None:
        return pointer.value
    if failure.code == abi.UNSUPPORTED_NODE and not graph.gone:
        raise _RefusedLayersError(failure)
    raise exception_of(failure, library, f"compile {graph.title}", graph.names, model.options)


def _replacement(view: SubgraphView, computed: Sequence[Value], program: NativeProgram) -> Network:
    """Return a network of one PreCompiled layer.

    Constants are in the program.
    """
    fragment = view.replacement()
    stand_ins = zip(view.inputs, fragment.inputs, strict=True)
    operands = [layer.output for value, layer in stand_ins if value in computed]
    layer = fragment.add(
        "PreCompiled",
        operands,
        PreCompiledDescriptor(num_output_slots=len(view.outputs)),
        outputs=[value.info for value in view.outputs],
        name=program.label,
    )
    layer.compiled = program
    for index, result in enumerate(layer.outputs):
        fragment.add_output(f"output {index}", result)
    return fragment


_LEVELS: Final = (abi.NOT_SUPPORTED, abi.SUPPORTED, abi.PREFERRED)
_HEADER_FIELDS: Final = 3
_LAYOUTS: Final = {0: None, **{int(layout): layout for layout in DataLayout}}


def query(
    backend: NativeObject, device: NativeDevice | None, graph: NativeGraph
) -> tuple[Support, ...]:
    """Return one answer per layer of a graph.

    Raises:
        BackendError: An answer makes no sense.
        ArmnnError: The backend failed to answer.
    """
    rows = _query(backend, device, graph)
    library = backend.library
    answers = []
    for number, (row, layer) in enumerate(
        zip(packer(abi.Support).iter_unpack(rows), graph.layers, strict=True)
    ):
        node_id, level, _, operand, *reason, _, layout = row[_HEADER_FIELDS:]
        if level not in _LEVELS or node_id != number:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) answered about layer {layer.name!r} with "
                f"level {level} for node {node_id}: expected one of the levels {_LEVELS} for node "
                f"{number}"
            )
        if layout not in _LAYOUTS:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) wishes layer {layer.name!r} in the "
                f"layout {layout}: expected one of {sorted(_LAYOUTS)} (0: no wish)"
            )
        if level != abi.NOT_SUPPORTED:
            answers.append(SUPPORTED if not layout else Support(True, layout=_LAYOUTS[layout]))
        else:  # the next query overwrites the reason
            text = shown_text(abi.String(*reason))
            answers.append(_refusal(layer, operand, text, _LAYOUTS[layout]))
    return tuple(answers)


def _query(backend: NativeObject, device: NativeDevice | None, graph: NativeGraph) -> Any:
    """Return one row per layer, valid until the next query."""
    rows = Arena().structs(abi.Support, len(graph.layers))
    for number, row in enumerate(rows):
        row.node_id = number
    call(
        backend.library,
        "query",
        "say which layers it takes",
        backend.pointer,
        device_pointer(device),
        graph.struct,
        rows,
        ctypes.sizeof(abi.Support),
        names=graph.names,
    )
    return rows


def _refusal(layer: Layer, operand: int, reason: str, layout: DataLayout | None) -> Support:
    """Return why a layer is refused.

    Operands count from 1.
    """
    reason = reason or "gave no reason"
    number = operand - 1
    value = layer.inputs[number] if 0 <= number < len(layer.inputs) else None
    if value is None:
        return Support.no(reason, layout)
    slot = layer.spec.input_slot(number).name
    return Support.no(f"{reason} (input {number}, {slot!r}: {value.info})", layout)
