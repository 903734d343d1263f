# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.operands import (
    ANY,
    FLOATS,
    QUANTIZED,
    bias_tensor,
    fitted,
    store,
    stored_tensor,
    tensor,
    values,
)


@pytest.mark.parametrize("data_type", ANY)
def test_values_are_what_they_say_and_always_the_same(data_type: DataType) -> None:
    first, again = values(data_type, (3, 4), seed=5), values(data_type, (3, 4), seed=5)
    assert first.info.data_type is data_type
    assert first.stored.dtype == data_type.numpy_dtype
    assert first.stored.tobytes() == again.stored.tobytes()
    assert len(np.unique(first.real)) > 1


def test_unsigned_values_are_not_negative() -> None:
    x = values(DataType.UNSIGNED8, (100,), -3, 3)
    assert set(x.real.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("data_type", "scale", "zero_point"),
    [
        (DataType.QASYMM_U8, 4 / 255, 64),
        (DataType.QASYMM_S8, 4 / 255, -64),
        (DataType.QSYMM_S8, 3 / 127, 0),
        (DataType.QSYMM_S16, 3 / 32767, 0),
    ],
)
def test_quantization_spans_the_values_and_zero(
    data_type: DataType, scale: float, zero_point: int
) -> None:
    info = fitted(data_type, [-1.0, 3.0])
    assert info.scale == np.float32(scale)
    assert info.zero_point == zero_point


@pytest.mark.parametrize("data_type", QUANTIZED)
def test_values_on_one_side_of_zero_do_not_saturate(data_type: DataType) -> None:
    for reals in ([2.0, 5.0], [-5.0, -2.0]):
        x = tensor(data_type, reals)
        np.testing.assert_allclose(x.real, reals, atol=x.info.scale / 2 * 1.001)


@pytest.mark.parametrize("data_type", QUANTIZED)
def test_zeros_only_and_nothing_at_all_can_be_stored(data_type: DataType) -> None:
    assert tensor(data_type, np.zeros((2, 2))).real.tolist() == [[0, 0], [0, 0]]
    assert tensor(data_type, np.zeros((0, 2))).stored.shape == (0, 2)


def test_a_scale_per_index_fits_each_index() -> None:
    x = tensor(DataType.QSYMM_S8, [[1.27, 0], [0, 12.7]], axis=-1)
    assert x.info.axis == 1
    np.testing.assert_allclose(x.info.scales, [0.01, 0.1], rtol=1e-6)
    assert x.stored.tolist() == [[127, 0], [0, 127]]


def test_halves_are_rounded_away_from_zero_and_what_is_too_large_saturates() -> None:
    info = TensorInfo((6,), DataType.QASYMM_S8, 2.0, 1)
    reals = np.array([1.0, -1.0, 3.0, 1e9, -1e9, np.nan])
    assert store(reals, info).tolist() == [2, 0, 3, 127, -128, 1]


@pytest.mark.parametrize("data_type", FLOATS)
def test_the_real_value_of_a_float_is_what_is_stored(data_type: DataType) -> None:
    x = tensor(data_type, [0.1, -3.3])
    np.testing.assert_array_equal(x.real, x.stored.astype(np.float64))


def test_stored_values_are_taken_as_they_are() -> None:
    x = stored_tensor(DataType.QASYMM_U8, [0, 128, 255], scale=0.5, zero_point=128)
    assert x.real.tolist() == [-64, 0, 63.5]


def test_a_quantized_bias_counts_in_steps_of_data_times_weights() -> None:
    data = stored_tensor(DataType.QASYMM_U8, [1], scale=0.5, zero_point=3)
    weights = stored_tensor(DataType.QSYMM_S8, [[1], [1]], scale=[0.5, 0.25], axis=0)
    bias = bias_tensor([1.0, -1.0], data, weights)
    assert bias.info == TensorInfo((2,), DataType.SIGNED32)
    assert bias.stored.tolist() == [4, -8]
    assert bias.real.tolist() == [1.0, -1.0]


def test_a_float_bias_has_the_type_of_the_data() -> None:
    data = values(DataType.FLOAT16, (1, 2))
    assert bias_tensor([1.0], data, data).info.data_type is DataType.FLOAT16
