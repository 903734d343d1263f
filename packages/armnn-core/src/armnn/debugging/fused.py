# SPDX-License-Identifier: MIT
"""Stage 2 for fusions: layers only wrong together.

Each layer of a part is right alone, and yet the part is wrong: what one layer leaves out or does
twice when it is compiled with its neighbours is found by halving the part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.bench import border_values
from armnn.debugging.borders import is_near
from armnn.debugging.chains import Chains, farthest
from armnn.debugging.judging import FEWEST_FOR_RMS, Opinions, judge
from armnn.debugging.noise import floor_of
from armnn.debugging.reference import is_real, real_values
from armnn.debugging.verdicts import ErrorKind, Figures, LayerVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from armnn.debugging.alone import Examiner
    from armnn.graph import Layer, Value

    Array = NDArray[Any]
    Reals = dict[Value, NDArray[Any]]

MOST_FUSED_FAULTS = 8
"""Faults of one part that are looked for one after the other."""


@dataclass(slots=True)
class FusedSearch:
    """Looks for wrong fusions in one compiled part.

    Attributes:
        examiner: Runs and judges groups of layers.
        layers: Those of the part, in topological order.
        clean: The reference's value of each value that the layers read or make.
        backend: The id of the backend.
    """

    examiner: Examiner
    layers: Sequence[Layer]
    clean: Mapping[Value, Array]
    backend: str
    _chains: Chains = field(init=False)

    def __post_init__(self) -> None:
        """Begin without chains."""
        self._chains = Chains(self.examiner, self.clean, self.backend)

    def differs(self) -> bool:
        """Return whether the part is wrong at its borders.

        Only the values there are kept in memory.
        """
        for layers in _between_decisions(self.layers):
            self._chains.compute(layers, border_values(layers))
            verdict = self._verdict(layers, layers)
            self._chains.forget(layers[0])
            if verdict.is_wrong:
                return True
        return False

    def run(self) -> list[LayerVerdict]:
        """Return the groups that are wrong, in graph order."""
        return [
            verdict for layers in _between_decisions(self.layers) for verdict in self._in(layers)
        ]

    def _in(self, layers: Sequence[Layer]) -> list[LayerVerdict]:
        found: list[LayerVerdict] = []
        start = 0
        while len(layers) - start > 1 and len(found) < MOST_FUSED_FAULTS:
            rest = layers[start:]
            if not self._is_wrong_from(rest, 0):
                break
            end = self._shortest_prefix(rest)
            begin = self._shortest_suffix(rest[:end])
            group = self._needed_of(rest[begin:end])
            verdict = self._verdict(group, group, self.examiner.repeats)
            found.append(verdict if verdict.is_wrong else self._verdict(rest, rest))
            start += end
        return found

    def _shortest_prefix(self, layers: Sequence[Layer]) -> int:
        """Return how many of the first layers are wrong together."""
        right, wrong = 0, len(layers)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self._verdict(layers[:middle], layers).is_wrong:
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
                if self._verdict(rest, rest).is_wrong:
                    group = rest
                self._chains.forget(rest[0])
        return group

    def _is_wrong_from(self, layers: Sequence[Layer], begin: int) -> bool:
        return self._verdict(layers[begin:], layers[begin:]).is_wrong

    def _verdict(
        self, layers: Sequence[Layer], chain: Sequence[Layer], runs: int = 1
    ) -> LayerVerdict:
        """Return the verdict about layers that are compiled together.

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
                rounded = self._chains.rounded(layers, known.values())
                figures = worst(farthest(truth, [narrow, *rounded])) if rounded else figures
            return figures

        examiner = replace(self.examiner, repeats=runs)
        return examiner.group(layers, self.clean, self.backend, judged, runs)

    def _noise(self, layers: Sequence[Layer], truth: Reals, narrow: Reals) -> float:
        """Return the largest RMS error that rounding explains.

        It is a part of the value's size. The last few numbers of a chain are too few to tell it.
        """
        found = 0.0
        known = (each for layer in layers for each in layer.outputs if each in truth)
        for value in (each for each in known if each in self.clean):
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


def at_borders(layers: Sequence[Layer]) -> dict[Value, None]:
    """Return the values that runs of layers exchange."""
    found: dict[Value, None] = {}
    for run in _between_decisions(layers):
        made = {value for layer in run for value in layer.outputs}
        read = (value for layer in run for value in layer.inputs if value not in made)
        found |= {v: None for v in (*read, *border_values(run)) if v and v.constant is None}
        found |= {v: None for v in made if not is_real(v.info)}
    return found


def read_or_made(layers: Sequence[Layer]) -> dict[Value, None]:
    """Return the values of some layers, constants left out."""
    return {
        value: None
        for layer in layers
        for value in (*layer.inputs, *layer.outputs)
        if value is not None and value.constant is None
    }
