# SPDX-License-Identifier: MIT
"""Stage 2 of a comparison: layers alone on a backend, and layers that are only wrong together.

A layer alone gets the reference's inputs, so that nothing accumulates. Where each layer of a part
is right alone and yet the part is wrong, what one of them leaves out or does twice when it is
compiled with its neighbors is found by halving the part. The truth about a chain of layers is
computed in float64 from the first layer's operands on, and nothing between is rounded; other values
show what rounding between quantized layers explains.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends.calling import call, explained
from armnn.errors import ExecutionError
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import multiply_adds_of
from armnn.layers import LAYERS
from armnn.quantization import quantization_arrays
from armnn.types import DataType
from armnn_tools.debugging.bench import Bench, LoadedPart, border_values, disturbed, fragment
from armnn_tools.debugging.findings import ErrorKind, Figures, LayerFinding
from armnn_tools.debugging.judging import (
    FEWEST_FOR_RMS,
    UNITS,
    Opinions,
    Ties,
    as_bfloat16,
    floor_of,
    is_near,
    judge,
    judged_with_ties,
)
from armnn_tools.debugging.reference import CleanValues, Reference, Visit, is_real, real_values

Array = NDArray[Any]
Reals = NDArray[np.float64]
RealValues = dict[Value, Reals]
Judge = Callable[[Mapping[str, Array]], Figures]

FAST_MATH = "FastMathEnabled"
"""The option that lets a backend round the operands of products to BFloat16."""

FLAKY_REPEATS = 60
"""How often a layer that is suspected to be flaky is run."""

MOST_FUSED_FAULTS = 8
"""Faults of one part that are looked for one after the other."""

ROUNDINGS = 3
"""Ways to round the values between quantized layers that are tried."""

SPREAD = 1.5
"""How many times the largest error of those ways another one's may be."""


STORED_ERROR = UNITS[DataType.BFLOAT16] / 4
"""The error of a number that is stored in BFloat16, as a part of it.

Errors are even up to half a unit of the number's power of two, so that their RMS is 0.4 of half a
unit of the number. The ratios of a judgment have room for the largest, which is twice this.
"""


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

    def layer(self, visit: Visit, backend: str, *, suspected_flaky: bool = False) -> LayerFinding:
        """Return the finding about a layer with its clean inputs."""
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
    ) -> LayerFinding:
        """Return the finding about layers that are loaded together.

        Args:
            layers: In topological order.
            clean: The data of what they read.
            backend: The id of the backend.
            judged: Judges outputs by name.
            runs: How often they are run at least.
        """
        names, types = tuple(each.name for each in layers), tuple(each.type for each in layers)
        finding = LayerFinding(names, types, backend, Figures())
        try:
            network, sources = fragment(self.network, layers)
            inputs = {name: clean[value] for name, value in sources.items()}
            loaded = self.bench.load_alone(network, inputs, backend)
        except Exception as error:  # a backend may fail in any way
            return replace(finding, runs=0, note=f"not examined alone: {explained(error)}")
        try:
            found = self._found_by(loaded, inputs, judged, runs)
        finally:
            loaded.close()
        wrong = sum(each.kind is not ErrorKind.NONE for each in found)
        worst = max(found, key=lambda each: each.severity)
        return replace(finding, figures=worst, wrong_runs=wrong, runs=len(found))

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
    """Return a key that differs for other outputs or failures."""
    if isinstance(made, Figures):
        return made.detail
    return {name: (array.shape, digest(array)) for name, array in made.items()}


def _figures_of(made: Mapping[str, Array] | Figures, judged: Judge) -> Figures:
    return made if isinstance(made, Figures) else judged(made)


def _any_wrong(found: Sequence[Figures]) -> bool:
    return any(each.kind is not ErrorKind.NONE for each in found)


def digest(array: NDArray[Any]) -> int:
    """Return a number that is another one for other bits."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")


@dataclass(slots=True)
class Chains:
    """Computes the values of chains of one compiled part.

    Attributes:
        examiner: Has the reference, which computes the truth.
        clean: The reference's values.
        backend: The id of the backend that is examined.
    """

    examiner: Examiner
    clean: CleanValues
    backend: str
    _known: dict[Layer, tuple[int, tuple[RealValues, RealValues]]] = field(default_factory=dict)
    _rounded: dict[tuple[Layer, ...], list[RealValues]] = field(default_factory=dict)

    def of(self, layers: Sequence[Layer]) -> tuple[RealValues, RealValues]:
        """Return a chain's truth, and its values with narrowed operands.

        The values of a chain are those of every longer one with the same beginning.
        """
        length, known = self._known.get(layers[0], (0, ({}, {})))
        if length < len(layers):
            narrow = self._narrow(layers)
            known = self._chain(layers, ()), self._chain(layers, narrow) if narrow else {}
            self._known[layers[0]] = len(layers), known
        return known

    def forget(self, first: Layer) -> None:
        """Drop the chain with that beginning."""
        self._known.pop(first, None)

    def rounded(self, layers: Sequence[Layer]) -> list[RealValues]:
        """Return a chain's values with other roundings between layers.

        A right backend rounds a number to either of the steps beside it where its arithmetic
        differs from the reference's in the last place, such as at a tie. What the reference's own
        roundings add up to behind it is one case of many. With fast math it may also store numbers
        in BFloat16.

        Args:
            layers: The chain.

        Returns:
            Nothing where no value between layers is rounded.
        """
        key = tuple(layers)
        if key not in self._rounded:
            errors = _errors_between(layers, is_fast=self.examiner.is_fast(self.backend))
            self._rounded[key] = [
                self._chain(layers, self._narrow(layers), partial(_moved, errors, generator))
                for generator in (np.random.default_rng(seed) for seed in range(ROUNDINGS))
                if errors
            ]
        return self._rounded[key]

    def _narrow(self, layers: Sequence[Layer]) -> list[Layer]:
        return [layer for layer in layers if self.examiner.narrows(layer, self.backend)]

    def _chain(
        self,
        layers: Sequence[Layer],
        narrow: Collection[Layer],
        rounded: Callable[[Value, Reals], Reals] | None = None,
    ) -> RealValues:
        """Return a chain's values in float64.

        Args:
            layers: The layers.
            narrow: The layers whose operands are rounded to BFloat16.
            rounded: The rounding of each value for the layers behind it.
        """
        reals: RealValues = {}
        for layer in layers:
            operands = [None if value is None else self.clean[value] for value in layer.inputs]
            narrowed = as_bfloat16 if layer in narrow else None
            made = self.examiner.reference.exact(layer, operands, reals, narrowed)
            for value, real in zip(layer.outputs, made, strict=True):
                if real is not None:
                    reals[value] = real if rounded is None else rounded(value, real)
        return reals


def _errors_between(layers: Sequence[Layer], *, is_fast: bool) -> dict[Value, tuple[Any, float]]:
    """Return the errors of rounded values between layers.

    They are absolute and relative ones.
    """
    made = [v for each in layers if not LAYERS[each.type].moves_data for v in each.outputs]
    found: dict[Value, tuple[Any, float]] = {}
    for value in (v for v in made if any(reader in layers for reader in v.consumers)):
        if value.info.scales:
            found[value] = 0.5 * quantization_arrays(value.info)[0].astype(np.float64), 0.0
        elif is_fast and value.info.data_type is DataType.FLOAT32:
            found[value] = 0.0, STORED_ERROR
    return found


def _moved(
    errors: Mapping[Value, tuple[Any, float]],
    generator: np.random.Generator,
    value: Value,
    real: Reals,
) -> Reals:
    if value not in errors:
        return real
    absolute, relative = errors[value]
    moved: Reals = real + generator.choice([-1, 1], real.shape) * (absolute + relative * real)
    return moved


def farthest(truth: Mapping[Value, Reals], others: Sequence[Mapping[Value, Reals]]) -> RealValues:
    """Return the truth, moved by the largest distance of other right values.

    Args:
        truth: The truth.
        others: Other right values of some of its tensors.
    """
    found: RealValues = {}
    for value in {value for other in others for value in other}:
        distances = [np.abs(other[value] - truth[value]) for other in others if value in other]
        found[value] = truth[value] + SPREAD * np.maximum.reduce(distances)
    return found


@dataclass(slots=True)
class FusedSearch:
    """Looks for wrong fusions in one compiled part.

    Attributes:
        examiner: Runs and judges groups of layers.
        layers: The layers of the part, in topological order.
        clean: The reference's values.
        backend: The id of the backend.
    """

    examiner: Examiner
    layers: Sequence[Layer]
    clean: CleanValues
    backend: str
    _chains: Chains = field(init=False)

    def __post_init__(self) -> None:
        """Begin without chains."""
        self._chains = Chains(self.examiner, self.clean, self.backend)

    def run(self) -> list[LayerFinding]:
        """Return the groups that are wrong, in graph order."""
        return [
            finding for layers in _between_decisions(self.layers) for finding in self._in(layers)
        ]

    def _in(self, layers: Sequence[Layer]) -> list[LayerFinding]:
        found: list[LayerFinding] = []
        start = 0
        while len(layers) - start > 1 and len(found) < MOST_FUSED_FAULTS:
            rest = layers[start:]
            if not self._is_wrong_from(rest, 0):
                break
            end = self._shortest_prefix(rest)
            begin = self._shortest_suffix(rest[:end])
            group = self._needed_of(rest[begin:end])
            finding = self._finding(group, group, self.examiner.repeats)
            found.append(finding if finding.is_wrong else self._finding(rest, rest))
            start += end
        return found

    def _shortest_prefix(self, layers: Sequence[Layer]) -> int:
        """Return how many of the first layers are wrong together."""
        right, wrong = 0, len(layers)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self._finding(layers[:middle], layers).is_wrong:
                wrong = middle
            else:
                right = middle
        return wrong

    def _shortest_suffix(self, layers: Sequence[Layer]) -> int:
        """Return where the shortest wrong group begins that ends here."""
        size, right, wrong = 2, len(layers) - 1, 0
        while size < len(layers):
            begin = len(layers) - size
            if self._is_wrong_from(layers, begin):
                wrong = begin
                break
            right, size = begin, size * 2
        while right - wrong > 1:
            middle = (right + wrong) // 2
            if self._is_wrong_from(layers, middle):
                wrong = middle
            else:
                right = middle
        return wrong

    def _needed_of(self, group: Sequence[Layer]) -> Sequence[Layer]:
        """Return a group without branches that have no part.

        They only stand between the others in topological order.
        """
        for layer in reversed(group[1:-1]):
            rest = [each for each in group if each is not layer]
            read = {value for each in rest for value in each.inputs}
            if read.isdisjoint(layer.outputs):
                self._chains.forget(rest[0])
                if self._finding(rest, rest).is_wrong:
                    group = rest
                self._chains.forget(rest[0])
        return group

    def _is_wrong_from(self, layers: Sequence[Layer], begin: int) -> bool:
        return self._finding(layers[begin:], layers[begin:]).is_wrong

    def _finding(
        self, layers: Sequence[Layer], chain: Sequence[Layer], runs: int = 1
    ) -> LayerFinding:
        """Return the finding about layers that are compiled together.

        Args:
            layers: The layers.
            chain: They, or more layers with the same beginning; the truth is computed of these.
            runs: How often they are run.
        """
        outputs = {value.name: value for value in border_values(layers)}
        floors = sum(floor_of(layer, layer.outputs[0].info) for layer in layers)

        def judged(made: Mapping[str, Array]) -> Figures:
            if all(is_near(made[name], self.clean[v], v.info) for name, v in outputs.items()):
                return Figures()  # without asking for the truth, which costs a run
            truth, narrow = self._chains.of(chain)
            floor = max(floors, self._noise(layers, truth, narrow))
            known = {name: value for name, value in outputs.items() if value in truth}

            def worst(allowed: Mapping[Value, Array]) -> Figures:
                figures = [
                    judge(
                        Opinions(made[name], self.clean[value], truth[value], allowed.get(value)),
                        value.info,
                        floors if value.info.num_elements >= FEWEST_FOR_RMS else floor,
                        propagates_nan=self.examiner.keeps_nan(self.backend),
                    )
                    for name, value in known.items()
                ]
                return max(figures, key=lambda each: each.severity, default=Figures())

            figures = worst(narrow)
            if figures.kind in (ErrorKind.VALUES, ErrorKind.SATURATION):
                rounded = self._chains.rounded(layers)
                figures = worst(farthest(truth, [narrow, *rounded])) if rounded else figures
            return figures

        examiner = replace(self.examiner, repeats=runs)
        return examiner.group(layers, self.clean, self.backend, judged, runs)

    def _noise(self, layers: Sequence[Layer], truth: RealValues, narrow: RealValues) -> float:
        """Return the largest RMS error that rounding explains.

        It is a part of the value's size. The last few numbers of a chain are too few to tell it.
        """
        found = 0.0
        known = (each for layer in layers for each in layer.outputs if each in truth)
        for value in known:
            exact = truth[value]
            size = _rms(exact)
            real = real_values(self.clean[value], value.info)
            with np.errstate(invalid="ignore"):  # two infinities have no distance
                errors = [_rms(each - exact) for each in (real, narrow.get(value, exact))]
            if size and np.isfinite(errors).all():
                found = max(found, max(errors) / size)
        return found


def _between_decisions(layers: Sequence[Layer]) -> list[Sequence[Layer]]:
    """Return the layers in runs that end with decisions.

    What integers follow from real numbers may turn over by their rounding, which no chain of real
    numbers shows.
    """
    found: list[list[Layer]] = [[]]
    for layer in layers:
        found[-1].append(layer)
        reads = any(info is not None and is_real(info) for info in layer.input_infos)
        if reads and not all(is_real(info) for info in layer.output_infos):
            found.append([])
    return [run for run in found if run]


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0
