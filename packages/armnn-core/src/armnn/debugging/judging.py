# SPDX-License-Identifier: MIT
"""The judgement of one output by three opinions.

The truth is computed in float64, the reference in the layer's own type. Its distance from the truth
is the error that the type explains; an output is wrong if it is farther away than that by a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.blocks import Block, Sums, blocks_of, where
from armnn.debugging.verdicts import ErrorKind, Figures
from armnn.quantization import quantization_arrays
from armnn.tensor import format_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo

    Reals = NDArray[np.float64]

LARGEST_RATIO = 5.0
"""How many times the reference's largest error an output's may be."""

RMS_RATIO = 3.0
"""How many times the reference's RMS error an output's may be."""

STEP_ALLOWANCE = 1.0
"""Steps between a right quantised output and the reference: one more rounding."""

BIASED_RMS = 0.45
"""RMS error in steps from which on rounding is wrong; rounding to the nearest has 0.29."""

FEWEST_FOR_RMS = 16
"""Elements from which on the reference's RMS error is an estimate of the noise."""

FEWEST_FOR_BIAS = 64
"""Elements from which on an RMS error in steps says something."""


@dataclass(frozen=True, slots=True)
class Opinions:
    """The three values of one output.

    Attributes:
        got: The output, as stored.
        reference: The reference's, as stored.
        truth: Real values in float64; None where the reference's are the only truth.
        allowed: Real values in float64 whose distance from the truth is also allowed, if any:
            computed with narrower operands, or with other roundings between layers.
    """

    got: NDArray[Any]
    reference: NDArray[Any]
    truth: Reals | None = None
    allowed: Reals | None = None


def judge(
    opinions: Opinions,
    info: TensorInfo,
    floor: float,
    *,
    size: float = 0.0,
    propagates_nan: bool = True,
) -> Figures:
    """Judge an output.

    Args:
        opinions: The three values.
        info: The output's type and quantisation.
        floor: The noise floor as a part of the output's size.
        size: That of the sums behind the output, where their terms cancel each other; the output's
            own by default.
        propagates_nan: Whether NaN must stay NaN.
    """
    got, reference = opinions.got, opinions.reference
    if got.shape != reference.shape or got.dtype != reference.dtype:
        shapes = [f"{each.dtype}{format_shape(each.shape)}" for each in (got, reference)]
        return Figures(ErrorKind.SHAPE, np.inf, detail=f"got {shapes[0]}, expected {shapes[1]}")
    if got.size == 0:
        return Figures()
    if info.is_quantized and info.scales:
        return _judge_steps(opinions, info, floor)
    if info.data_type.is_float:
        return _judge_reals(opinions, floor, size, propagates_nan)
    return _judge_exact(got, reference)


def _judge_exact(got: NDArray[Any], reference: NDArray[Any]) -> Figures:
    far = got != reference
    if not far.any():
        return Figures(total=got.size)
    distance = np.abs(got.astype(np.float64) - reference.astype(np.float64))
    return _figures(
        ErrorKind.VALUES, far, got, reference, ratio=np.inf, largest=float(distance.max())
    )


def _judge_reals(opinions: Opinions, floor: float, size: float, propagates_nan: bool) -> Figures:
    got = opinions.got
    truth = opinions.reference if opinions.truth is None else opinions.truth.reshape(got.shape)
    special = _specials(opinions, truth, propagates_nan)
    if special is not None:
        return special
    sums = Sums()
    for block in _blocks(opinions):
        sums.add(block)
    if not sums.count:
        return Figures(total=got.size)
    tiny = float(np.finfo(np.float32).tiny) if got.dtype.itemsize <= 4 else 0.0
    rms, noise, true = map(sums.rms, (sums.error_squares, sums.noise_squares, sums.truth_squares))
    allowed = LARGEST_RATIO * (sums.noise + floor * max(sums.size, size)) + tiny
    allowed_rms = RMS_RATIO * (noise + floor * max(true, size)) + tiny
    ratios = sums.error / allowed if allowed else float(sums.error > 0) * np.inf
    rms_ratio = rms / allowed_rms if allowed_rms else float(sums.error > 0) * np.inf
    if sums.count < FEWEST_FOR_RMS:
        rms_ratio = 0.0
    ratio = float(np.nan_to_num(max(ratios, rms_ratio), nan=0.0, posinf=np.inf))
    unit = sums.size or 1.0
    figures = Figures(
        ErrorKind.VALUES if ratio > 1 else ErrorKind.NONE,
        ratio=ratio,
        largest=sums.error / unit,
        rms=rms / unit,
        allowed=allowed / unit,
        cosine=sums.cosine,
        unit="of the largest",
        total=got.size,
    )
    if ratio <= 1:
        return figures
    limit = allowed if ratios > 1 else allowed_rms
    far = where(_blocks(opinions), lambda block: _beyond(block, limit), got.shape)
    return _placed(figures, far, got, truth)


def _blocks(opinions: Opinions) -> Iterator[Block]:
    return blocks_of(opinions.got, opinions.reference, opinions.truth, opinions.allowed)


def _beyond(block: Block, limit: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):  # two infinities have no distance, and are not usable
        return block.usable & (np.abs(block.got - block.truth) > limit)


def _specials(opinions: Opinions, truth: NDArray[Any], propagates_nan: bool) -> Figures | None:
    """Return the figures of wrong NaN or infinities, if any."""
    got = opinions.got
    if np.isfinite(got).all() and np.isfinite(opinions.reference).all():
        return None
    for kind, chosen in (
        (ErrorKind.NAN, lambda block: _wrong_nan(block, propagates_nan)),
        (ErrorKind.INFINITY, _wrong_infinity),
    ):
        far = where(_blocks(opinions), chosen, got.shape)
        if far.any():
            return _placed(Figures(kind, np.inf, total=got.size), far, got, truth)
    return None


def _wrong_nan(block: Block, propagates_nan: bool) -> NDArray[np.bool_]:
    got, reference = np.isnan(block.got), np.isnan(block.reference)
    made: NDArray[np.bool_] = got & ~reference
    return made | (reference & ~got) if propagates_nan else made


def _wrong_infinity(block: Block) -> NDArray[np.bool_]:
    got, reference = block.got, block.reference
    far = ~np.isnan(got) & ~np.isnan(reference) & (np.isinf(got) | np.isinf(reference))
    # A sum near the type's largest number may pass it in another order.
    near = np.abs(np.nan_to_num(block.truth)) > np.finfo(np.float32).max / 2
    wrong: NDArray[np.bool_] = far & (got != reference) & ~near
    return wrong


def _judge_steps(opinions: Opinions, info: TensorInfo, floor: float) -> Figures:
    got, reference = (_wide(each) for each in (opinions.got, opinions.reference))
    limits = np.iinfo(info.data_type.numpy_dtype)
    exact, clipped = reference, np.zeros(got.shape, bool)
    if opinions.truth is not None:
        exact = _in_steps(opinions.truth, info, reference)
        clipped = (exact < limits.min) | (exact > limits.max)
        exact = np.clip(exact, limits.min, limits.max)
    errors, noise = np.abs(got - exact), np.abs(reference - exact)
    if opinions.allowed is not None:
        allowed_too = np.clip(_in_steps(opinions.allowed, info, exact), limits.min, limits.max)
        noise = np.maximum(noise, np.abs(allowed_too - exact))
    span = float(limits.max) - float(limits.min)
    allowed = max(float(noise.max()), 0.5) + STEP_ALLOWANCE + floor * span
    ratio = float(errors.max()) / allowed
    if got.size >= FEWEST_FOR_BIAS and float(errors.max()) > 0.75:
        worst = max(BIASED_RMS, 1.5 * _rms(noise)) + floor * span
        ratio = max(ratio, _rms(errors) / worst)
    kind = ErrorKind.NONE
    far = errors > allowed
    if ratio > 1:
        far = far if far.any() else errors > 0.75
        kind = ErrorKind.SATURATION if (far & clipped).sum() * 2 > far.sum() else ErrorKind.VALUES
    return _figures(
        kind,
        far,
        got,
        exact,
        ratio=ratio,
        largest=float(errors.max()),
        rms=_rms(errors),
        allowed=allowed,
        cosine=_cosine(got.ravel(), exact.ravel()),
        unit="steps",
    )


def _in_steps(reals: Reals, info: TensorInfo, otherwise: Reals) -> Reals:
    """Return real values as unrounded stored ones.

    Args:
        reals: The values.
        info: Their quantisation.
        otherwise: What takes the place of NaN.
    """
    scales, zero_points = quantization_arrays(info)
    steps = reals.reshape(otherwise.shape) / scales.astype(np.float64) + zero_points
    return np.where(np.isnan(steps), otherwise, steps)


def _figures(
    kind: ErrorKind, far: NDArray[np.bool_], got: NDArray[Any], expected: NDArray[Any], **rest: Any
) -> Figures:
    figures = Figures(kind, total=int(got.size), **rest)
    return figures if kind is ErrorKind.NONE else _placed(figures, far, got, expected)


def _placed(
    figures: Figures, far: NDArray[np.bool_], got: NDArray[Any], expected: NDArray[Any]
) -> Figures:
    """Return figures with the first of the wrong elements."""
    places = np.flatnonzero(far)
    if not places.size:
        return figures
    first = tuple(int(each) for each in np.unravel_index(int(places[0]), got.shape))
    return replace(
        figures,
        count=int(places.size),
        first=first,
        got=float(got[first]),
        expected=float(expected[first]),
    )


def _wide(stored: NDArray[Any]) -> Reals:
    return stored.astype(np.float64)


def _rms(values: Reals) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _cosine(a: Reals, b: Reals) -> float:
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / scale if scale else float(not a.any() and not b.any())
