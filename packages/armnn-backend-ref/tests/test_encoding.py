# SPDX-License-Identifier: MIT
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.encoding import decoder, encoder, scaler


@pytest.mark.parametrize(
    "data_type",
    [DataType.FLOAT32, DataType.FLOAT64, DataType.SIGNED64, DataType.UNSIGNED8, DataType.BOOLEAN],
)
def test_what_is_its_own_value_needs_no_decoder(data_type: DataType) -> None:
    assert decoder(TensorInfo((2,), data_type)) is None


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_decoded_to_float32(dtype: type) -> None:
    stored = np.array([1.5, -np.inf, np.nan], dtype)
    decode = decoder(TensorInfo((3,), DataType.from_numpy(dtype)))
    assert decode is not None
    values = decode(stored)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, [1.5, -np.inf, np.nan])


def test_steps_are_decoded_to_float32() -> None:
    decode = decoder(TensorInfo((3,), DataType.QASYMM_U8, 0.25, 4))
    assert decode is not None
    values = decode(np.array([0, 4, 255], np.uint8))
    assert values.dtype == np.float32
    assert values.tolist() == [-1, 0, 62.75]


def test_steps_of_each_axis_are_decoded_by_its_scale() -> None:
    decode = decoder(TensorInfo((2, 2), DataType.QSYMM_S8, (1.0, 0.5), axis=0))
    assert decode is not None
    assert decode(np.array([[1, 2], [3, 4]], np.int8)).tolist() == [[1, 2], [1.5, 2]]


def test_beside_float64_the_product_of_step_and_scale_is_not_rounded() -> None:
    scales = (0.1, 3.0)
    decode = decoder(TensorInfo((2, 1), DataType.QSYMM_S16, scales, axis=0), wide=True)
    assert decode is not None
    values = decode(np.array([[32767], [-32768]], np.int16))
    assert values.dtype == np.float64
    assert values.tolist() == [[32767 * 0.1], [-32768 * 3.0]]


def test_beside_float64_integers_count_in_float64_steps() -> None:
    values = scaler(np.array([0.1]), wide=True)(np.array([2**30 + 1], np.int32))
    assert values.tolist() == [(2**30 + 1) * 0.1]


def test_integers_count_in_steps_of_their_own() -> None:
    values = scaler(np.array([0.5, 2], np.float32))(np.array([8, -3], np.int32))
    assert values.dtype == np.float32
    assert values.tolist() == [4, -6]


def test_quantized_values_are_rounded_and_saturated() -> None:
    stored = np.empty(5, np.int8)
    encoder(TensorInfo((5,), DataType.QASYMM_S8, 1.0, 1))(
        stored, np.array([0.5, -0.5, 1e9, -np.inf, np.nan], np.float32)
    )
    assert stored.tolist() == [2, 0, 127, -128, 1]


def test_floats_are_cast_to_halves() -> None:
    info = TensorInfo((3,), DataType.FLOAT16)
    stored = np.empty(3, np.float16)
    with np.errstate(over="ignore"):
        encoder(info)(stored, np.array([1.0, 2049.0, 1e6], np.float32))
    assert stored.tolist() == [1, 2048, np.inf]


def test_integers_stay_exact() -> None:
    stored = np.empty(1, np.int64)
    encoder(TensorInfo((1,), DataType.SIGNED64))(stored, np.array([2**63 - 1]))
    assert stored.item() == 2**63 - 1


def test_an_integer_tensor_takes_no_floats() -> None:
    with pytest.raises(TypeError, match="Cannot cast"):
        encoder(TensorInfo((1,), DataType.SIGNED32))(np.empty(1, np.int32), np.array([1.5]))
