# SPDX-License-Identifier: MIT
"""Stage 2: layers alone on a backend, with clean inputs.

Nothing accumulates: the inputs are the reference's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends.calling import call
from armnn.debugging.bench import Bench, border_values, disturbed, fragment
from armnn.debugging.borders import digest
from armnn.debugging.file_backed import leave_memory
from armnn.debugging.judging import Opinions, judge
from armnn.debugging.noise import LINEAR, NARROWED_UNIT, STEPWISE, floor_of
from armnn.debugging.ties import Ties
from armnn.debugging.verdicts import ErrorKind, Figures, LayerVerdict
from armnn.errors import ArmnnError, ExecutionError
from armnn.graph.multiply_adds import multiply_adds_of
from armnn.layers import LAYERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from armnn.debugging.bench import LoadedPart
    from armnn.debugging.clean_values import Visit
    from armnn.debugging.reference import Reference
    from armnn.graph import Layer, Network, Value

    Array = NDArray[Any]
    Reals = NDArray[np.float64]
    Judge = Callable[[Mapping[str, Array]], Figures]

FAST_MATH = "FastMathEnabled"
"""The option that lets a backend round the operands of products to BFloat16."""

FLAKY_REPEATS = 60
"""How often a layer that is suspected to be flaky is run."""


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
            # The truth is computed here, after the runs: it takes more memory than they.
            opinions.update({} if opinions else self._opinions(visit, backend))
            leave_memory(visit.operands)
            figures = [
                self._judged(ties, value, outputs[value.name], opinions[value], backend)
                for value in border_values([visit.layer])
            ]
            return max(figures, key=lambda each: each.severity, default=Figures())

        runs = FLAKY_REPEATS if suspected_flaky else 2
        leave_memory(visit.outputs)
        return self.group([visit.layer], clean, backend, judged, runs)

    def group(
        self,
        layers: Sequence[Layer],
        clean: Mapping[Value, Array],
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
        first = _outputs_after(loaded, inputs, negated=False)
        bits = _bits_of(first)
        del first  # large outputs are in memory once
        made = [_outputs_after(loaded, inputs, negated=True)]
        if _bits_of(made[0]) != bits:
            made.append(_outputs_after(loaded, inputs, negated=False))
        loaded.free_working_memory()
        found = [_figures_of(each, judged) for each in made]
        found += found if len(made) == 1 else []
        del made
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


def judged_with_ties(
    ties: Ties,
    value: Value,
    opinions: Opinions,
    floor: float,
    *,
    propagates_nan: bool = True,
    narrows: bool = False,
) -> Figures:
    """Judge a layer's output; its decisions may turn over.

    Args:
        ties: Those of the layer.
        value: The output.
        opinions: Its three values.
        floor: The noise floor as a part of the output's size.
        propagates_nan: Whether NaN must stay NaN.
        narrows: Whether operands may be rounded to BFloat16.
    """
    layer, info = value.producer, value.info
    figures = judge(opinions, info, floor, propagates_nan=propagates_nan)
    if figures.kind is ErrorKind.VALUES and layer.type in LINEAR:
        size = ties.size_of_sums(value.index)
        floor = max(floor, NARROWED_UNIT) if narrows else floor
        figures = judge(opinions, info, floor, size=size, propagates_nan=propagates_nan)
    if figures.kind is ErrorKind.VALUES and (
        (layer.type in STEPWISE and figures.largest <= 2) or ties.explain(value.index, opinions.got)
    ):
        return Figures(total=figures.total)
    return figures


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
    return {name: (array.shape, digest(array)) for name, array in made.items()}


def _figures_of(made: Mapping[str, Array] | Figures, judged: Judge) -> Figures:
    return made if isinstance(made, Figures) else judged(made)


def _any_wrong(found: Sequence[Figures]) -> bool:
    return any(each.kind is not ErrorKind.NONE for each in found)


def as_bfloat16(values: Reals) -> Reals:
    """Return numbers rounded to BFloat16."""
    import ml_dtypes  # late: few comparisons are about fast math

    with np.errstate(over="ignore"):  # what is too large for the type is infinite
        rounded: Reals = values.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    return rounded
