# SPDX-License-Identifier: MIT
"""A specialization from which those for other shapes are made.

What backends compiled is compiled again with other shapes, parameters and constants. Nothing else
is done twice: no pass looks at a layer, and no backend is asked about one. Where one program is all
of the network, a further set of shapes needs no network of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from armnn._load_times import phase
from armnn._symbolic import settled
from armnn.backends.cache import CachedProgram, Changes, Replannable, footprint_of
from armnn.backends.contract import Backend
from armnn.graph import Layer, Network, Value
from armnn.optimizer.assignment.assign import UNASSIGNED, Evaluator, NetworkAnswers
from armnn.optimizer.assignment.boundaries import Placement
from armnn.optimizer.assignment.partition import parts_of
from armnn.optimizer.assignment.report import Report, ReportRow
from armnn.optimizer.participants import Candidate, Participants
from armnn.optimizer.prepared import Prepared, ProgramLayer, ProgramPorts, Segments, SingleProgram
from armnn.optimizer.symbolic.trace import (
    Numbers,
    SymbolicInfo,
    Trace,
    UntraceableError,
    settled_descriptor,
    settled_info,
)
from armnn.tensor import TensorInfo


class ProgramFrame:
    """A network that is one program, whatever the shapes.

    So a further set of shapes needs no network of its own, which takes longer to make than all
    else that the host does for it. The first one is run without its network, too: the modules that
    plan the memory of layers are not imported for it.
    """

    def __init__(
        self,
        prepared: Prepared,
        part: Layer,
        candidate: Candidate,
        infos: Mapping[Value, TensorInfo],
    ) -> None:
        """Keep what does not depend on the shapes.

        Args:
            prepared: The specialisation for the first shapes.
            part: Its only layer but inputs and outputs.
            candidate: The backend of that.
            infos: Those of its values, symbolic where shapes decide.
        """
        network = prepared.network
        self._name, self._part, self._candidate = network.name, part, candidate
        names = {layer.output: layer.name for layer in network.inputs}
        self._inputs = {name: SymbolicInfo(infos[value]) for value, name in names.items()}
        self._made = [SymbolicInfo(infos[value]) for value in part.outputs]
        self._read = tuple([names[value] for value in part.inputs if value is not None])
        self._outputs = {
            layer.name: names[value] if value in names else part.outputs.index(value)
            for layer in network.outputs
            for value in layer.inputs
            if value is not None
        }

    def program(
        self,
        numbers: Numbers,
        compiled: Mapping[Layer, Any],
        whole: Callable[[], Prepared],
        *,
        is_derived: bool,
    ) -> SingleProgram:
        """Return the specialisation for some shapes.

        Args:
            numbers: The numbers for these shapes.
            compiled: What the layers of the first shapes hold for these.
            whole: Makes the network.
            is_derived: Whether they are other shapes than the first.
        """
        part, program = self._part, compiled[self._part]
        ports = ProgramPorts(
            {name: info.settled(numbers) for name, info in self._inputs.items()},
            self._read,
            self._outputs,
            tuple([info.settled(numbers) for info in self._made]),
        )
        return SingleProgram(
            self._name,
            ProgramLayer(part.name, part.backend or "", program),
            ports,
            self._candidate,
            lambda: whole().report,
            lambda _program: whole(),
            is_derived=is_derived,
        )


def only_program(prepared: Prepared, participants: Participants) -> SingleProgram | None:
    """Return the only specialisation of a network as a program.

    None if it has more layers than that.

    Args:
        prepared: Its only specialisation.
        participants: The backends.
    """
    infos = {value: value.info for layer in prepared.network.layers for value in layer.outputs}
    frame = _program_frame(prepared, participants, infos)
    if frame is None:
        return None
    compiled = {layer: layer.compiled for layer in prepared.network.layers}
    return frame.program((), compiled, lambda: prepared, is_derived=False)


def _program_frame(
    prepared: Prepared, participants: Participants, infos: Mapping[Value, TensorInfo]
) -> ProgramFrame | None:
    """Return a network's frame, None if it has more layers.

    Args:
        prepared: The specialisation for the first shapes.
        participants: The backends.
        infos: Those of its values, symbolic where shapes decide.
    """
    network = prepared.network
    ends = {*network.inputs, *network.outputs}
    parts = [layer for layer in network.layers if layer not in ends]
    if len(parts) != 1 or not isinstance(parts[0].compiled, CachedProgram):
        return None
    (part,) = parts
    by_id = {each.id: each for each in participants.all}
    candidate = by_id.get(part.backend or "")
    read = [layer.output for layer in network.inputs]
    made = [value for layer in network.outputs for value in layer.inputs]
    is_plain = (
        len(part.inputs) == len(read) == len({*part.inputs, *read})
        and all(value in (*read, *part.outputs) for value in made)
        and len({layer.name for layer in network.outputs}) == len(made)
    )
    if candidate is None or candidate.backend.handle_factory_preferences or not is_plain:
        return None
    return ProgramFrame(prepared, part, candidate, infos)


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
        self._frame = _program_frame(prepared, participants, self._infos)

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
