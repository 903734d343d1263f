# SPDX-License-Identifier: MIT
"""Naming the layers that a backend computes wrongly.

Stage 1 runs the network as it is, so that backends fuse as always, and compares the tensors at the
borders of compiled parts. Stage 2 looks into bad parts only: at each layer alone with the
reference's inputs, so that no errors accumulate, then at layers that only a fusion gets wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import instance, refused
from armnn.backends import CreationOptions
from armnn.errors import ExecutionError, GraphError
from armnn.graph import Layer, Network, Value
from armnn.installing import CPU_REF
from armnn.optimizer import OptimizerOptions, ReportRow
from armnn.parsing import ParserOptions, parse
from armnn.types import DataType
from armnn_tools.debugging.bench import Bench, LoadedPart, ValueKey, border_values, disturbed
from armnn_tools.debugging.examining import Examiner, FusedSearch, digest
from armnn_tools.debugging.findings import Figures, Findings, LayerFinding, Unexplained
from armnn_tools.debugging.judging import (
    allowed_at_border,
    border_distance,
)
from armnn_tools.debugging.reference import NOT_COMPUTED, CleanValues, Reference
from armnn_tools.debugging.samples import checked_samples

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Reals = NDArray[np.float64]
Judge = Callable[[Mapping[str, Array]], Figures]


MOST_SEGMENTS = 200
"""The most segments of a network: a segment waits for data that the ones before it compute."""


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """How thoroughly layers are compared.

    Attributes:
        every_layer: Whether stage 2 looks at every layer, not only where stage 1 is suspicious.
        repeats: How often the network, and a wrong layer, is run with the same inputs.
    """

    every_layer: bool = False
    repeats: int = 20

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError unless repeats is an integer of at least 1."""
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise refused("the repeats", self.repeats, "1 or more")


def compare(
    model: str | PathLike[str] | Network,
    backends: Sequence[str],
    *,
    reference: str = CPU_REF,
    inputs: Sequence[Arrays] | None = None,
    samples: int = 1,
    options: OptimizerOptions | None = None,
    creation_options: CreationOptions | None = None,
    thoroughness: CompareOptions | None = None,
    parser_options: ParserOptions | None = None,
) -> Findings:
    """Name the layers that backends compute wrongly.

    Args:
        model: The path of a model file, or a network.
        backends: Ids in the order of preference, as for ``load_model``.
        reference: The id of the backend that defines what is right; it must compute Float64.
        inputs: One mapping from names to arrays per sample; random ones if left out, which needs
            inputs of known shapes.
        samples: How many random samples are generated if inputs are left out.
        options: How the network is prepared.
        creation_options: The options of the runtime.
        thoroughness: Whether stage 2 looks at all layers, and how often layers are run.
        parser_options: Options of the parser of a file.

    Raises:
        InvalidArgumentError: An argument is of another kind, or an input is missing.
        BackendError: A backend or the reference cannot be used.
        OptimizationError: Some layers cannot run on the backends.
    """
    network = model if isinstance(model, Network) else parse(model, parser_options=parser_options)
    given = checked_samples(network, inputs, samples)
    creation = CreationOptions() if creation_options is None else creation_options
    instance(creation, CreationOptions, "the creation_options")
    chosen = OptimizerOptions() if options is None else options
    bench = Bench(backends, instance(chosen, OptimizerOptions, "the options"), creation)
    try:
        how = CompareOptions() if thoroughness is None else thoroughness
        comparison = _Comparison(bench, network, reference, how)
        for number, arrays in enumerate(given):
            comparison.add(number, arrays)
        return comparison.findings()
    finally:
        bench.close()


@dataclass(slots=True)
class _Suspicion:
    """The work that stage 1 leaves to stage 2.

    Attributes:
        parts: The layers of each compiled part with a suspicious border, in graph order.
        flaky: The names of layers in parts whose results for the same inputs differed in bits.
        largest: The largest difference at a border, divided by the largest number there.
    """

    parts: list[tuple[Layer, ...]] = field(default_factory=list)
    flaky: set[str] = field(default_factory=set)
    largest: float = 0.0


class _Observations:
    """The tensors of a loaded part at its borders.

    Attributes:
        failure: The message of a backend that failed while it ran; "" if none did.
        changed: The keys of values that had other bits in a later run.
    """

    def __init__(self) -> None:
        self.failure = ""
        self.changed: set[ValueKey] = set()
        self._digests: dict[ValueKey, int] = {}
        self._stored: dict[ValueKey, tuple[DataType, Array]] = {}

    def run(self, loaded: LoadedPart, inputs: Arrays, repeats: int) -> None:
        """Keep the values of one run, and compare the bits of further runs with them.

        A run with disturbed inputs comes before this run and before the further ones, so that a
        result that is left over from an earlier run is noticed.
        """
        try:
            loaded.run(disturbed(loaded.inputs, inputs))
            loaded.observer = self._keep
            loaded.run(inputs)
            loaded.observer = None
            loaded.run(disturbed(loaded.inputs, inputs, negated=True))
            loaded.observer = self._watch_bits
            for _ in range(repeats):
                loaded.run(inputs)
        except ExecutionError as error:
            self.failure = str(error)
        finally:
            loaded.observer = None

    def of(self, value: Value) -> Array | None:
        """Return the computed data, None if it was not observed."""
        key = (value.producer.name, value.index)
        if key not in self._stored:
            return None
        data_type, array = self._stored[key]
        # A backend that computes in another data type got a converted value.
        return array if data_type is value.info.data_type else None

    def _keep(self, key: ValueKey, data_type: DataType, got: Array) -> None:
        self._digests[key] = digest(got)
        self._stored[key] = data_type, got.copy()

    def _watch_bits(self, key: ValueKey, _: DataType, got: Array) -> None:
        if self._digests.get(key) != digest(got):
            self.changed.add(key)


def _suspicion_of(
    observed: _Observations, rows: Mapping[str, ReportRow], layers: Network, clean: CleanValues
) -> _Suspicion:
    """Compare observations with clean values.

    Args:
        observed: The outputs of the backends.
        rows: The report's row of each layer by name.
        layers: The network as backends got it.
        clean: Its values by the reference.
    """
    parts = _parts_of(rows, layers)
    borders = _border_values(parts)
    suspicious: dict[Value, None] = {}
    changed: dict[Value, None] = {}
    largest = 0.0
    for visit in clean.visits:
        for value, right in zip(visit.layer.outputs, visit.outputs, strict=True):
            got = observed.of(value) if value in borders else None
            if got is None:
                continue
            distance = border_distance(got, right, value.info)
            largest = max(largest, distance if np.isfinite(distance) else 1.0)
            if not distance <= allowed_at_border(value.info):
                suspicious[value] = None
            if (value.producer.name, value.index) in observed.changed:
                changed[value] = None
    failed = bool(observed.failure)
    return _Suspicion(
        parts=[part for part in parts if failed or _produces_any(part, {**suspicious, **changed})],
        flaky={layer.name for part in parts if _produces_any(part, changed) for layer in part},
        largest=largest,
    )


def _parts_of(rows: Mapping[str, ReportRow], layers: Network) -> list[tuple[Layer, ...]]:
    """Return the layers of each compiled part; a layer that is in none is a part of its own.

    Parts are in the order of their first layers.
    """
    parts: dict[tuple[str, str], list[Layer]] = {}
    for layer in layers.topological_order():
        row = rows.get(layer.name)
        if row is not None and layer.type not in NOT_COMPUTED:
            key = ("part", row.compiled_into) if row.compiled_into else ("layer", layer.name)
            parts.setdefault(key, []).append(layer)
    return [tuple(part) for part in parts.values()]


def _border_values(parts: Sequence[tuple[Layer, ...]]) -> dict[Value, None]:
    return {value: None for layers in parts for value in border_values(layers)}


def _produces_any(layers: tuple[Layer, ...], values: Mapping[Value, None]) -> bool:
    return any(value in values for layer in layers for value in layer.outputs)


@dataclass(frozen=True, slots=True)
class _Segment:
    """One segment of a network with its sample."""

    number: int
    rows: Mapping[str, ReportRow]
    layers: Network
    reference: Reference
    clean: CleanValues


@dataclass(slots=True)
class _Comparison:
    """The findings of one comparison as they come."""

    bench: Bench
    network: Network
    reference: str
    options: CompareOptions
    by_layer: dict[tuple[str, ...], LayerFinding] = field(default_factory=dict)
    unexplained: list[Unexplained] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    layers: int = 0
    reference_layers: int = 0
    largest: float = 0.0

    def add(self, number: int, inputs: Arrays) -> None:
        """Compare one sample, segment by segment with the reference's inputs."""
        arrays = dict(inputs)
        rest: Network | None = self.network
        for _ in range(MOST_SEGMENTS):
            if rest is None:
                return
            rest = self._segment(number, rest, arrays)
        raise GraphError(
            f"the network is cut into more than {MOST_SEGMENTS} segments that wait for each other"
        )

    def findings(self) -> Findings:
        """Return the findings, in graph order."""
        at = self.order
        ordered = sorted(self.by_layer.values(), key=lambda each: at.get(each.layers[0], len(at)))
        return Findings(
            by_layer=tuple(ordered),
            unexplained=tuple(self.unexplained),
            layers=self.layers,
            backend_runs=self.bench.runs,
            reference_runs=self.reference_layers / self.layers if self.layers else 0.0,
            largest_border_difference=self.largest,
        )

    def _segment(
        self, number: int, network: Network, arrays: dict[str, NDArray[Any]]
    ) -> Network | None:
        """Compare one segment; add the reference's outputs of it to the arrays.

        Returns:
            The rest of the network, which waits for these outputs; None if there is none.
        """
        loaded = self.bench.load(network, arrays)
        try:
            observed = _Observations()
            observed.run(loaded, arrays, self.options.repeats)
        finally:
            loaded.close()
        rows = loaded.rows
        layers, rest = self.bench.layers(network, arrays)
        for layer in layers.topological_order():
            if layer.type not in NOT_COMPUTED:
                self.order.setdefault(layer.name, len(self.order))
        reference = Reference(self.bench.candidate(self.reference, layers))
        clean = CleanValues(layers, arrays, reference)
        suspicion = _suspicion_of(observed, rows, layers, clean)
        self.largest = max(self.largest, suspicion.largest)
        parts = [
            part
            for part in (_parts_of(rows, layers) if self.options.every_layer else suspicion.parts)
            if rows[part[0].name].backend != self.reference
        ]
        if parts:
            self._examine(_Segment(number, rows, layers, reference, clean), parts, suspicion)
        self.layers += len(rows)
        self.reference_layers += reference.executions
        arrays.update(clean.outputs)
        return rest

    def _examine(
        self, segment: _Segment, parts: Sequence[tuple[Layer, ...]], suspicion: _Suspicion
    ) -> None:
        rows, layers = segment.rows, segment.layers
        examiner = Examiner(self.bench, segment.reference, layers, self.options.repeats)
        wanted = {layer: part for part in parts for layer in part}
        wrong: set[Layer] = set()
        for visit in segment.clean.visits:
            if visit.layer not in wanted:
                continue
            name = visit.layer.name
            flaky = name in suspicion.flaky
            finding = examiner.layer(visit, rows[name].backend, suspected_flaky=flaky)
            self._keep(segment.number, finding)
            if finding.is_wrong:
                wrong.add(visit.layer)
        for part in suspicion.parts:
            if part in parts and not wrong.intersection(part):
                found = self._fusions(segment, examiner, part)
                names = {name for finding in found for name in finding.layers}
                wrong.update(layer for layer in part if layer.name in names)
        for part in suspicion.parts:
            if part in parts and not _reached(wrong).intersection(part):
                named = tuple(layer.name for layer in part)
                backend = rows[named[0]].backend
                self.unexplained.append(Unexplained(named, backend, segment.number))

    def _fusions(
        self, segment: _Segment, examiner: Examiner, part: tuple[Layer, ...]
    ) -> list[LayerFinding]:
        if len(part) == 1:
            return []
        backend = segment.rows[part[0].name].backend
        found = FusedSearch(examiner, part, segment.clean, backend).run()
        for finding in found:
            self._keep(segment.number, finding)
        return found

    def _keep(self, number: int, finding: LayerFinding) -> None:
        """Keep the worse of a layer's findings over all samples."""
        known = self.by_layer.get(finding.layers)
        finding = replace(finding, sample=number)
        if known is None or finding.figures.severity > known.figures.severity:
            self.by_layer[finding.layers] = finding


def _reached(layers: set[Layer]) -> set[Layer]:
    """Return layers together with all layers downstream of them."""
    found, pending = set(layers), list(layers)
    while pending:
        for value in pending.pop().outputs:
            for reader in value.consumers:
                if reader not in found:
                    found.add(reader)
                    pending.append(reader)
    return found
