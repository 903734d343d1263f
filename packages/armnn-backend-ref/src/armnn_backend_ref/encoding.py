# SPDX-License-Identifier: MIT
"""Conversion between stored values and the real values computed with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armnn.quantization import quantization_arrays, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops import Array

Encoder: TypeAlias = "Callable[[Array, Array], None]"
"""Writes into the first array, of stored values, the real values of the second."""


class Decoder(NamedTuple):
    """From stored values to real values.

    Attributes:
        dtype: The type of the real values.
        decode_into: Writes into the first array the real values of the second, of stored ones.
    """

    dtype: np.dtype[Any]
    decode_into: Callable[[Array, Array], None]

    def __call__(self, stored: Array) -> Array:
        """Return the real values in a new array."""
        values: Array = np.empty(stored.shape, self.dtype)
        self.decode_into(values, stored)
        return values


HALVES = (DataType.FLOAT16, DataType.BFLOAT16)
"""Types that CpuRef computes in float32."""


def decoder(info: TensorInfo, *, wide: bool = False) -> Decoder | None:
    """Return a function that decodes a tensor, None if unneeded.

    None is for tensors that store their real values as they are.

    Args:
        info: The tensor's description.
        wide: Whether the real values of quantized types shall be float64, as a layer with Float64
            needs them: float32 rounds the product of a step and a scale.
    """
    if info.is_quantized:
        scales, zero_points = quantization_arrays(info)
        if not wide:
            return Decoder(np.dtype(np.float32), partial(_dequantize, scales, zero_points))
        exact, wide_zeros = np.array(info.scales), zero_points.astype(np.int64)
        exact = exact.reshape(zero_points.shape)
        return Decoder(np.dtype(np.float64), partial(_dequantize, exact, wide_zeros))
    if info.data_type in HALVES:
        return Decoder(np.dtype(np.float32), _widen)
    return None


def scaler(steps: Array, *, wide: bool = False) -> Decoder:
    """Return a function that decodes integers which count in ``steps``.

    There is one step, or one per element.
    """
    dtype = np.dtype(np.float64 if wide else np.float32)
    return Decoder(dtype, partial(_scale, steps.astype(dtype)))


def encoder(info: TensorInfo) -> Encoder:
    """Return a function that encodes real values.

    It rounds and saturates, or casts. It stores them as the tensor described by ``info`` does.
    """
    return partial(_quantize, info) if info.is_quantized else store


def _dequantize(scales: Array, zero_points: Array, values: Array, stored: Array) -> None:
    np.subtract(stored, zero_points, out=values, dtype=zero_points.dtype)
    np.multiply(values, scales, out=values)


def _widen(values: Array, stored: Array) -> None:
    np.copyto(values, stored)


def _scale(steps: Array, values: Array, stored: Array) -> None:
    np.multiply(stored, steps, out=values, dtype=steps.dtype)


def _quantize(info: TensorInfo, stored: Array, values: Array) -> None:
    np.copyto(stored, quantize(values, info))


def store(stored: Array, values: Array) -> None:
    """Copy ``values`` into ``stored``, with a cast within their kind.

    An integer tensor never takes floats by accident.
    """
    np.copyto(stored, values, casting="same_kind")
