# SPDX-License-Identifier: MIT
"""Conversion between real and stored values: rounding and saturation.

Nothing else knows these rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import array, instance, refused
from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo, format_shape

__all__ = [
    "dequantize",
    "quantization_arrays",
    "quantize",
    "round_half_away",
]


def quantize(values: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Store real values: ``round(value / scale) + zero_point``, saturated.

    Halves are rounded away from zero and the arithmetic is float32, as in Arm NN's
    ``armnn::Quantize``. NaN becomes the zero point.

    Args:
        values: Real values of the shape of ``info``, any float type.
        info: The quantized type, with its scales.

    Returns:
        An array of the storage type of ``info``.

    Raises:
        InvalidArgumentError: ``info`` is not quantized or has no scale, or the values are no
            numbers or not of its shape.
    """
    scales, zero_points = quantization_arrays(info)
    values = _fitting(values, np.dtype(np.float32), info, "the real values")
    limits = np.iinfo(info.data_type.numpy_dtype)
    # No type has more than 16 bits, so float32 holds all distances from the zero point exactly.
    low, high = (np.asarray(limit - zero_points, np.float32) for limit in (limits.min, limits.max))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.clip(round_half_away(np.asarray(values, np.float32) / scales), low, high)
    if np.isnan(np.min(steps, initial=0)):
        steps = np.where(np.isnan(steps), np.float32(0), steps)
    stored: NDArray[Any] = steps + zero_points.astype(np.float32)
    return stored.astype(info.data_type.numpy_dtype)


def dequantize(stored: NDArray[Any], info: TensorInfo) -> NDArray[np.float32]:
    """Return the real values ``scale * (stored - zero_point)`` as float32.

    Args:
        stored: Stored values of the shape of ``info``.
        info: The quantized type, with its scales.

    Raises:
        InvalidArgumentError: ``info`` is not quantized or has no scale, or the values are no
            numbers or not of its shape.
    """
    scales, zero_points = quantization_arrays(info)
    stored = _fitting(stored, info.data_type.numpy_dtype, info, "the stored values")
    whole = stored if stored.dtype.kind in "iu" else stored.astype(np.int32)
    values = np.empty(stored.shape, np.float32)
    np.subtract(whole, zero_points, out=values, dtype=np.int32)
    return np.multiply(values, scales, out=values)


def _fitting(values: object, dtype: np.dtype[Any], info: TensorInfo, what: str) -> NDArray[Any]:
    """Return values as an array that fits the scales' axis."""
    found = array(values, dtype, what)
    if found.dtype.kind not in "biufV":
        raise refused(what, found, "numbers")
    if info.axis is not None and not info.accepts(found.shape):
        raise InvalidArgumentError(
            f"{what} have shape {format_shape(found.shape)}, expected {format_shape(info.shape)}, "
            f"as the scales lie along axis {info.axis}"
        )
    return found


def round_half_away(values: NDArray[Any]) -> NDArray[Any]:
    """Round to the nearest integer, halves away from zero.

    C's ``round`` does the same. ``trunc(x + 0.5)`` would be wrong for the largest number below one
    half, so this number is added instead; its sum with one half is not a number of the type and is
    rounded up to one. A smaller number is added to itself, which stays below one: clip is faster
    than a comparison of signs.
    """
    below_half = np.nextafter(values.dtype.type(0.5), values.dtype.type(0))
    rounded: NDArray[Any] = np.trunc(values + np.clip(values, -below_half, below_half))
    return rounded


def quantization_arrays(info: TensorInfo) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return scales and zero points that broadcast against the tensor.

    Raises:
        InvalidArgumentError: ``info`` is not quantized or has no scale.
    """
    instance(info, TensorInfo, "the info of quantized values")
    if not info.is_quantized or not info.scales:
        raise InvalidArgumentError(f"{info} has no scale: give it one for its real values")
    scales = np.array(info.scales, np.float32)
    zero_points = np.array(info.zero_points, np.int32)
    if info.axis is None:
        return scales.reshape(()), zero_points.reshape(())
    if info.rank is None:
        raise InvalidArgumentError(f"{info} needs a known rank for its quantization axis")
    shape = [1] * info.rank
    shape[info.axis] = len(info.scales)
    return scales.reshape(shape), zero_points.reshape(shape)
