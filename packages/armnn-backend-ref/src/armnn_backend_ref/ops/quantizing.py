# SPDX-License-Identifier: MIT
"""Conversion between data types: Cast, Quantize, Dequantize and others.

The framework decodes quantized and half precision inputs and encodes such outputs, so that most of
these layers have nothing left to do.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from armnn.layers import Descriptor
from armnn.layers.quantizing import (
    CastDescriptor,
    DequantizeBlocksDescriptor,
    FakeQuantizationDescriptor,
)
from armnn.quantization import round_half_away
from armnn.tensor import TensorInfo
from armnn_backend_ref.ops._registry import Array, op


@op("Cast", typed=True)
def cast(d: CastDescriptor, outputs: tuple[TensorInfo, ...], x: Array) -> Array:
    """Return the real values in the output's data type.

    See :func:`to_type`.
    """
    (info,) = outputs
    if d.saturate and info.data_type.is_float and info.data_type.bits == 8:
        limits = ml_dtypes.finfo(info.data_type.numpy_dtype)  # type: ignore[no-untyped-call]  # has no annotations
        x = np.clip(_computable(x), float(limits.min), float(limits.max))
    return _computable(x) if info.is_quantized else to_type(x, info.data_type.numpy_dtype)


@op("BitCast", typed=True, stored=True)
def bit_cast(_d: Descriptor, outputs: tuple[TensorInfo, ...], x: Array) -> Array:
    """Return the bits of the input as another type's numbers."""
    bits: Array = x.view(outputs[0].data_type.numpy_dtype)
    return bits


@op("Quantize")
def quantize(_d: Descriptor, x: Array) -> Array:
    """Return the real values; the framework quantizes them."""
    return x


@op("Dequantize")
def dequantize(_d: Descriptor, x: Array) -> Array:
    """Return the real values; the framework has dequantized them."""
    return x


@op("DequantizeBlocks")
def dequantize_blocks(
    d: DequantizeBlocksDescriptor, x: Array, scales: Array, zero_points: Array | None
) -> Array:
    """Return scale * (number - zero point), with a scale for each block."""
    return dequantized_blocks(x, scales, zero_points, d.bits, d.block_size, d.size)


def dequantized_blocks(
    x: Array, scales: Array, zero_points: Array | None, bits: int, block_size: int, size: int
) -> Array:
    """Return the first numbers of rows of bytes, [...,size], as the layers define them."""
    block = np.arange(size) // block_size
    zero: Array | int = 1 << (bits - 1)
    if zero_points is not None:
        packed = zero_points.dtype == np.uint8
        zero = (_unpacked(zero_points, bits) if packed else zero_points)[..., block]
    numbers = _unpacked(x, bits)[..., :size].astype(scales.dtype)
    result: Array = (numbers - zero) * scales[..., block]
    return result


def _unpacked(x: Array, bits: int) -> Array:
    """Return the numbers of few bits in bytes, the lowest bits of each first."""
    if bits == 8:
        return x
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    numbers: Array = x[..., np.newaxis] >> shifts & np.uint8((1 << bits) - 1)
    return numbers.reshape(*x.shape[:-1], x.shape[-1] * (8 // bits))


@op("ConvertFp16ToFp32")
def convert_fp16_to_fp32(_d: Descriptor, x: Array) -> Array:
    """Return the values, which the framework has widened."""
    return x


@op("ConvertFp32ToFp16")
def convert_fp32_to_fp16(_d: Descriptor, x: Array) -> Array:
    """Return the values; the framework rounds them to Float16."""
    return x


@op("FakeQuantization")
def fake_quantization(d: FakeQuantizationDescriptor, x: Array) -> Array:
    """Return each value's step, 0 to 255, in the range.

    The range is ``d.min`` to ``d.max``.

    As in Arm NN, the result is the number of the step, not its real value. NaN becomes the step of
    zero.
    """
    scale = np.float32((d.max - d.min) / 255)
    offset = np.float32(int(-d.min * 255 / (d.max - d.min)))
    steps = round_half_away(x / scale) + offset
    if np.isnan(steps.min(initial=0)):
        steps = np.where(np.isnan(steps), offset, steps)
    return np.clip(steps, 0, 255)


@op("DynamicQuantize")
def dynamic_quantize(_d: Descriptor, x: Array) -> tuple[Array, Array, Array]:
    """Return the steps, their scale and the zero point."""
    return dynamic_steps(x)


def dynamic_steps(x: Array) -> tuple[Array, Array, Array]:
    """Return the steps of DynamicQuantize, their scale and the zero point.

    The steps span the finite values: infinity is the first or the last one, NaN that of zero.
    """
    finite = np.where(np.isfinite(x), x, 0)
    lowest, highest = np.float64(finite.min(initial=0)), np.float64(finite.max(initial=0))
    scale = np.float32(highest - lowest) / np.float32(255)
    if np.isinf(scale):
        scale = np.float32((highest - lowest) / 255)
    scale = scale if scale > 0 else np.float32(1)
    zero = np.clip(np.rint(np.float32(-lowest) / scale), 0, 255)
    steps = np.clip(np.rint(np.where(np.isnan(x), 0, x) / scale) + zero, 0, 255)
    return steps.astype(np.uint8), np.asarray(scale), np.asarray(zero, np.uint8)


def to_type(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return ``x`` converted to another type.

    From floating point to integers, fractions are cut off, what does not fit saturates, and NaN
    becomes 0 (ONNX and C leave the last two undefined). Between integers, the lower bits are kept.
    Anything but zero is true. To floating point, the nearest value is taken; what is too large
    becomes infinity, or NaN in the types without one.
    """
    x = _computable(x)
    if dtype == np.bool_:
        truth: Array = x != 0
        return truth
    if x.dtype.kind == "f" and _is_integer(dtype):
        return _truncated(x, dtype)
    return x.astype(dtype, copy=False)


def _truncated(x: Array, dtype: np.dtype[Any]) -> Array:
    limits = _limits(dtype)
    low, high = x.dtype.type(limits.min), x.dtype.type(limits.max)
    if int(high) > limits.max:  # the limit is not a number of this type: take the one below
        high = np.nextafter(high, x.dtype.type(0))
    smallest, largest = x.min(initial=0), x.max(initial=0)
    if smallest >= low and largest <= high:
        return x.astype(dtype)
    if np.isnan(smallest):
        x = np.where(np.isnan(x), 0, x)
    inside = np.clip(x, low, high).astype(dtype)
    if int(high) == limits.max:
        return inside
    return np.where(x > high, np.array(limits.max, dtype), inside)


def _limits(dtype: np.dtype[Any]) -> Any:
    """Return the smallest and the largest number of a type."""
    if dtype.num < _FIRST_FOREIGN_TYPE:
        return np.iinfo(dtype)
    return ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]  # has no annotations


_FIRST_FOREIGN_TYPE = 256  # NPY_USERDEF: types that NumPy did not bring are numbered from here


def _computable(x: Array) -> Array:
    """Return the values in a type that NumPy computes with.

    Some types are only stored.
    """
    if x.dtype.num < _FIRST_FOREIGN_TYPE:
        return x
    return x.astype(np.int8 if _is_integer(x.dtype) else np.float32)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.name.startswith(("int", "uint"))
