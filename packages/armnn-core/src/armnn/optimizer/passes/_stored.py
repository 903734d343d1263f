# SPDX-License-Identifier: MIT
"""Stored values: steps of a scale around a zero point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.optimizer.passes._pattern import first_input
from armnn.optimizer.passes._permutation import axis_order
from armnn.tensor import TensorInfo
from armnn.types import DataType

_ROUNDING = 2.0**-22
"""By how much products of the same numbers may differ, relatively: each is rounded to float32."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """What a layer on stored values reads.

    Attributes:
        info: What the tensor is.
        value: The value of the network that it is; None if it is new.
        data: What a constant holds.
    """

    info: TensorInfo
    value: Value | None
    data: NDArray[Any] | None


def stored_value(value: Value) -> Stored | None:
    """Return a dequantised value's stored value, None without one.

    A permutation of a dequantised constant counts: the constant is permuted as it is stored.
    """
    if value.info.data_type is not DataType.FLOAT32:
        return None
    producer = value.producer
    order = axis_order(producer)
    if order is not None:
        producer = first_input(producer).producer
    if producer.type != "Dequantize":
        return None
    source = first_input(producer)
    if not source.info.scales:
        return None
    if order is None:
        return Stored(source.info, source, source.constant)
    return None if source.constant is None else _permuted(source.constant, source.info, order)


def _permuted(data: NDArray[Any], info: TensorInfo, order: tuple[int, ...]) -> Stored:
    data = np.ascontiguousarray(data.transpose(order))
    axis = None if info.axis is None else order.index(info.axis)
    moved = TensorInfo(data.shape, info.data_type, info.scales, info.zero_points, axis)
    return Stored(moved, None, data)


def stored_number(value: Value, data_type: DataType) -> Stored | None:
    """Return a constant number as one step of its scale.

    None if it is no such number.
    """
    data = value.constant
    if data is None or data.size != 1 or value.info.data_type is not DataType.FLOAT32:
        return None
    number = float(data.reshape(()))
    if not math.isfinite(number):
        return None
    steps, zero_point = (0, 1) if number < 0 else (1 if number else 0, 0)
    info = TensorInfo(value.info.shape, data_type, abs(number) or 1.0, zero_point)
    return Stored(info, None, np.full(data.shape, steps, data_type.numpy_dtype))


def stored_bias(bias: Value, data: TensorInfo, weights: TensorInfo) -> Stored | None:
    """Return a bias in steps of data times weights.

    None if it is not a whole number of them: its sum would no longer be the same.
    """
    real = bias.constant
    if real is None or bias.info.data_type is not DataType.FLOAT32:
        return None
    scales = data.scale * np.array(weights.scales, np.float64)
    if real.ndim != 1 or scales.size not in (1, real.size):
        return None
    with np.errstate(all="ignore"):  # what is not finite is refused below
        steps = np.rint(real / scales)
        whole = np.abs(steps * scales - real) <= _ROUNDING * np.abs(real)
    limits = np.iinfo(np.int32)
    if not np.all(whole & (steps >= limits.min) & (steps <= limits.max)):
        return None
    return Stored(TensorInfo(real.shape, DataType.SIGNED32), None, steps.astype(np.int32))
