# SPDX-License-Identifier: MIT
"""A specialization from which those for other shapes are made.

What backends compiled is compiled again with other shapes, parameters and constants. Nothing else
is done twice: no pass looks at a layer, and no backend is asked about one. Where programs are all
of the network, a further set of shapes needs no network of its own, which takes longer to make than
all else that the host does for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from armnn._load_times import phase
from armnn._symbolic import settled
from armnn.backends.cache import Changes, Program, footprint_of
from armnn.backends.contract import Backend
from armnn.graph import Layer, Network, Value
from armnn.optimizer.assignment.assign import UNASSIGNED, Evaluator, NetworkAnswers
from armnn.optimizer.assignment.partition import parts_of
from armnn.optimizer.assignment.report import Report, ReportRow
from armnn.optimizer.participants import Participants
from armnn.optimizer.plan import CARRIERS, Plan, PlannedLayer, PlannedTensor
from armnn.optimizer.symbolic.trace import (
    Numbers,
    SymbolicInfo,
    Trace,
    UntraceableError,
    settled_descriptor,
    settled_info,
)
from armnn.tensor import TensorInfo

_T = TypeVar("_T")


class Template:
    """A traced specialisation whose compiled parts can be compiled again.

    Any number of threads may use it.
    """

    def __init__(self, plan: Plan, trace: Trace, participants: Participants) -> None:
        """Keep a specialisation.

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
        # All but these are run without their layers.
        self._has_kernels = any(
            each.compiled is None and each.type not in CARRIERS for each in plan.layers
        )

    def _infos_of(self, layer: Layer) -> dict[Value, TensorInfo]:
        if layer.type != "PreCompiled":
            candidate = self._candidates.get(layer.backend or "")
            if candidate is not None and not _leaves_layers(candidate.backend):
                raise UntraceableError(
                    f"what became of layer {layer.name!r} is its backend's secret"
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

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], label: Callable[[], str]
    ) -> Plan | None:
        """Return the specialisation for other shapes, None if decisions differ.

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
        """Return the changed specialisation; None if refused."""
        compiled: dict[Layer | None, object] = {}
        for layer, part in self._parts:
            made = part.replanned(changes)
            if made is None:
                return None
            compiled[layer] = made
        network = _Once(functools.partial(self._network_for, compiled, changes))
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
        )

    def _tensor(self, tensor: PlannedTensor, changes: Changes) -> PlannedTensor:
        """Return a tensor for other shapes."""
        info, data = self._symbolic[tensor].settled(changes.numbers), tensor.constant
        if data is not None:
            data = changes.constants.get(self._values[tensor], data)
        return PlannedTensor(tensor.name, info, tensor.factory, tensor.owner, data)

    def _network_for(self, compiled: Mapping[Layer | None, object], changes: Changes) -> Network:
        """Return the network for other shapes."""
        base, numbers = self._network, changes.numbers
        network = Network(base.name, base.metadata)
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
                settled(count, numbers),
            )

    def _changes(self, shapes: Mapping[str, tuple[int, ...]]) -> Changes | None:
        """Return what is different for shapes; None if decisions are."""
        trace = self._trace
        numbers = trace.numbers(shapes)
        if numbers is None:
            return None
        constants: dict[Value, NDArray[Any]] = {}
        if trace.sources:
            larger = _Once(functools.partial(trace.larger_numbers, shapes))
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
