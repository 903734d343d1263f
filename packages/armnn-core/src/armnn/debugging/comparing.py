# SPDX-License-Identifier: MIT
"""Naming the layers that a backend computes wrongly.

Stage 1 runs the network as it is, so that backends fuse as always, and compares where compiled
parts border. Stage 2 looks into bad parts only: at each layer alone with clean inputs, so that
nothing accumulates, then at layers that only a fusion gets wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._arguments import instance, refused
from armnn._installing import REFERENCE
from armnn.backends import CreationOptions
from armnn.backends.calling import call
from armnn.debugging.bench import Bench, border_values, disturbed, fragment
from armnn.debugging.findings import ErrorKind, Figures, Findings, LayerVerdict, Unexplained
from armnn.debugging.fused import FusedSearch
from armnn.debugging.judging import (
    Opinions,
    Ties,
    allowed_at_border,
    as_bfloat16,
    border_distance,
    floor_of,
    judged_with_ties,
)
from armnn.debugging.reference import NOT_COMPUTED, CleanValues, Reference
from armnn.debugging.samples import checked_samples
from armnn.errors import ArmnnError, ExecutionError, GraphError
from armnn.graph import Network
from armnn.graph.multiply_adds import multiply_adds_of
from armnn.layers import LAYERS
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import parse

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from armnn.debugging.bench import LoadedPart, Place
    from armnn.debugging.reference import Visit
    from armnn.graph import Layer, Value
    from armnn.optimizer import ReportRow
    from armnn.parsing import ParserOptions
    from armnn.types import DataType

    Array = NDArray[Any]
    Arrays = Mapping[str, Array]
    Reals = NDArray[np.float64]
    Judge = Callable[[Mapping[str, Array]], Figures]


FAST_MATH = "FastMathEnabled"
"""The option that lets a backend round the operands of products to BFloat16."""

FLAKY_REPEATS = 60
"""How often a layer that is suspected to be flaky is run."""

MOST_SEGMENTS = 200
"""Parts of a network that wait for each other's data, as in the runtime."""


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
        """Raise InvalidArgumentError unless there is a run at least."""
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise refused("the repeats", self.repeats, "1 or more")


def compare(
    model: str | PathLike[str] | Network,
    backends: Sequence[str],
    *,
    reference: str = REFERENCE,
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
        samples: How many random samples there are.
        options: How the network is prepared.
        creation_options: Those of a runtime.
        thoroughness: Whether all layers are looked at, and how often they are run.
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
    """What stage 1 leaves to stage 2.

    Attributes:
        parts: The layers of each compiled part with a suspicious border, in graph order.
        flaky: The names of layers in parts that computed other bits of the same inputs.
        largest: The largest difference at a border, as a part of the largest number there.
    """

    parts: list[tuple[Layer, ...]] = field(default_factory=list)
    flaky: set[str] = field(default_factory=set)
    largest: float = 0.0


class _Observations:
    """What a loaded part computes at its borders.

    Attributes:
        failure: A backend's message if it failed while it ran; "" if it did not.
        changed: The places of values that were other bits in a later run.
    """

    def __init__(self) -> None:
        self.failure = ""
        self.changed: set[Place] = set()
        self._digests: dict[Place, int] = {}
        self._stored: dict[Place, tuple[DataType, Array]] = {}

    def run(self, loaded: LoadedPart, inputs: Arrays, repeats: int) -> None:
        """Keep the values of one run; compare further ones' bits.

        Runs with other inputs come before the first two, so that a result that was left behind
        shows.
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
        """Return what was computed, None if it was not observed."""
        place = (value.producer.name, value.index)
        if place not in self._stored:
            return None
        data_type, array = self._stored[place]
        # A backend of other types was handed a conversion of it.
        return array if data_type is value.info.data_type else None

    def _keep(self, place: Place, data_type: DataType, got: Array) -> None:
        self._digests[place] = _digest(got)
        self._stored[place] = data_type, got.copy()

    def _watch_bits(self, place: Place, _: DataType, got: Array) -> None:
        if self._digests.get(place) != _digest(got):
            self.changed.add(place)


def _suspicion_of(
    observed: _Observations, rows: Mapping[str, ReportRow], layers: Network, clean: CleanValues
) -> _Suspicion:
    """Compare observations with clean values.

    Args:
        observed: What the backends computed.
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
        parts=[part for part in parts if failed or _makes(part, {**suspicious, **changed})],
        flaky={layer.name for part in parts if _makes(part, changed) for layer in part},
        largest=largest,
    )


def _parts_of(rows: Mapping[str, ReportRow], layers: Network) -> list[tuple[Layer, ...]]:
    """Return the layers of each compiled part, or one alone.

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


def _makes(layers: tuple[Layer, ...], values: Mapping[Value, None]) -> bool:
    return any(value in values for layer in layers for value in layer.outputs)


def _digest(array: NDArray[Any]) -> int:
    """Return a number that is another one for other bits."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines layers of one network.

    Attributes:
        bench: The backends under test.
        reference: Computes the truth.
        network: The layers' network.
        repeats: How often a wrong layer is run, for its rate.
    """

    bench: Bench
    reference: Reference
    network: Network
    repeats: int

    def layer(self, visit: Visit, backend: str, *, suspected_flaky: bool = False) -> LayerVerdict:
        """Return the verdict about a layer with its clean inputs."""
        opinions: dict[Value, tuple[Array, Any, Any]] = {}
        pairs = zip(visit.layer.inputs, visit.operands, strict=True)
        clean = {v: array for v, array in pairs if v is not None and array is not None}
        ties = Ties(visit, self.reference)

        def judged(outputs: Mapping[str, Array]) -> Figures:
            # Computed here, as a backend may fail before there is anything to judge.
            opinions.update({} if opinions else self._opinions(visit, backend))
            figures = [
                self._judged(ties, value, outputs[value.name], opinions[value], backend)
                for value in border_values([visit.layer])
            ]
            return max(figures, key=lambda each: each.severity, default=Figures())

        runs = FLAKY_REPEATS if suspected_flaky else 2
        return self.group([visit.layer], clean, backend, judged, runs)

    def group(
        self,
        layers: Sequence[Layer],
        clean: Mapping[Value, Array] | CleanValues,
        backend: str,
        judged: Judge,
        runs: int = 2,
    ) -> LayerVerdict:
        """Return the verdict about layers that are loaded together.

        Args:
            layers: In topological order.
            clean: The data of what they read.
            backend: The id of the backend.
            judged: Judges outputs by name.
            runs: How often they are run at least.
        """
        names, types = tuple(each.name for each in layers), tuple(each.type for each in layers)
        verdict = LayerVerdict(names, types, backend, Figures())
        try:
            network, sources = fragment(self.network, layers)
            inputs = {name: clean[value] for name, value in sources.items()}
            loaded = self.bench.load_alone(network, inputs, backend)
        except ArmnnError as error:
            return replace(verdict, runs=0, note=f"not examined alone: {error}")
        try:
            found = self._found_by(loaded, inputs, judged, runs)
        finally:
            loaded.close()
        wrong = sum(each.kind is not ErrorKind.NONE for each in found)
        worst = max(found, key=lambda each: each.severity)
        return replace(verdict, figures=worst, wrong_runs=wrong, runs=len(found))

    def _found_by(
        self, loaded: LoadedPart, inputs: Mapping[str, Array], judged: Judge, runs: int
    ) -> list[Figures]:
        """Return the figures of each run.

        Two of them come after runs with other inputs.
        """
        made = [_outputs_after(loaded, inputs, negated=each) for each in (False, True)]
        first = _figures_of(made[0], judged)
        is_same = _bits_of(made[0]) == _bits_of(made[1])
        found = [first, first if is_same else _figures_of(made[1], judged)]
        while len(found) < runs or (len(found) < self.repeats and _any_wrong(found)):
            found.append(_figures_of(_outputs_of(loaded, inputs), judged))
        return found

    def narrows(self, layer: Layer, backend: str) -> bool:
        """Return whether the backend may round a layer's operands."""
        return self.is_fast(backend) and bool(multiply_adds_of(layer))

    def is_fast(self, backend: str) -> bool:
        """Return whether the backend may use BFloat16 unasked."""
        return bool(self.bench.options.model_options.get(backend, {}).get(FAST_MATH))

    def keeps_nan(self, backend: str) -> bool:
        """Return whether a backend must keep NaN."""
        candidate = self.bench.candidate(backend, self.network)
        answer: bool = call(candidate.id, candidate.backend, "has_capability", "PropagatesNaN")
        return answer

    def _opinions(self, visit: Visit, backend: str) -> dict[Value, tuple[Array, Any, Any]]:
        layer = visit.layer
        nothing: list[Reals | None] = [None] * len(layer.outputs)
        if LAYERS[layer.type].moves_data and not any(i.is_quantized for i in layer.output_infos):
            truth = narrow = nothing
        else:
            truth = self.reference.exact(layer, visit.operands)
            narrow = nothing
            if self.narrows(layer, backend):
                narrow = self.reference.exact(layer, visit.operands, narrowed=as_bfloat16)
        return {
            value: (visit.outputs[at], truth[at], narrow[at])
            for at, value in enumerate(layer.outputs)
        }

    def _judged(
        self, ties: Ties, value: Value, got: Array, known: tuple[Array, Any, Any], backend: str
    ) -> Figures:
        return judged_with_ties(
            ties,
            value,
            Opinions(got, *known),
            floor_of(value.producer, value.info),
            propagates_nan=self.keeps_nan(backend),
            narrows=self.narrows(value.producer, backend),
        )


def _outputs_of(loaded: LoadedPart, inputs: Mapping[str, Array]) -> Mapping[str, Array] | Figures:
    """Return a run's outputs, or the figures of its failure."""
    try:
        return loaded.run(inputs)
    except ExecutionError as error:
        return Figures(ErrorKind.FAILURE, np.inf, detail=str(error))


def _outputs_after(
    loaded: LoadedPart, inputs: Mapping[str, Array], *, negated: bool
) -> Mapping[str, Array] | Figures:
    """Return the outputs of a run after another one."""
    _outputs_of(loaded, disturbed(loaded.inputs, inputs, negated=negated))
    return _outputs_of(loaded, inputs)


def _bits_of(made: Mapping[str, Array] | Figures) -> object:
    """Return what differs for other outputs or failures."""
    if isinstance(made, Figures):
        return made.detail
    return {name: (array.shape, _digest(array)) for name, array in made.items()}


def _figures_of(made: Mapping[str, Array] | Figures, judged: Judge) -> Figures:
    return made if isinstance(made, Figures) else judged(made)


def _any_wrong(found: Sequence[Figures]) -> bool:
    return any(each.kind is not ErrorKind.NONE for each in found)


@dataclass(frozen=True, slots=True)
class _Segment:
    """One part of a network with its sample."""

    number: int
    rows: Mapping[str, ReportRow]
    layers: Network
    reference: Reference
    clean: CleanValues


@dataclass(slots=True)
class _Comparison:
    """The verdicts of one comparison as they come."""

    bench: Bench
    network: Network
    reference: str
    options: CompareOptions
    verdicts: dict[tuple[str, ...], LayerVerdict] = field(default_factory=dict)
    unexplained: list[Unexplained] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    layers: int = 0
    reference_layers: int = 0
    largest: float = 0.0

    def add(self, number: int, inputs: Arrays) -> None:
        """Compare one sample, segment by segment with clean inputs."""
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
        """Return what was found, in graph order."""
        at = self.order
        ordered = sorted(self.verdicts.values(), key=lambda each: at.get(each.layers[0], len(at)))
        return Findings(
            verdicts=tuple(ordered),
            unexplained=tuple(self.unexplained),
            layers=self.layers,
            backend_runs=self.bench.runs,
            reference_runs=self.reference_layers / self.layers if self.layers else 0.0,
            largest_border_difference=self.largest,
        )

    def _segment(
        self, number: int, network: Network, arrays: dict[str, NDArray[Any]]
    ) -> Network | None:
        """Compare one part; add its outputs to the arrays.

        Returns:
            What waits for them.
        """
        loaded = self.bench.load(network, arrays)
        try:
            observed = _Observations()
            observed.run(loaded, arrays, self.options.repeats)
        finally:
            loaded.close()
        rows = loaded.rows
        cut = self.bench.layers(network, arrays)
        layers = cut.head
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
        return cut.rest

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
            verdict = examiner.layer(visit, rows[name].backend, suspected_flaky=flaky)
            self._keep(segment.number, verdict)
            if verdict.is_wrong:
                wrong.add(visit.layer)
        for part in suspicion.parts:
            if part in parts and not wrong.intersection(part):
                found = self._fusions(segment, examiner, part)
                names = {name for verdict in found for name in verdict.layers}
                wrong.update(layer for layer in part if layer.name in names)
        for part in suspicion.parts:
            if part in parts and not _reached(wrong).intersection(part):
                named = tuple(layer.name for layer in part)
                backend = rows[named[0]].backend
                self.unexplained.append(Unexplained(named, backend, segment.number))

    def _fusions(
        self, segment: _Segment, examiner: Examiner, part: tuple[Layer, ...]
    ) -> list[LayerVerdict]:
        if len(part) == 1:
            return []
        backend = segment.rows[part[0].name].backend
        found = FusedSearch(examiner, part, segment.clean, backend).run()
        for verdict in found:
            self._keep(segment.number, verdict)
        return found

    def _keep(self, number: int, verdict: LayerVerdict) -> None:
        """Keep the worse of a layer's verdicts over all samples."""
        known = self.verdicts.get(verdict.layers)
        verdict = replace(verdict, sample=number)
        if known is None or verdict.figures.severity > known.figures.severity:
            self.verdicts[verdict.layers] = verdict


def _reached(layers: set[Layer]) -> set[Layer]:
    """Return layers with all that are behind them."""
    found, pending = set(layers), list(layers)
    while pending:
        for value in pending.pop().outputs:
            for reader in value.consumers:
                if reader not in found:
                    found.add(reader)
                    pending.append(reader)
    return found
