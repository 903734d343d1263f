# SPDX-License-Identifier: MIT
"""Stage 2: layers alone on a backend, with clean inputs.

Nothing accumulates: the inputs are the reference's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._dataclasses import dataclass, replace
from armnn.debugging.bench import Bench, border_values, disturbed, fragment
from armnn.debugging.judging import Opinions, judge
from armnn.debugging.noise import LINEAR, NARROWED_UNIT, STEPWISE, floor_of
from armnn.debugging.ties import Ties
from armnn.debugging.verdicts import ErrorKind, Figures, LayerVerdict
from armnn.errors import ArmnnError, ExecutionError
from armnn.graph.statistics import multiply_adds_of
from armnn.layers import LAYERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

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
        opinions = self._opinions(visit, backend)
        pairs = zip(visit.layer.inputs, visit.operands, strict=True)
        clean = {v: array for v, array in pairs if v is not None and array is not None}
        ties = Ties(visit, self.reference)

        def judged(outputs: Mapping[str, Array]) -> Figures:
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
        found: list[Figures] = []
        try:
            for negated in (False, True):
                _run(
                    loaded.run,
                    disturbed(loaded.inputs, inputs, negated=negated),
                    lambda _: Figures(),
                )
                found.append(_run(loaded.run, inputs, judged))
            while len(found) < runs or (len(found) < self.repeats and _any_wrong(found)):
                found.append(_run(loaded.run, inputs, judged))
        finally:
            loaded.close()
        wrong = sum(each.kind is not ErrorKind.NONE for each in found)
        worst = max(found, key=lambda each: each.severity)
        return replace(verdict, figures=worst, wrong_runs=wrong, runs=len(found))

    def narrows(self, layer: Layer, backend: str) -> bool:
        """Return whether the backend may round a layer's operands."""
        options = self.bench.options.model_options.get(backend, {})
        return bool(options.get(FAST_MATH)) and bool(multiply_adds_of(layer))

    def keeps_nan(self, backend: str) -> bool:
        """Return whether a backend must keep NaN."""
        candidate = self.bench.candidate(backend, self.network)
        return candidate.backend.has_capability("PropagatesNaN")

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


def _run(
    run: Callable[[Mapping[str, Array]], Mapping[str, Array]],
    inputs: Mapping[str, Array],
    judged: Judge,
) -> Figures:
    try:
        return judged(run(inputs))
    except ExecutionError as error:
        return Figures(ErrorKind.FAILURE, np.inf, detail=str(error))


def _any_wrong(found: Sequence[Figures]) -> bool:
    return any(each.kind is not ErrorKind.NONE for each in found)


def as_bfloat16(values: Reals) -> Reals:
    """Return numbers rounded to BFloat16."""
    import ml_dtypes  # late: few comparisons are about fast math

    rounded: Reals = values.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    return rounded
