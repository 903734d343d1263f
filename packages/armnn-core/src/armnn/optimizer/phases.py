# SPDX-License-Identifier: MIT
"""The phases from a network to its backends, in order.

The first three happen once per network, the others once per set of input shapes. Two are whole
here: Debug layers for tensors that the caller wants to see, and the cut of a network behind layers
whose output shapes depend on computed data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from numpy.typing import NDArray

from armnn._load_times import phase
from armnn._process_memory import trim_memory
from armnn.backends.cache import footprint_of
from armnn.errors import GraphError
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import multiply_adds_of
from armnn.optimizer.assignment.assign import (
    UNASSIGNED,
    Assignment,
    Evaluator,
    NetworkAnswers,
    assign_backends,
    hand_back_islands,
    hand_back_light_parts,
)
from armnn.optimizer.assignment.boundaries import place_tensors
from armnn.optimizer.assignment.conversions import Conversions, reduce_floats
from armnn.optimizer.assignment.partition import parts_of
from armnn.optimizer.assignment.report import Report, ReportRow
from armnn.optimizer.assignment.substitute import fuse_add_mul_add, optimize_subgraphs
from armnn.optimizer.folds import FoldsRefused, FoldTrial, fold_permission
from armnn.optimizer.layouts import choose_layouts, kernels_of
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.passes import quantizes, rewrite
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.passes.quantization import FoldPolicy
from armnn.optimizer.plan import Observation, Plan, in_place_outputs, plan_of
from armnn.optimizer.shapes.specialize import (
    CONTROL_FLOW,
    DIRECT_VALUE_LIMIT,
    SharedConstants,
    awaited_values,
    deferred_operator,
    demand_shapes,
    infer_shapes,
    is_special,
    specialize,
    state_target_shapes,
    value_inputs,
)
from armnn.optimizer.symbolic.trace import Trace, UntraceableError
from armnn.tensor import Shape


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """A network, cut where data must be known first.

    Attributes:
        head: The segment that can be prepared now. Its outputs are those of the network that it
            computes and the values that ``rest`` reads, the latter named by ``crossing``.
        rest: The segment that waits until the head has run; None if all is known. Its inputs are
            ``crossing``, its outputs the other outputs of the network.
        crossing: Names of the values that go from the head to the rest.
        is_rewritten: Whether the head is the network as it was rewritten before.
    """

    head: Network
    rest: Network | None
    crossing: tuple[str, ...] = ()
    is_rewritten: bool = False


def insert_debug(network: Network) -> int:
    """Insert a Debug layer behind each output that is read.

    (Arm NN: InsertDebugLayer, InsertDebugToFileLayer.) Constants and what no layer reads are not
    shown. The name of a Debug layer is Arm NN's: "DebugLayerAfter", the layer's name, its output.

    Returns:
        How many were inserted.
    """
    values = [
        value
        for layer in network.topological_order()
        if layer.data is None and layer.type != "Debug"
        for value in layer.outputs
        if value.uses and not any(reader.type == "Debug" for reader, _ in value.uses)
    ]
    for value in values:
        _observe(network, value)
    return len(values)


def _observe(network: Network, value: Value) -> None:
    readers = tuple(value.uses)
    observation = Observation(value.producer.name, value.index)
    name = network.unique_name(f"DebugLayerAfter{observation.layer}_{observation.slot}")
    debug = network.add("Debug", [value], name=name)
    debug.compiled = observation
    for layer, index in readers:
        network.replace_input(layer, index, debug.output)


def split(network: Network) -> _Cut:
    """Cut a specialized network behind the layers of known inputs.

    A layer is in the head if the shapes of its inputs are known and so are those of its outputs,
    or if its outputs are the data-dependent ones that the rest waits for (NonZero). Branches wait
    for their condition, deferred operators for what they await.
    """
    order = network.topological_order()
    if all(map(_is_settled, order)):
        return _Cut(network, None)
    inside: dict[Layer, None] = {}
    for layer in order:
        if _can_be_prepared(layer) and all(v is None or v.producer in inside for v in layer.inputs):
            inside[layer] = None
    head = list(inside)
    rest = [layer for layer in order if layer not in inside]
    if not rest:
        return _Cut(network, None)
    crossing = _crossing(rest, inside)
    names = {value: f"{value.name} (crossing {i})" for i, value in enumerate(crossing)}
    return _Cut(_head(network, head, names), _rest(network, rest, names), tuple(names.values()))


def _is_settled(layer: Layer) -> bool:
    """Return whether a layer is ready if its producers are."""
    if layer.type in CONTROL_FLOW or layer.compiled is not None:
        return False
    for value in layer.outputs:  # noqa: SIM110  # a generator takes twice the time
        if not value.info.is_static:
            return False
    return True


def _can_be_prepared(layer: Layer) -> bool:
    if layer.type in CONTROL_FLOW or deferred_operator(layer) is not None:
        return False
    if not all(info is None or info.is_static for info in layer.input_infos):
        return False
    return layer.spec.data_dependent or all(info.is_static for info in layer.output_infos)


def _crossing(rest: Iterable[Layer], head: dict[Layer, None]) -> tuple[Value, ...]:
    return tuple(
        dict.fromkeys(
            value
            for layer in rest
            for value in layer.inputs
            if value is not None and value.producer in head and value.constant is None
        )
    )


def _head(network: Network, layers: list[Layer], names: dict[Value, str]) -> Network:
    head = Network(network.name, network.metadata)
    head.file = network.file
    values = head.insert_copies(layers, {})
    for value, name in names.items():
        head.add_output(name, values[value])
    head.remove_unused()
    return head


def _rest(network: Network, layers: list[Layer], names: dict[Value, str]) -> Network:
    rest = Network(f"{network.name} (rest)", network.metadata)
    rest.file = network.file
    values = {value: rest.add_input(name, value.info) for value, name in names.items()}
    constants = dict.fromkeys(
        value.producer
        for layer in layers
        for value in layer.inputs
        if value is not None and value.constant is not None
    )
    rest.insert_copies([*constants, *layers], values)
    return rest


def prepare_network(
    network: Network,
    participants: Participants,
    options: OptimizerOptions,
    folds: FoldPolicy | None = None,
) -> Network:
    """Check and rewrite a network for any input shapes.

    Args:
        network: Is changed.
        participants: Who takes part.
        options: The caller's decisions.
        folds: Which layers on stored values come; the backends are asked about them if it is None.

    Returns:
        The network, or its replacement.

    Raises:
        GraphError: It is not well formed.
        ShapeError: The inputs of a layer do not fit; the first such layer is named.
        ParseError: A deferred operator whose inputs are known cannot be computed.
    """
    sink = participants.profiler
    with phase(sink, "validate"):
        network.check_outputs()  # its form and its layers are checked where shapes are inferred
        _hint(network, options)
    with phase(sink, "infer shapes"):
        infer_shapes(network)
        if all(layer.output.info.is_static for layer in network.inputs):
            state_target_shapes(network)
        if options.demands_shapes:
            demand_shapes(network, allow_expanded_dims=options.allow_expanded_dims)
    with phase(sink, "rewrite"):
        evaluate = Evaluator(participants.evaluators)
        accepts = folds or fold_permission(participants)
        if options.rewrite:
            rewrite(network, evaluate, accepts)
    if all(deferred_operator(layer) is None for layer in network.layers):
        return network
    with phase(sink, "resolve operators"):
        infos = {layer.name: layer.output.info for layer in network.inputs}
        shapes = {name: info.shape for name, info in infos.items()}
        resolved = specialize(network, shapes, {}, evaluate)
        if options.rewrite:
            rewrite(resolved, evaluate, accepts)
    return resolved


def prepare_specialization(
    network: Network,
    shapes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, NDArray[Any]],
    participants: Participants,
    options: OptimizerOptions,
    constants: SharedConstants,
    label: str,
    *,
    may_change: bool = False,
    trial: FoldTrial | None = None,
    trace: Trace | None = None,
    before_backends: Callable[[Network], None] | None = None,
) -> Plan:
    """Prepare a network for one set of input shapes.

    Args:
        network: From :func:`prepare_network`; it is not changed unless it may.
        shapes: The shape of each input.
        values: The data of the inputs that decide about shapes.
        participants: Who takes part.
        options: The caller's decisions.
        constants: The constants of the other specializations.
        label: Names the specialization in the report; "" if there is only one.
        may_change: Whether there is only this specialization and no other user of the network: its
            layers are freed, and constants while they are compiled.
        trial: Let layers on stored values come, which the backends are to confirm.
        trace: Records what follows from the shapes, if anything is to.
        before_backends: Is shown the layers with their backends before these compile them; the
            result then says which values at the borders of compiled parts they make.

    Raises:
        ShapeError: The shapes do not fit.
        UntraceableError: Not all that follows from the shapes can be recorded.
        OptimizationError: Some layers cannot run on the backends, or one of these failed.
        FoldsRefused: The trial failed.
    """
    sink = participants.profiler
    cut = _cut(network, shapes, values, participants, trace, may_change=may_change)
    head = cut.head
    if trace is not None and cut.rest is not None:
        raise UntraceableError("a segment of the network waits for computed data")
    if trial is not None and cut.rest is not None:
        raise FoldsRefused(None)  # no backend can be asked about the rest yet
    if may_change and cut.rest is None:
        if head is not network:
            network.clear()
        head.lets_constants_go = True
    with phase(sink, "rewrite"):
        conversions = _rewrite_head(cut, participants, options, trial, trace)
        for segment in (head, cut.rest):
            if segment is not None and label:  # without one there is only one specialization
                constants.share(segment)
    with phase(sink, "assign backends"):
        assignment, layers = _assigned(head, conversions, participants, options, trial, trace)
        if label:  # weights in another layout are as large as the others
            constants.share(head)
        if trace is None:
            multiply_adds = {each: multiply_adds_of(each) for each in assignment.final(layers)}
        else:
            multiply_adds = trace.learn(head)
            head.keeps_graphs = True
    in_place = in_place_outputs(head) if cut.rest is None else {}
    trim_memory()  # gives back what parsing and rewriting freed, before programs take memory
    moved: dict[Value, Value] | None = None
    if before_backends is not None:
        before_backends(head)
        moved = {}
    with phase(sink, "optimize subgraphs"):
        replaced = optimize_subgraphs(head, assignment, options, moved)
        head.remove_unused()
    with phase(sink, "place tensors"):
        preferences = {c.id: c.handle_factory_preferences for c in participants.all}
        sources = participants.host_sources
        memory = place_tensors(
            head,
            preferences,
            participants.factories,
            options,
            sources,
            participants.places_on_host,
        )
    make_report = functools.partial(
        _report, head, layers, multiply_adds, assignment, replaced, label
    )
    report = make_report() if trace is None else functools.cache(lambda: make_report()())
    plan = plan_of(head, memory, report, cut.rest, cut.crossing)
    plan.in_place = in_place
    plan.has_refusals = any(map(assignment.refusals.get, assignment.final(layers)))
    plan.borders = {new: (old.producer.name, old.index) for old, new in (moved or {}).items()}
    return plan


def layers_before_backends(
    network: Network,
    shapes: Mapping[str, Shape | None],
    participants: Participants,
    options: OptimizerOptions,
    values: Mapping[str, NDArray[Any]] | None = None,
    *,
    may_change: bool = False,
) -> tuple[Network, Network | None]:
    """Return a network's layers as backends get them, and the rest, which waits for their data.

    They have the names of the report's rows. Backends replace them by compiled parts.

    Args:
        network: Is not changed unless it may.
        shapes: The shapes of its inputs.
        participants: Who takes part.
        options: How it is prepared.
        values: The known data of inputs that decide about shapes.
        may_change: Whether its layers may be freed: weights are then not kept beside those that
            replace them.

    Raises:
        ArmnnError: The network cannot be prepared; see :func:`prepare_network`.
    """
    prepared = prepare_network(network if may_change else network.clone(), participants, options)
    head, rest = assigned_layers(prepared, shapes, participants, options, values)
    if may_change and rest is None:
        network.clear()
        prepared.clear()
    return head, rest


def assigned_layers(
    network: Network,
    shapes: Mapping[str, Shape | None],
    participants: Participants,
    options: OptimizerOptions,
    values: Mapping[str, NDArray[Any]] | None = None,
) -> tuple[Network, Network | None]:
    """Return the layers of a prepared network with their backends, and the network that waits.

    None is compiled.

    Args:
        network: From :func:`prepare_network`; it is not changed.
        shapes: The shapes of its inputs.
        participants: Who takes part.
        options: How it is prepared.
        values: The known data of inputs that decide about shapes.

    Raises:
        ShapeError: The shapes do not fit.
        OptimizationError: Some layers cannot run on the backends.
    """
    cut = _cut(network, shapes, values or {}, participants)
    conversions = _rewrite_head(cut, participants, options)
    _assigned(cut.head, conversions, participants, options)
    return cut.head, cut.rest


def _assigned(
    network: Network,
    conversions: Conversions | None,
    participants: Participants,
    options: OptimizerOptions,
    trial: FoldTrial | None = None,
    trace: Trace | None = None,
) -> tuple[Assignment, tuple[Layer, ...]]:
    """Assign backends; convert, observe and fuse layers by that.

    Returns:
        The assignment, and the layers that were assigned, in topological order.
    """
    kernels = kernels_of(network)
    answers = NetworkAnswers(network, kernels)
    if trial is not None:
        trial.confirm(kernels, answers)
    candidates, named = participants.candidates, participants.named
    preferred = participants.preferred
    assignment = Assignment(network, answers, candidates, named, preferred, conversions)
    if choose_layouts(network, assignment, options) and trace is not None:
        raise UntraceableError("the layout of some layers was chosen by their shapes")
    layers = network.topological_order()
    assign_backends(layers, assignment, options)
    if options.min_part is not None and options.min_part > 1:
        hand_back_islands(network, assignment, options.min_part)
    elif options.min_part is None and not options.strict:
        hand_back_light_parts(network, assignment)
    if options.shows_tensors:
        insert_debug(network)
    if options.rewrite:
        fuse_add_mul_add(network, assignment)
    return assignment, layers


def _cut(
    network: Network,
    shapes: Mapping[str, Shape | None],
    values: Mapping[str, NDArray[Any]],
    participants: Participants,
    trace: Trace | None = None,
    *,
    may_change: bool = False,
) -> _Cut:
    with phase(participants.profiler, "specialize"):
        if trace is None and not values and is_special(network, shapes):
            return _Cut(network if may_change else network.clone(), None, is_rewritten=True)
        evaluate = Evaluator(participants.evaluators)
        given = shapes if trace is None else trace.shapes
        cut = split(specialize(network, given, values, evaluate, trace))
        _check_progress(network, cut)
    return cut


def _rewrite_head(
    cut: _Cut,
    participants: Participants,
    options: OptimizerOptions,
    folds: FoldPolicy | None = None,
    trace: Trace | None = None,
) -> Conversions | None:
    """Rewrite the head; return the conversions that it has got."""
    evaluate: Evaluate = Evaluator(participants.evaluators)
    accepts: FoldPolicy = folds or fold_permission(participants)
    if trace is not None:
        trace.hide_constants(cut.head)
        evaluate = trace.evaluator(evaluate)
        accepts = trace.permission(fold_permission(participants))  # no trial is traced
    if options.rewrite and (not cut.is_rewritten or quantizes(cut.head)):
        rewrite(cut.head, evaluate, accepts)
    if trace is not None:
        trace.concretize(cut.head)
    if not (options.reduce_fp32_to_fp16 or options.reduce_fp32_to_bf16):
        return None
    conversions = Conversions(cut.head, participants.preferred)
    reduce_floats(conversions, options)
    return conversions


def _hint(network: Network, options: OptimizerOptions) -> None:
    """Store the caller's choices as hints, which passes respect."""
    for layer in network.layers:
        if layer.backend_hint is None:
            layer.backend_hint = options.layer_backends.get(layer.name)


def _check_progress(network: Network, cut: _Cut) -> None:
    """Check that the head brings the rest closer.

    So cutting comes to an end.
    """
    if cut.rest is None or any(layer.type not in UNASSIGNED for layer in cut.head.layers):
        return
    if _awaits_more(network, cut.head, value_inputs(cut.rest)):
        return
    crossing = dict.fromkeys(cut.crossing)
    for layer in cut.rest.topological_order():
        if layer.type in UNASSIGNED:
            continue
        operator = deferred_operator(layer)
        if operator is not None:
            raise GraphError(
                f"the operator {operator.operator} ({layer.name!r}) cannot be converted to layers "
                "without the data of "
                f"{', '.join(str(value.info) for value in awaited_values(layer)) or 'its inputs'}: "
                f"expected at most {DIRECT_VALUE_LIMIT} elements"
            )
        raise GraphError(
            f"layer {layer.name!r} ({layer.type}) cannot be prepared although {list(crossing)} are "
            "known: its shape function does not return its output shape, or it joins branches that "
            "are both taken"
        )


def _awaits_more(network: Network, head: Network, awaited: Mapping[str, int]) -> bool:
    """Return whether the rest awaits further inputs' data.

    The network itself was not known to await it.
    """
    known = value_inputs(network)
    handed_on = {
        layer.name: layer.inputs[0].producer.name
        for layer in head.outputs
        if layer.inputs[0] is not None and layer.inputs[0].producer.type == "Input"
    }
    return any(
        name in awaited and awaited[name] > known.get(given, 0) for name, given in handed_on.items()
    )


def _report(
    network: Network,
    layers: Sequence[Layer],
    multiply_adds: Mapping[Layer, int | None],
    assignment: Assignment,
    replaced: Mapping[Layer, Layer],
    label: str,
) -> Callable[[], Report]:
    """Return a function that builds the report without keeping the layers alive."""
    placed = [layer for layer in assignment.final(layers) if layer.backend is not None]
    named: dict[Layer, list[str]] = {}
    for layer in placed:
        named.setdefault(replaced.get(layer, layer), []).append(layer.name)
    origins = {layer: tuple(names) for layer, names in named.items()}
    rows = [
        (
            layer.name,
            layer.title,
            layer.backend or "",
            tuple(assignment.refusals.get(layer, ())),
            replaced[layer].name if layer in replaced else "",
            label,
            footprint_of(replaced.get(layer)),
            assignment.converted.get(layer, ""),
            multiply_adds.get(layer),
        )
        for layer in placed
    ]
    parts = parts_of(network, origins, label)
    return functools.cache(lambda: Report(tuple(starmap(ReportRow, rows)), parts=parts))
