# SPDX-License-Identifier: MIT
"""From a network and backends to plans, one for each set of input shapes.

The first plan for some shapes is traced, and becomes a template for others: what backends compiled
is compiled again with other shapes, parameters and constants. Nothing else is done twice: no pass
looks at a layer again, and backends are asked only about layers outside of compiled parts. Where
there are none, a further set of shapes needs no network of its own, which takes longer to make than
all else that the host does for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from armnn._load_times import phase
from armnn._symbolic import concrete
from armnn.backends.cache import Changes, Program, footprint_of
from armnn.backends.contract import Backend
from armnn.errors import OptimizationError, ShapeError
from armnn.graph import Layer, Network, Value
from armnn.installing import CPU_REF
from armnn.optimizer.appended_caches import with_room
from armnn.optimizer.assignment.assign import UNASSIGNED, Evaluator, NetworkAnswers
from armnn.optimizer.assignment.partition import parts_of
from armnn.optimizer.assignment.report import Report, ReportRow
from armnn.optimizer.assignment.substitute import check_options
from armnn.optimizer.caches import caches_of
from armnn.optimizer.folds import FoldsRefused, FoldTrial, fold_permission
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.passes import quantizes
from armnn.optimizer.passes.quantization import FoldPolicy
from armnn.optimizer.phases import assigned_layers, prepare_network, prepare_specialization
from armnn.optimizer.plan import CARRIERS, NetworkFacts, Plan, PlannedLayer, PlannedTensor
from armnn.optimizer.shapes.assumed import assume_shapes
from armnn.optimizer.shapes.specialize import SharedConstants, deferred_operator, value_inputs
from armnn.optimizer.symbolic.trace import (
    Numbers,
    SymbolicInfo,
    Trace,
    UntraceableError,
    settled_descriptor,
    settled_info,
)
from armnn.tensor import Shape, TensorInfo, completed_shape, format_shape
from armnn.types import QuantizedArithmetic

_log = logging.getLogger(__name__)

MOST_TEMPLATES = 8
"""How many specializations are kept as templates; each keeps a graph of the network."""


class Preparation:
    """The preparation of one :class:`armnn.optimizer.OptimizedNetwork`.

    Attributes:
        facts: The facts of the network for all input shapes.
        constants: The constants that its plans and later segments share.
    """

    def __init__(
        self,
        network: Network,
        participants: Participants,
        options: OptimizerOptions,
        constants: SharedConstants | None = None,
        *,
        may_change: bool = False,
        again: Callable[[], Network] | None = None,
        states: Mapping[str, str] | str | None = None,
    ) -> None:
        """Prepare a network; see OptimizedNetwork."""
        self._states = states
        self._participants = participants
        self._options = options
        self.constants = SharedConstants() if constants is None else constants
        self._aliases, self._arithmetic = network.aliases, network.quantized_arithmetic
        self._declared = dict(network.declared_shapes)
        self._templates: dict[Hashable, tuple[Template, ...]] = {}
        self._is_traceable = True
        self._static: Plan | None = None
        source = network if may_change else network.clone()
        if not _may_fold_all(source, options):
            source = again() if again is not None and source.is_folded else source
            self._prepare_source(source, fold_permission(participants), may_change=may_change)
            return
        spare = source.clone() if again is None else Network("")
        trial = FoldTrial(participants.candidates, participants.named)
        if source.is_folded:
            trial.note(source.layers)
        try:
            self._prepare_source(source, trial, trial, may_change=may_change)
        except FoldsRefused as refusal:
            permission = fold_permission(participants, refusal.refused)
            source = spare if again is None else again()
            self._prepare_source(source, permission, may_change=may_change)
        else:
            spare.clear()

    def _prepare_source(
        self,
        source: Network,
        folds: FoldPolicy,
        trial: FoldTrial | None = None,
        *,
        may_change: bool,
    ) -> None:
        """Prepare a network, and its specialization if there can be only one.

        Raises:
            FoldsRefused: The trial failed.
        """
        if self._states is not None:
            _keep_sizes(source)
        evaluate = Evaluator(self._participants.evaluators)
        roomy = with_room(source, self._states, evaluate)
        self._source = prepare_network(roomy, self._participants, self._options, folds)
        if may_change and self._source is not source:
            source.clear()
        self._value_inputs = value_inputs(self._source)
        self._caches = caches_of(self._source, evaluate)
        infos = [layer.output.info for layer in self._source.inputs]
        self._is_static = not self._value_inputs and all(info.is_static for info in infos)
        if trial is not None and not self._is_static:
            raise FoldsRefused(None)  # values decide about shapes: there is nothing to ask about
        self.constants.add(self._source)
        if not self._is_static:
            self.facts = self._facts()
            return
        inputs = self._source.inputs
        shapes = {layer.name: layer.output.info.static_shape for layer in inputs}
        self._static = self._prepare(shapes, {}, may_change=may_change, trial=trial)
        if self._static.rest is None:
            copied, self._source = self._source, self.network
            if copied is not self._source:
                copied.clear()  # whose weights went into compiled programs
        self.facts = self._facts()

    def _facts(self) -> NetworkFacts:
        is_static = self._static is not None and self._static.rest is None
        made = {
            layer.name: layer.input_infos[0]
            for layer in (self.network if is_static else self._source).outputs
        }
        return NetworkFacts(
            self._source.name,
            dict(self._source.metadata),
            {layer.name: layer.output.info for layer in self._source.inputs},
            {
                name: info.with_shape(completed_shape(info.shape, self._declared.get(name)))
                for name, info in made.items()
                if info is not None
            },
            self._value_inputs,
            self._is_static,
            self._arithmetic,
            self._aliases,
            self._caches,
        )

    @property
    def network(self) -> Network:
        """The layers: with backends if shapes are fixed, else only rewritten."""
        return self._source if self._static is None else self._static.network

    @property
    def report(self) -> Report:
        """Each layer's backend with reasons; empty for unknown shapes."""
        return Report() if self._static is None else self._static.report

    def specialize(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Return the plan for one set of input shapes; see OptimizedNetwork."""
        if self._static is not None:
            return self._static
        return self._from_template(shapes, values) or self._traced(shapes, values)

    def specialize_alone(self, shapes: Mapping[str, tuple[int, ...]]) -> Plan:
        """Return a plan that no other one is made from; see OptimizedNetwork."""
        return self._prepare(shapes, {}) if self._static is None else self._static

    def clear(self) -> None:
        """Take all layers out; see OptimizedNetwork."""
        templates = [template for kept in self._templates.values() for template in kept]
        for template in templates:
            template.clear()
        if self._static is not None:
            self._static.clear()
        self._source.clear()
        self._templates.clear()
        self._static = None

    def check_backends(self) -> None:
        """Check the choice of backends as far as it does not depend on the shapes of inputs.

        It checks their options and, unless CpuRef may take what others refuse, the layers for sizes
        that are assumed for open dimensions: otherwise only the first run would fail. Layers are
        not checked where no such sizes are found.

        Raises:
            OptimizationError: Some layers cannot run on the backends, whichever sizes are assumed.
            ArmnnError: A backend does not know its options.
        """
        participants, options = self._participants, self._options
        if self._is_static:
            return
        check_options(participants.all, options.model_options)
        if not options.strict and any(each.id == CPU_REF for each in participants.candidates):
            return
        refused: list[tuple[OptimizationError, Mapping[str, Shape | None]]] = []

        def check(shapes: Mapping[str, Shape | None]) -> None:
            try:
                assigned_layers(self._source, shapes, participants, options)
            except OptimizationError as error:
                refused.append((error, shapes))
                raise ShapeError(str(error)) from error  # it may take other sizes

        assumed = assume_shapes(self.facts.inputs, self.facts.metadata, check)
        if assumed.error is not None and refused:
            error, shapes = refused[0]
            error.add_note(
                f"This was asked with inputs of the shapes {dict(shapes)}, and others that fit: "
                "shapes=[...] names those that are to be run."
            )
            raise error

    def _from_template(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan | None:
        """Return a specialization like an earlier one, if possible."""
        for template in self._templates.get(_key(values) if values else (), ()):
            found = template.specialize(shapes, _label(shapes, values))
            if found is not None:
                return found
        return None

    def _traced(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Prepare for shapes; keep a template for others, if possible."""
        kept = self._templates.get(_key(values), ())
        if self._is_traceable and sum(map(len, self._templates.values())) < MOST_TEMPLATES:
            try:
                trace = Trace(self._source, shapes)
                plan = self._prepare(shapes, values, trace=trace)
            except Exception as error:
                plan = self._prepare(shapes, values)  # fails with that, if it is the caller's fault
                self._is_traceable = False
                _log.debug("network %r is prepared for each shape: %r", self.facts.name, error)
                return plan
            try:
                template = Template(plan, trace, self._participants)
                self._templates[_key(values)] = (*kept, template)
            except UntraceableError as error:
                self._is_traceable = False
                _log.debug("network %r is prepared for each shape: %s", self.facts.name, error)
                return plan
            return plan
        return self._prepare(shapes, values)

    def _prepare(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        *,
        may_change: bool = False,
        trial: FoldTrial | None = None,
        trace: Trace | None = None,
    ) -> Plan:
        label = "" if self._is_static else describe(shapes, values)
        return prepare_specialization(
            self._source,
            shapes,
            values,
            self._participants,
            self._options,
            self.constants,
            label,
            may_change=may_change,
            trial=trial,
            trace=trace,
        )


def _key(values: Mapping[str, NDArray[Any]]) -> Hashable:
    return tuple([(name, data.shape, data.tobytes()) for name, data in values.items()])


def _keep_sizes(network: Network) -> None:
    """Let no operator await data that says how large states become: they keep their size."""
    for layer in network.layers:
        held = deferred_operator(layer)
        if held is not None and held.grows:
            layer.compiled = held = copy(held)
            held.awaits = ()


def _may_fold_all(network: Network, options: OptimizerOptions) -> bool:
    """Return whether all layers on stored values may come before the backends are asked.

    They are asked about the whole network afterwards, which needs its shapes.
    """
    if not options.rewrite or network.quantized_arithmetic is not QuantizedArithmetic.REAL:
        return False
    return quantizes(network) and all(layer.output.info.is_static for layer in network.inputs)


def _label(
    shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
) -> Callable[[], str]:
    """Return a function that describes shapes; the values may change until it is called."""
    kept = {name: value.copy() for name, value in values.items()} if values else values
    return partial(describe, shapes, kept)


def describe(shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]) -> str:
    """Return input shapes and values as text.

    An example is "x=[1,3,224,224], n=4".
    """
    parts = [f"{name}={format_shape(shape)}" for name, shape in shapes.items()]
    parts += [f"{name}={value.tolist()}" for name, value in values.items()]
    return ", ".join(parts)


_T = TypeVar("_T")


class Template:
    """A traced specialization whose compiled parts can be compiled again.

    Any number of threads may use it.
    """

    def __init__(self, plan: Plan, trace: Trace, participants: Participants) -> None:
        """Keep a specialization.

        Raises:
            UntraceableError: It has a layer that is not known to follow from the shapes, or one
                that a backend refused.
        """
        if plan.has_refusals:
            raise UntraceableError("a backend refused layers, and may take them in other shapes")
        self._plan, self._trace, self._network = plan, trace, plan.network
        self._sink = participants.profiler
        self._candidates = {each.id: each for each in participants.all}
        self._constants = trace.constants(Evaluator(participants.evaluators))
        self._infos: dict[Value, TensorInfo] = {}
        self._layers = self._network.topological_order()
        for layer in self._layers:
            self._infos.update(self._infos_of(layer))
        self._parts = [
            (layer, layer.compiled) for layer in self._layers if isinstance(layer.compiled, Program)
        ]
        self._values = _values_of(plan, self._network)
        self._symbolic = {
            tensor: SymbolicInfo(self._infos[value]) for tensor, value in self._values.items()
        }
        # Whether some layers are outside of compiled parts; without any, a plan needs no network.
        self._has_kernels = any(
            each.compiled is None and each.type not in CARRIERS for each in plan.layers
        )

    def _infos_of(self, layer: Layer) -> dict[Value, TensorInfo]:
        if layer.type != "PreCompiled":
            candidate = self._candidates.get(layer.backend or "")
            if candidate is not None and not _leaves_layers(candidate.backend):
                raise UntraceableError(
                    f"the layers that replaced layer {layer.name!r} are not known"
                )
            return {value: self._trace.info_of(value) for value in layer.outputs}
        compiled = layer.compiled
        if not isinstance(compiled, Program) or not compiled.layers:
            raise UntraceableError(f"layer {layer.name!r} cannot be compiled for other shapes")
        for inner in compiled.layers:
            for value in inner.outputs:
                self._trace.info_of(value)
        made = [self._trace.info_of(value) for value in compiled.results]
        found = dict(zip(layer.outputs, made, strict=True))
        self._trace.infos.update(found)
        return found

    def clear(self) -> None:
        """Take the layers out; it makes nothing more."""
        self._plan.clear()

    def specialize(
        self, shapes: Mapping[str, tuple[int, ...]], label: Callable[[], str]
    ) -> Plan | None:
        """Return the specialization for other shapes, None if decisions differ.

        Args:
            shapes: The shape of each input.
            label: Returns what the report calls the shapes.

        Raises:
            ArmnnError: A backend failed.
        """
        if self._sink is None:
            changes = self._changes(shapes)
            return None if changes is None else self._compiled(changes, label)
        with phase(self._sink, "apply shapes"):
            changes = self._changes(shapes)
        if changes is None:
            return None
        with phase(self._sink, "compile for shapes"):
            return self._compiled(changes, label)

    def _compiled(self, changes: Changes, label: Callable[[], str]) -> Plan | None:
        """Return the changed specialization; None if refused."""
        compiled: dict[Layer | None, object] = {}
        for layer, part in self._parts:
            made = part.replanned(changes)
            if made is None:
                return None
            compiled[layer] = made
        network = _Once(partial(self._network_for, compiled, changes))
        twins: dict[Layer | None, Layer] = {}
        if self._has_kernels:
            if not self._are_taken(network()):
                return None
            twins.update(zip(self._layers, network().layers, strict=True))
        tensors = {each: self._tensor(each, changes) for each in self._symbolic}
        return Plan(
            self._plan.name,
            {name: tensors[each] for name, each in self._plan.inputs.items()},
            {name: each and tensors[each] for name, each in self._plan.outputs.items()},
            [
                PlannedLayer(
                    each.name,
                    each.type,
                    each.backend,
                    tuple([tensor and tensors[tensor] for tensor in each.inputs]),
                    tuple([tensors[tensor] for tensor in each.outputs]),
                    compiled.get(each.layer, each.compiled),
                    twins.get(each.layer),
                )
                for each in self._plan.layers
            ],
            _Once(lambda: self._report(changes.numbers, network(), label())),
            network,
            is_derived=True,
            in_place=self._plan.in_place,
        )

    def _tensor(self, tensor: PlannedTensor, changes: Changes) -> PlannedTensor:
        """Return a tensor for other shapes."""
        info, data = self._symbolic[tensor].concrete(changes.numbers), tensor.constant
        if data is not None:
            data = changes.constants.get(self._values[tensor], data)
        return PlannedTensor(tensor.name, info, tensor.factory, tensor.owner, data)

    def _network_for(self, compiled: Mapping[Layer | None, object], changes: Changes) -> Network:
        """Return the network for other shapes."""
        base, numbers = self._network, changes.numbers
        network = Network(base.name, base.metadata)
        network.file = base.file
        network.insert_copies(self._layers, {})
        twins = dict(zip(self._layers, network.layers, strict=True))
        for layer, twin in twins.items():
            symbolic = changes.descriptors.get(layer)
            if symbolic is not None:
                twin.descriptor = settled_descriptor(symbolic, numbers)
            for value, other in zip(layer.outputs, twin.outputs, strict=True):
                other.info = settled_info(self._infos[value], numbers)
                if value in changes.constants:
                    twin.data = changes.constants[value]
            twin.compiled = compiled.get(layer, twin.compiled)
        return network

    def _are_taken(self, network: Network) -> bool:
        """Return whether backends take the layers outside compiled parts."""
        kernels = [
            (self._candidates[layer.backend or ""], layer)
            for layer in network.layers
            if layer.backend in self._candidates and layer.type not in (*UNASSIGNED, "PreCompiled")
        ]
        if not kernels:
            return True
        answers = NetworkAnswers(network, [layer for _, layer in kernels])
        return all(answers.of(candidate, layer) for candidate, layer in kernels)

    def _report(self, numbers: Numbers, network: Network, shapes: str) -> Report:
        rows = tuple(self._rows(numbers, network, shapes))
        heirs = {layer.name: layer for layer in network.layers if layer.type not in UNASSIGNED}
        origins: dict[Layer, tuple[str, ...]] = {}
        for row in rows:
            heir = heirs[row.compiled_into or row.layer]
            origins[heir] = (*origins.get(heir, ()), row.layer)
        return Report(rows, parts=parts_of(network, origins, shapes))

    def _rows(self, numbers: Numbers, network: Network, label: str) -> Iterator[ReportRow]:
        compiled = {layer.name: footprint_of(layer) for layer in network.layers}
        for row in self._plan.report.rows:
            count = self._trace.multiply_adds.get(row.layer, row.multiply_adds)
            yield ReportRow(
                row.layer,
                row.type,
                row.backend,
                row.refusals,
                row.compiled_into,
                label,
                compiled.get(row.compiled_into),
                row.conversion,
                concrete(count, numbers),
            )

    def _changes(self, shapes: Mapping[str, tuple[int, ...]]) -> Changes | None:
        """Return the changes for other shapes; None if decisions differ."""
        trace = self._trace
        numbers = trace.numbers(shapes)
        if numbers is None:
            return None
        constants: dict[Value, NDArray[Any]] = {}
        if trace.sources:
            larger = _Once(partial(trace.larger_numbers, shapes))
            for layer, source in trace.sources.items():
                value = layer.output
                constants[value] = self._constants.data(source, value.info, numbers, larger)
        return Changes(numbers, trace.infos, trace.descriptors, constants)


def _values_of(plan: Plan, network: Network) -> dict[PlannedTensor, Value]:
    """Return the value of each tensor of a plan that was made from a network."""
    pairs: list[tuple[PlannedTensor | None, Value | None]] = []
    for planned in plan.layers:
        assert planned.layer is not None  # as it was made from a network
        pairs += zip(planned.inputs, planned.layer.inputs, strict=True)
        pairs += zip(planned.outputs, planned.layer.outputs, strict=True)
    pairs += [(plan.inputs[layer.name], layer.output) for layer in network.inputs]
    pairs += [(plan.outputs[layer.name], layer.inputs[0]) for layer in network.outputs]
    return {tensor: value for tensor, value in pairs if tensor is not None and value is not None}


class _Once(Generic[_T]):
    """A function whose result is kept.

    ``functools.cache`` takes ten times as long to make.
    """

    __slots__ = ("_found", "_function")

    def __init__(self, function: Callable[[], _T]) -> None:
        self._function = function
        self._found: tuple[_T] | None = None

    def __call__(self) -> _T:
        if self._found is None:
            self._found = (self._function(),)
        return self._found[0]


def _leaves_layers(backend: Backend) -> bool:
    """Return whether a backend never replaces layers."""
    return type(backend).optimize_subgraph is Backend.optimize_subgraph
