# SPDX-License-Identifier: MIT
"""The result of a comparison: verdicts in graph order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armnn.debugging.verdicts import LayerVerdict


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A part that differs although no layer is wrong.

    Rounding that is right in every layer, and in the part as a whole, has grown by the layers
    behind it, or a decision that depends on it was turned over.

    Attributes:
        layers: The names of the part's layers.
        backend: The id of the backend that ran them.
        sample: The number of the sample.
    """

    layers: tuple[str, ...]
    backend: str
    sample: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What a comparison has found.

    Attributes:
        verdicts: About the layers that were examined, in graph order.
        unexplained: The parts that only differ by rounding of the layers before or inside.
        layers: How many layers there are, over all samples.
        backend_runs: How often networks ran on the backends under test, single layers included.
        reference_runs: What the reference has computed, in runs of the whole network.
        largest_border_difference: Between backends and reference at any border of compiled parts,
            as a part of the largest number there.
    """

    verdicts: tuple[LayerVerdict, ...]
    unexplained: tuple[Unexplained, ...]
    layers: int
    backend_runs: int
    reference_runs: float
    largest_border_difference: float

    @property
    def wrong(self) -> tuple[LayerVerdict, ...]:
        """The wrong layers, in graph order."""
        return tuple(each for each in self.verdicts if each.is_wrong)

    @property
    def first(self) -> LayerVerdict | None:
        """The first wrong layer, None if all are right."""
        return next(iter(self.wrong), None)

    @property
    def agrees(self) -> bool:
        """Whether no layer is wrong."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "agrees": self.agrees,
            "layers": self.layers,
            "backend_runs": self.backend_runs,
            "reference_runs": self.reference_runs,
            "largest_border_difference": self.largest_border_difference,
            "verdicts": [each.as_dict() for each in self.verdicts],
            "unexplained": [asdict(each) for each in self.unexplained],
        }
