# SPDX-License-Identifier: MIT
"""The differences between two sets of outputs.

Quantized outputs are compared in steps of what is stored, other integers and Booleans exactly, and
real numbers relative to the range of the expected ones. NaN equals NaN, and an infinity itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import mapping, real, refused
from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo, format_shape


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far outputs may be apart.

    Attributes:
        of_range: For real numbers, as a part of the range (largest less smallest value) of the
            expected output; of its size if it is one number or all numbers are equal.
        steps: For quantized numbers, in steps of what is stored.
    """

    of_range: float = 1e-3
    steps: int = 1

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError unless both are 0 or more."""
        for name in ("of_range", "steps"):
            if not real(getattr(self, name), f"the tolerance {name}") >= 0:
                raise refused(f"the tolerance {name}", getattr(self, name), "0 or more")

    def __str__(self) -> str:
        return f"{self.of_range:g} of the range, {self.steps} step{'s' * (self.steps != 1)}"


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """The difference of one output from the expected one.

    Attributes:
        name: The name of the output.
        problem: Why the two cannot be compared number by number: another type or shape; else "".
        unit: The unit of ``largest``: "of the range", "steps" or "".
        largest: The largest difference of two finite numbers.
        rms_error: The root of the mean square of these differences, as real values.
        count: How many numbers differ by more than the tolerance, or are NaN or infinite in one
            output only.
        total: How many numbers there are.
        first: The index of the first of them, None without any.
        got: Its real value.
        expected: The real value that was expected.
    """

    name: str
    problem: str = ""
    unit: str = ""
    largest: float = 0.0
    rms_error: float = 0.0
    count: int = 0
    total: int = 0
    first: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether the output is within the tolerance."""
        return not self.problem and not self.count

    def __str__(self) -> str:
        if self.problem:
            return f"output {self.name!r}: {self.problem}"
        unit = f" {self.unit}" if self.unit else ""
        figures = f"largest difference {self.largest:.3g}{unit}, RMS error {self.rms_error:.3g}"
        if self.first is None:
            return f"output {self.name!r} agrees: {figures}"
        return (
            f"output {self.name!r} differs in {self.count} of {self.total} numbers, first at "
            f"{list(self.first)}: got {self.got:g}, expected {self.expected:g}; {figures}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as data for JSON."""
        return {**asdict(self), "agrees": self.agrees}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of several outputs.

    Attributes:
        source: The source of the expected outputs.
        tolerance: How far they may be apart.
        outputs: One entry per output, in order.
    """

    source: str
    tolerance: Tolerance
    outputs: tuple[OutputDifference, ...]

    @property
    def agrees(self) -> bool:
        """Whether all outputs are within the tolerance."""
        return all(output.agrees for output in self.outputs)

    @property
    def first(self) -> OutputDifference | None:
        """The first output that differs, None if all agree."""
        return next((output for output in self.outputs if not output.agrees), None)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as data for JSON."""
        return {
            "source": self.source,
            "agrees": self.agrees,
            "tolerance": asdict(self.tolerance),
            "outputs": [output.as_dict() for output in self.outputs],
        }


def compare_outputs(
    got: Mapping[str, NDArray[Any]],
    expected: Mapping[str, NDArray[Any]],
    infos: Mapping[str, TensorInfo],
    *,
    source: str = "",
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Compare outputs with expected ones.

    Args:
        got: By the names of the outputs.
        expected: The expected values of some or all of them.
        infos: The outputs as the network declares them: ``loaded.outputs``.
        source: The source of the expected outputs, for people.
        tolerance: How far they may be apart; the default is a thousandth of the range, and one step
            of quantized outputs.

    Raises:
        InvalidArgumentError: An expected output is none of the network's, or there is none at all.
    """
    mapping(expected, "the expected outputs")
    unknown = [name for name in expected if name not in got]
    if unknown or not expected:
        known = ", ".join(map(repr, got)) or "none"
        what = f"the outputs {', '.join(map(repr, unknown))}" if unknown else "no output"
        raise InvalidArgumentError(f"cannot compare {what}: expected some of {known}")
    allowed = Tolerance() if tolerance is None else tolerance
    rows = (
        _difference(name, got[name], np.asarray(expected[name]), infos[name], allowed)
        for name in got
        if name in expected
    )
    return Comparison(source, allowed, tuple(rows))


def _difference(
    name: str,
    got: NDArray[Any],
    expected: NDArray[Any],
    info: TensorInfo,
    tolerance: Tolerance,
) -> OutputDifference:
    if got.dtype != expected.dtype:
        return OutputDifference(name, f"got {got.dtype}, expected {expected.dtype}")
    if got.shape != expected.shape:
        shapes = f"got {format_shape(got.shape)}, expected {format_shape(expected.shape)}"
        return OutputDifference(name, f"another shape: {shapes}")
    if got.dtype.kind in "biu":
        distances = _distances_of_integers(got, expected)
        is_far = distances > (tolerance.steps if info.is_quantized else 0)
        unit, scale = ("steps" if info.is_quantized else "", 1.0)
    else:
        distances = _distances(got, expected)
        unit, scale = "of the range", _range(expected)
        is_far = ~(distances <= tolerance.of_range * scale)
    finite = distances[np.isfinite(distances)]
    step = info.scales[0] if info.is_quantized and len(info.scales) == 1 else 1.0
    far = np.flatnonzero(is_far)
    found = OutputDifference(
        name,
        unit=unit,
        largest=float(finite.max(initial=0)) / scale,
        rms_error=float(np.sqrt(np.mean(finite**2))) * step if finite.size else 0.0,
        count=int(far.size),
        total=int(got.size),
    )
    if not far.size:
        return found
    place = tuple(int(each) for each in np.unravel_index(int(far[0]), got.shape))
    zero = info.zero_points[0] if len(info.zero_points) == 1 else 0
    values = [(float(array[place]) - zero) * step for array in (got, expected)]
    return replace(found, first=place, got=values[0], expected=values[1])


def _distances_of_integers(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.float64]:
    """Return exact distances, rounded to float64 at the end."""
    larger, smaller = np.maximum(got, expected), np.minimum(got, expected)
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    return np.asarray(larger.astype(unsigned) - smaller.astype(unsigned), np.float64)


def _distances(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.float64]:
    """Return distances, NaN where one of two is not finite."""
    a, b = (np.atleast_1d(array.astype(np.float64)) for array in (got, expected))
    with np.errstate(invalid="ignore"):
        found = np.atleast_1d(np.abs(a - b))
    is_same = (a == b) | (np.isnan(a) & np.isnan(b))
    found[~(np.isfinite(a) & np.isfinite(b))] = np.nan
    found[is_same] = 0.0
    return found


def _range(expected: NDArray[Any]) -> float:
    """Return the finite numbers' range, else their size, or 1."""
    values = expected.astype(np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 1.0
    return float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0
