# SPDX-License-Identifier: MIT
"""The judgement of one output by three opinions.

The truth is computed in float64, the reference in the layer's own type. Its distance from the truth
is the error that the type explains; an output is wrong if it is farther away than that by a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
        allowed: Real values in float64 whose distance from the truth is also allowed, if any: the
            layer computed with narrower operands.
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
    got, reference = (_wide(each) for each in (opinions.got, opinions.reference))
    truth = reference if opinions.truth is None else opinions.truth.reshape(got.shape)
    special = _specials(got, reference, truth, propagates_nan)
    if special is not None:
        return special
    usable = np.isfinite(got) & np.isfinite(reference) & np.isfinite(truth)
    if not usable.any():
        return Figures(total=got.size)
    a, r, t = got[usable], reference[usable], truth[usable]
    scale = float(np.abs(t).max())
    errors, noise = np.abs(a - t), np.abs(r - t)
    if opinions.allowed is not None:
        narrow = np.abs(opinions.allowed.reshape(got.shape)[usable] - t)
        noise = np.maximum(noise, np.where(np.isfinite(narrow), narrow, 0))
    tiny = float(np.finfo(np.float32).tiny) if opinions.got.dtype.itemsize <= 4 else 0.0
    allowed = LARGEST_RATIO * (float(noise.max()) + floor * max(scale, size)) + tiny
    allowed_rms = RMS_RATIO * (_rms(noise) + floor * max(_rms(t), size)) + tiny
    ratios = float(errors.max()) / allowed if allowed else float(errors.max() > 0) * np.inf
    rms_ratio = _rms(errors) / allowed_rms if allowed_rms else float(errors.max() > 0) * np.inf
    if a.size < FEWEST_FOR_RMS:
        rms_ratio = 0.0
    ratio = float(np.nan_to_num(max(ratios, rms_ratio), nan=0.0, posinf=np.inf))
    distances = np.zeros(got.shape)
    distances[usable] = errors
    limit = allowed if ratios > 1 else allowed_rms
    unit = scale or 1.0
    return _figures(
        ErrorKind.VALUES if ratio > 1 else ErrorKind.NONE,
        distances > limit,
        got,
        truth,
        ratio=ratio,
        largest=float(errors.max()) / unit,
        rms=_rms(errors) / unit,
        allowed=allowed / unit,
        cosine=_cosine(a, t),
        unit="of the largest",
    )


def _specials(got: Reals, reference: Reals, truth: Reals, propagates_nan: bool) -> Figures | None:
    """Return the figures of wrong NaN or infinities, if any."""
    made = np.isnan(got) & ~np.isnan(reference)
    lost = np.isnan(reference) & ~np.isnan(got) & propagates_nan
    if made.any() or lost.any():
        return _figures(ErrorKind.NAN, made | lost, got, truth, ratio=np.inf)
    settled = ~np.isnan(got) & ~np.isnan(reference)
    far = settled & (np.isinf(got) | np.isinf(reference)) & (got != reference)
    # A sum near the type's largest number may pass it in another order.
    near = settled & (np.abs(np.nan_to_num(truth)) > np.finfo(np.float32).max / 2)
    far &= ~near
    if far.any():
        return _figures(ErrorKind.INFINITY, far, got, truth, ratio=np.inf)
    return None


def _judge_steps(opinions: Opinions, info: TensorInfo, floor: float) -> Figures:
    got, reference = (_wide(each) for each in (opinions.got, opinions.reference))
    limits = np.iinfo(info.data_type.numpy_dtype)
    exact, clipped = reference, np.zeros(got.shape, bool)
    if opinions.truth is not None:
        scales, zero_points = quantization_arrays(info)
        exact = opinions.truth.reshape(got.shape) / scales.astype(np.float64) + zero_points
        exact = np.where(np.isnan(exact), reference, exact)
        clipped = (exact < limits.min) | (exact > limits.max)
        exact = np.clip(exact, limits.min, limits.max)
    errors, noise = np.abs(got - exact), np.abs(reference - exact)
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


def _figures(
    kind: ErrorKind, far: NDArray[np.bool_], got: NDArray[Any], expected: NDArray[Any], **rest: Any
) -> Figures:
    places = np.flatnonzero(far) if kind is not ErrorKind.NONE else np.empty(0, np.int64)
    if not places.size:
        return Figures(kind, total=int(got.size), **rest)
    first = tuple(int(each) for each in np.unravel_index(int(places[0]), got.shape))
    return Figures(
        kind,
        count=int(places.size),
        total=int(got.size),
        first=first,
        got=float(got[first]),
        expected=float(expected[first]),
        **rest,
    )


def _wide(stored: NDArray[Any]) -> Reals:
    return stored.astype(np.float64)


def _rms(values: Reals) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _cosine(a: Reals, b: Reals) -> float:
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / scale if scale else float(not a.any() and not b.any())
