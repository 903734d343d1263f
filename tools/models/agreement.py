# SPDX-License-Identifier: MIT
"""The distance between two runtimes' outputs, and its limits.

An output that is quantized, or that is dequantized at the end, is compared in its steps; another
one relative to its range, or to its size if it is one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import armnn
    from armnn.graph import Value

Array: TypeAlias = "NDArray[Any]"

RANGE = 1e-3
"""The most that a real output may differ, relative to its range."""

WITHIN_ONE_STEP = 0.995
"""The least share of the values of quantized outputs that are no more than a step off."""

HALF_A_STEP = 0.5
"""The most that outputs of quantized ONNX models may differ on average, if they have steps."""


@dataclass(frozen=True)
class Distance:
    """The distance of a runtime's outputs from the oracle's.

    It is taken over all feeds.

    Attributes:
        largest: The largest difference, in steps or relative to the range.
        mean: The mean one.
        within: The share of the values that differ by no more than a step, or by ``RANGE``.
        same_choice: Whether the largest value of every output is at the same place.
    """

    largest: float
    mean: float
    within: float
    same_choice: bool

    def is_no_larger(self, other: Distance) -> bool:
        """Return whether the outputs are as near as another runtime's."""
        return self.largest <= other.largest and self.mean <= other.mean


def distance(
    ours: Sequence[Sequence[Array]],
    theirs: Sequence[Sequence[Array]],
    steps: Sequence[float | None],
) -> Distance:
    """Compare outputs.

    Args:
        ours: For each feed the outputs.
        theirs: Those of the oracle.
        steps: For each output what a step is worth; None if it has none.

    Raises:
        ValueError: An output has another shape or type than the oracle's, or is not finite where
            that one is.
    """
    differences, same_choice = [np.zeros(0)], True
    for mine, right in zip(ours, theirs, strict=True):
        for got, wanted, step in zip(mine, right, steps, strict=True):
            if got.shape != wanted.shape or got.dtype != wanted.dtype:
                raise ValueError(
                    f"the output is {got.dtype}{list(got.shape)}: expected "
                    f"{wanted.dtype}{list(wanted.shape)}"
                )
            differences.append(_differences(got, wanted, step))
            flat = wanted.reshape(-1)
            if flat.size:  # where several are the largest, each is a right choice
                same_choice &= bool(flat[got.reshape(-1).argmax()] == flat.max())
    every = np.concatenate(differences)
    limit = RANGE if all(step is None for step in steps) else 1.0 + 1e-3
    return Distance(
        float(every.max(initial=0)),
        float(every.mean()) if every.size else 0.0,
        float((every <= limit).mean()) if every.size else 1.0,
        same_choice,
    )


def _differences(got: Array, wanted: Array, step: float | None) -> Array:
    a, b = (array.reshape(-1).astype(np.float64) for array in (got, wanted))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        raise ValueError("the output is not finite where the oracle's is, or the other way round")
    off = np.abs(np.nan_to_num(a) - np.nan_to_num(b))
    if step is not None:
        return off / step
    size = np.ptp(b) if b.size > 1 else np.abs(b).max(initial=0)
    return off / (size if size > 0 else 1.0)


def output_steps(network: armnn.Network) -> list[float | None]:
    """Return the real value of a step of each output.

    Outputs that pass a state to an input of the same name are left out.
    """
    handed_on = {layer.name for layer in network.inputs}
    made = (layer for layer in network.outputs if layer.name not in handed_on)
    steps = [_step(layer.inputs[0]) for layer in made]
    # One unit for a model: steps where all its outputs have them.
    return steps if None not in steps else [None] * len(steps)


def _step(value: Value | None) -> float | None:
    if value is None:
        return None
    if value.info.is_quantized:
        return 1.0
    source = value.producer.inputs[0] if value.producer.type == "Dequantize" else None
    if source is None or len(source.info.scales) != 1:
        return None
    return source.info.scales[0]


def verdict(
    ours: Distance, others: Mapping[str, Distance], *, in_steps: bool, on_average: bool = False
) -> str:
    """Return how a model agrees with its oracle, or "".

    Args:
        ours: How far our outputs are from the oracle.
        others: How far those of the yardsticks are; none for a model that is not quantized.
        in_steps: Whether its outputs have steps.
        on_average: Whether the mean difference may decide: for a model that rounds between sums of
            real numbers, which no two programs add in the same order.
    """
    if in_steps and ours.within >= WITHIN_ONE_STEP:
        return "within one step"
    if not in_steps and ours.largest <= RANGE and ours.same_choice:
        return f"within {RANGE} of the range"
    for name, other in others.items():
        if ours.is_no_larger(other):
            return f"no further than {name}"
    if on_average and ours.mean <= (HALF_A_STEP if in_steps else RANGE):
        return "within half a step on average" if in_steps else f"within {RANGE} on average"
    return ""
