# SPDX-License-Identifier: MIT
"""Conversion between stored values and the real values computed with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armnn.quantization import dequantize, quantization_arrays, quantize
from armnn.types import DataType
from armnn_backend_ref.ops import Array

if TYPE_CHECKING:
    from armnn.tensor import TensorInfo

Decoder: TypeAlias = Callable[[Array], Array]
"""From stored values to real values."""

Encoder: TypeAlias = Callable[[Array, Array], None]
"""Writes into the first array, of stored values, the real values of the second."""

HALVES = (DataType.FLOAT16, DataType.BFLOAT16)
"""Types that CpuRef computes in float32."""


def decoder(info: TensorInfo, *, wide: bool = False) -> Decoder | None:
    """Return a function that decodes a tensor, None if unneeded.

    None is for tensors that store their real values as they are.

    Args:
        info: What the tensor is.
        wide: Whether the real values of quantised types shall be float64, as a layer with Float64
            needs them: float32 rounds the product of a step and a scale.
    """
    if info.is_quantized:
        return partial(_dequantize_wide if wide else _dequantize, info)
    if info.data_type in HALVES:
        return _widen
    return None


def scaler(steps: Array, *, wide: bool = False) -> Decoder:
    """Return a function that decodes integers which count in ``steps``.

    There is one step, or one per element.
    """
    return partial(_scale, steps.astype(np.float64 if wide else np.float32))


def encoder(info: TensorInfo) -> Encoder:
    """Return a function that encodes real values.

    It rounds and saturates, or casts. It stores them as the tensor described by ``info`` does.
    """
    return partial(_quantize, info) if info.is_quantized else store


def _dequantize(info: TensorInfo, stored: Array) -> Array:
    return dequantize(stored, info)


def _dequantize_wide(info: TensorInfo, stored: Array) -> Array:
    _, zero_points = quantization_arrays(info)
    scales = np.array(info.scales).reshape(zero_points.shape)
    values: Array = (stored - zero_points.astype(np.int64)) * scales
    return values


def _widen(stored: Array) -> Array:
    return stored.astype(np.float32)


def _scale(steps: Array, stored: Array) -> Array:
    return stored.astype(steps.dtype) * steps


def _quantize(info: TensorInfo, stored: Array, values: Array) -> None:
    np.copyto(stored, quantize(values, info))


def store(stored: Array, values: Array) -> None:
    """Copy ``values`` into ``stored``, with a cast within their kind.

    An integer tensor never takes floats by accident.
    """
    np.copyto(stored, values, casting="same_kind")
