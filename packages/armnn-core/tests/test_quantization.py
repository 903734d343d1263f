# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import InvalidArgumentError
from armnn.quantization import dequantize, quantize, round_half_away
from armnn.tensor import TensorInfo
from armnn.types import DataType

LIMITS = {
    DataType.QASYMM_U8: (0, 255),
    DataType.QASYMM_S8: (-128, 127),
    DataType.QSYMM_S8: (-128, 127),
    DataType.QSYMM_S16: (-32768, 32767),
}


def test_halves_are_rounded_away_from_zero() -> None:
    values = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    assert round_half_away(values).tolist() == [-3, -2, -1, 1, 2, 3]


def test_the_largest_number_below_one_half_is_rounded_down() -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert round_half_away(np.array([below, -below])).tolist() == [0, 0]


@given(st.floats(-1e6, 1e6, width=32))
def test_rounding_is_that_of_the_c_library(value: float) -> None:
    expected = math.copysign(math.floor(abs(value) + 0.5), value)
    if abs(value) + 0.5 != math.floor(abs(value) + 0.5) or abs(value) % 1 == 0.5:
        assert round_half_away(np.array([value]))[0] == expected


@pytest.mark.parametrize("data_type", LIMITS)
def test_values_outside_of_the_range_saturate(data_type: DataType) -> None:
    low, high = LIMITS[data_type]
    info = TensorInfo((4,), data_type, 0.5)
    values = np.array([-np.inf, -1e30, 1e30, np.inf])
    assert quantize(values, info).tolist() == [low, low, high, high]


def test_nan_becomes_the_zero_point() -> None:
    info = TensorInfo((1,), DataType.QASYMM_U8, 0.1, 7)
    assert quantize(np.array([np.nan]), info).tolist() == [7]


def test_a_worked_example() -> None:
    # 1.25 / 0.5 is 2.5, which goes up to 3; -1.25 goes down to -3; the zero point is added after.
    info = TensorInfo((4,), DataType.QASYMM_U8, 0.5, 10)
    assert quantize(np.array([0.0, 1.25, -1.25, -9.0]), info).tolist() == [10, 13, 7, 0]


def test_per_axis_scales_apply_along_their_axis() -> None:
    info = TensorInfo((2, 2), DataType.QSYMM_S8, [1.0, 0.5], axis=1)
    stored = quantize(np.array([[1.0, 1.0], [3.0, -3.0]]), info)
    assert stored.tolist() == [[1, 2], [3, -6]]
    assert dequantize(stored, info).tolist() == [[1.0, 1.0], [3.0, -3.0]]


@pytest.mark.parametrize("data_type", LIMITS)
@given(data=st.data())
def test_quantizing_undoes_dequantizing(data_type: DataType, data: st.DataObject) -> None:
    low, high = LIMITS[data_type]
    scale = data.draw(st.floats(2**-10, 8, width=32))
    symmetric = data_type in (DataType.QSYMM_S8, DataType.QSYMM_S16)
    zero = 0 if symmetric else data.draw(st.integers(low, high))
    info = TensorInfo((high - low + 1,), data_type, scale, zero)
    stored = np.arange(low, high + 1).astype(data_type.numpy_dtype)
    assert (quantize(dequantize(stored, info), info) == stored).all()


def test_a_type_without_a_scale_has_no_real_values() -> None:
    with pytest.raises(InvalidArgumentError, match="has no scale: give it one"):
        quantize(np.zeros(1), TensorInfo((1,), DataType.QASYMM_U8))
    with pytest.raises(InvalidArgumentError, match="has no scale"):
        dequantize(np.zeros(1, np.float32), TensorInfo((1,)))


def test_per_axis_scales_need_a_rank() -> None:
    with pytest.raises(InvalidArgumentError, match="needs a known rank"):
        quantize(np.zeros(2), TensorInfo(None, DataType.QSYMM_S8, [1, 2], axis=0))


def test_a_zero_point_outside_of_the_range_shifts_the_real_values() -> None:
    info = TensorInfo((3,), DataType.QASYMM_U8, 0.5, -50)
    stored = np.array([0, 1, 255], np.uint8)
    assert dequantize(stored, info).tolist() == [25.0, 25.5, 152.5]
    assert quantize(np.array([0.0, 25.5, 999.0]), info).tolist() == [0, 1, 255]
