# SPDX-License-Identifier: MIT
"""The findings of a comparison: figures of outputs, and a finding for each layer."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class ErrorKind(StrEnum):
    """The kind of fault of an output; NONE for right ones."""

    NONE = ""
    VALUES = "wrong values"
    NAN = "NaN"
    INFINITY = "infinity"
    SATURATION = "saturation"
    SHAPE = "wrong shape"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Figures:
    """The distance of an output from the truth.

    Attributes:
        kind: The kind of its fault.
        ratio: The largest error, divided by what rounding explains; above 1 is wrong.
        largest: The largest error; see ``unit``.
        rms: The root of the mean square of the errors; see ``unit``.
        allowed: The largest error that rounding explains; see ``unit``.
        cosine: The cosine of the angle between output and truth.
        unit: "of the largest" (as a part of the largest true number) or "steps".
        count: How many elements are beyond ``allowed``, or NaN or infinite where the truth is not.
        total: How many elements there are.
        first: The index of the first of them, None without any.
        got: Its real value.
        expected: The real value of the truth.
        detail: In words: a shape, or a backend's message.
    """

    kind: ErrorKind = ErrorKind.NONE
    ratio: float = 0.0
    largest: float = 0.0
    rms: float = 0.0
    allowed: float = 0.0
    cosine: float = 1.0
    unit: str = ""
    count: int = 0
    total: int = 0
    first: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    detail: str = ""

    @property
    def severity(self) -> tuple[bool, bool, float]:
        """The sort key of figures: wrong ones first, then by ratio."""
        wrong = self.kind is not ErrorKind.NONE
        return wrong, wrong and self.kind is not ErrorKind.VALUES, self.ratio


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """The signature of a failure, by which it is recognized in a smaller model.

    Attributes:
        types: The types of the layers that only together are wrong; mostly one.
        kind: The kind of fault of their output.
        magnitude: The decimal exponent of the largest error, in the unit of the figures; None
            where the kind has no size.
    """

    types: tuple[str, ...]
    kind: ErrorKind
    magnitude: int | None = None

    def matches(self, other: FailureSignature) -> bool:
        """Return whether both are the same failure.

        The sizes may differ by a factor of about ten, as inputs differ.
        """
        if (self.types, self.kind) != (other.types, other.kind):
            return False
        if self.magnitude is None or other.magnitude is None:
            return self.magnitude == other.magnitude
        return abs(self.magnitude - other.magnitude) <= 1


@dataclass(frozen=True, slots=True)
class LayerFinding:
    """The finding about a layer, or about several together.

    Attributes:
        layers: Names, one unless only a fusion is wrong.
        types: Their types.
        backend: The id of the backend that ran them.
        figures: The figures of the worst output in the worst run.
        wrong_runs: In how many runs it was wrong.
        runs: How often it was run with the same inputs.
        sample: The number of the sample with these figures.
        note: The limits of the finding, in words.
    """

    layers: tuple[str, ...]
    types: tuple[str, ...]
    backend: str
    figures: Figures
    wrong_runs: int = 0
    runs: int = 1
    sample: int = 0
    note: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the layers compute wrongly."""
        return self.figures.kind is not ErrorKind.NONE

    @property
    def is_flaky(self) -> bool:
        """Whether some runs with the same inputs are right."""
        return 0 < self.wrong_runs < self.runs

    @property
    def signature(self) -> FailureSignature:
        """The signature by which this failure is recognized in a smaller model."""
        sized = self.figures.kind in (ErrorKind.VALUES, ErrorKind.SATURATION)
        error = self.figures.largest
        exponent = math.floor(math.log10(error)) if sized and 0 < error < math.inf else None
        return FailureSignature(self.types, self.figures.kind, exponent)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as data for JSON."""
        return {
            "layers": list(self.layers),
            "types": list(self.types),
            "backend": self.backend,
            "wrong": self.is_wrong,
            "flaky": self.is_flaky,
            "wrong_runs": self.wrong_runs,
            "runs": self.runs,
            "sample": self.sample,
            "note": self.note,
            **asdict(self.figures),
        }


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
    """The findings of a comparison.

    Attributes:
        by_layer: A finding for each layer that was examined, in graph order.
        unexplained: The parts that only differ by rounding of the layers before or inside.
        layers: How many layers there are, over all samples.
        backend_runs: How often networks ran on the backends under test, single layers included.
        reference_runs: The work of the reference, in runs of the whole network.
        largest_border_difference: Between backends and reference at any border of compiled parts,
            as a part of the largest number there.
    """

    by_layer: tuple[LayerFinding, ...]
    unexplained: tuple[Unexplained, ...]
    layers: int
    backend_runs: int
    reference_runs: float
    largest_border_difference: float

    @property
    def verdicts(self) -> tuple[LayerFinding, ...]:
        """The name of :attr:`by_layer` in armnn-core 1.2, until 2.0."""
        return self.by_layer

    @property
    def wrong(self) -> tuple[LayerFinding, ...]:
        """The wrong layers, in graph order."""
        return tuple(each for each in self.by_layer if each.is_wrong)

    @property
    def first(self) -> LayerFinding | None:
        """The first wrong layer, None if all are right."""
        return next(iter(self.wrong), None)

    @property
    def agrees(self) -> bool:
        """Whether no layer is wrong."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as data for JSON."""
        return {
            "agrees": self.agrees,
            "layers": self.layers,
            "backend_runs": self.backend_runs,
            "reference_runs": self.reference_runs,
            "largest_border_difference": self.largest_border_difference,
            "verdicts": [each.as_dict() for each in self.by_layer],
            "unexplained": [asdict(each) for each in self.unexplained],
        }
