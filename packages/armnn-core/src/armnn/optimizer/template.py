# SPDX-License-Identifier: MIT
"""A specialisation from which those for other shapes are made.

What backends compiled is compiled again with other shapes, parameters and constants. Nothing else
is done twice: no pass looks at a layer, and no backend is asked about one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from armnn._load_times import phase
from armnn._symbolic import settled
from armnn.backends.base import Backend
from armnn.backends.cache import Replannable, footprint_of
from armnn.backends.replanning import Changes
from armnn.graph import Layer, Network, Value
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.optimizer.assignment.boundaries import Placement
from armnn.optimizer.assignment.candidates import Evaluator, NetworkAnswers
from armnn.optimizer.assignment.parts import parts_of
from armnn.optimizer.assignment.report import Report, ReportRow
from armnn.optimizer.frame import ProgramFrame, program_frame
from armnn.optimizer.participants import Participants
from armnn.optimizer.prepared import Prepared, Segments
from armnn.optimizer.single_program import SingleProgram
from armnn.optimizer.symbolic.recipes import (
    Numbers,
    UntraceableError,
    settled_descriptor,
    settled_info,
)
from armnn.optimizer.symbolic.trace import Trace
from armnn.tensor import TensorInfo

_T = TypeVar("_T")


class Template:
    """A traced specialisation whose compiled parts can be compiled again.

    Any number of threads may use it.
    """

    def __init__(self, prepared: Prepared, trace: Trace, participants: Participants) -> None:
        """Keep a specialisation.

        Raises:
            UntraceableError: It has a layer that is not known to follow from the shapes, or one
                that a backend refused.
        """
        if prepared.has_refusals:
            raise UntraceableError("a backend refused layers, and may take them in other shapes")
        self._prepared, self._trace = prepared, trace
        self._sink = participants.profiler
        self._candidates = {each.id: each for each in participants.all}
        self._constants = trace.constants(Evaluator(participants.evaluators))
        self._infos: dict[Value, TensorInfo] = {}
        self._layers = prepared.network.topological_order()
        for layer in self._layers:
            self._infos.update(self._infos_of(layer))
        self._parts = [
            (layer, layer.compiled)
            for layer in self._layers
            if isinstance(layer.compiled, Replannable)
        ]
        self._frame = program_frame(prepared, participants, self._infos)

    def _infos_of(self, layer: Layer) -> dict[Value, TensorInfo]:
        if layer.type != "PreCompiled":
            candidate = self._candidates.get(layer.backend or "")
            if candidate is not None and not _leaves_layers(candidate.backend):
                raise UntraceableError(
                    f"what became of layer {layer.name!r} is its backend's secret"
                )
            return {value: self._trace.info_of(value) for value in layer.outputs}
        compiled = layer.compiled
        if not isinstance(compiled, Replannable) or not compiled.layers:
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
        self._prepared.clear()

    def first(self) -> Prepared | SingleProgram:
        """Return the specialisation that was traced."""
        if self._frame is None:
            return self._prepared
        numbers = self._trace.tape.values
        return self._frame.program(
            numbers, dict(self._parts), lambda: self._prepared, is_derived=False
        )

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], label: Callable[[], str]
    ) -> Prepared | SingleProgram | None:
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

    def _compiled(
        self, changes: Changes, label: Callable[[], str]
    ) -> Prepared | SingleProgram | None:
        """Return the changed specialisation; None if refused."""
        compiled: dict[Layer, object] = {}
        for layer, part in self._parts:
            made = part.replanned(changes)
            if made is None:
                return None
            compiled[layer] = made
        if self._frame is not None:
            return self._single_program(self._frame, compiled, changes, label)
        found = self._whole(compiled, changes, label)
        return found if self._are_taken(found.network) else None

    def _single_program(
        self,
        frame: ProgramFrame,
        compiled: Mapping[Layer, object],
        changes: Changes,
        label: Callable[[], str],
    ) -> SingleProgram:
        whole = _Once(functools.partial(self._whole, compiled, changes, label))
        return frame.program(changes.numbers, compiled, whole, is_derived=True)

    def _whole(
        self, compiled: Mapping[Layer, object], changes: Changes, label: Callable[[], str]
    ) -> Prepared:
        """Return the specialisation with a network of its own."""
        base, numbers = self._prepared.network, changes.numbers
        network = Network(base.name, base.metadata)
        network.insert_copies(self._layers, {})
        twins = dict(zip(self._layers, network.layers, strict=True))
        values: dict[Value, Value] = {}
        for layer, twin in twins.items():
            symbolic = changes.descriptors.get(layer)
            if symbolic is not None:
                twin.descriptor = settled_descriptor(symbolic, numbers)
            for value, other in zip(layer.outputs, twin.outputs, strict=True):
                values[value] = other
                other.info = settled_info(self._infos[value], numbers)
                if value in changes.constants:
                    twin.data = changes.constants[value]
            twin.compiled = compiled.get(layer, twin.compiled)
        placement = self._prepared.placement
        factories = {values[value]: each for value, each in placement.factories.items()}
        report = functools.partial(self._report, numbers, network, label)
        return replace(
            self._prepared,
            network=network,
            placement=Placement(factories, placement.preferences),
            make_report=functools.cache(report),
            segments=Segments(network, None),
            trace=None,
            is_derived=True,
        )

    def _are_taken(self, network: Network) -> bool:
        """Return whether backends take the layers outside compiled parts."""
        kernels = [
            (self._candidates[layer.backend or ""], layer)
            for layer in network.layers
            if layer.backend in self._candidates and layer.type not in (*UNASSIGNED, "PreCompiled")
        ]
        if not kernels:
            return True
        assert isinstance(network, Network)  # as it was made here
        answers = NetworkAnswers(network, [layer for _, layer in kernels])
        return all(answers.of(candidate, layer) for candidate, layer in kernels)

    def _report(self, numbers: Numbers, network: Network, label: Callable[[], str]) -> Report:
        shapes = label()
        rows = tuple(self._rows(numbers, network, shapes))
        heirs = {layer.name: layer for layer in network.layers if layer.type not in UNASSIGNED}
        origins: dict[Layer, tuple[str, ...]] = {}
        for row in rows:
            heir = heirs[row.compiled_into or row.layer]
            origins[heir] = (*origins.get(heir, ()), row.layer)
        return Report(rows, parts=parts_of(network, origins, shapes))

    def _rows(self, numbers: Numbers, network: Network, label: str) -> Iterator[ReportRow]:
        compiled = {layer.name: footprint_of(layer) for layer in network.layers}
        for row in self._prepared.report.rows:
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
