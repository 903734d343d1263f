# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.layers.dimensions import FillDescriptor, RankDescriptor, ShapeDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (1,) * 8])
def test_rank_and_shape_tell_the_shape(compute, shape):
    x = np.zeros(shape, np.float32)
    rank = compute(RankDescriptor(), x)
    assert (rank.shape, rank.tolist()) == ((), len(shape))
    assert compute(ShapeDescriptor(), x).tolist() == list(shape)


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (DataType.FLOAT32, 0.1, np.float32(0.1)),
        (DataType.FLOAT64, 0.1, 0.1),
        (DataType.FLOAT16, 0.1, np.float16(0.1)),
        (DataType.SIGNED32, -7.9, -7),
        (DataType.SIGNED64, 2**53 + 1, 2**53 + 1),
        (DataType.UNSIGNED8, 300.0, 255),
        (DataType.BOOLEAN, 0.5, True),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
def test_fill_writes_its_value_in_the_type_of_the_output(compute, data_type, value, expected):
    info = TensorInfo((2, 3), data_type)
    y = compute(FillDescriptor(value=value), np.int32([2, 3]), outputs=(info,))
    assert y.dtype == data_type.numpy_dtype
    assert y.tolist() == [[np.asarray(expected).tolist()] * 3] * 2


def test_fill_of_a_quantized_output_is_a_real_value(compute):
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10)
    y = compute(FillDescriptor(value=1.5), np.int32([2]), outputs=(info,))
    assert (y.dtype, y.tolist()) == (np.float32, [1.5, 1.5])


@pytest.mark.parametrize("shape", [(), (0, 2)])
def test_fill_makes_scalars_and_empty_tensors(compute, shape):
    y = compute(FillDescriptor(value=2.0), np.array(shape, np.int64), outputs=(TensorInfo(shape),))
    assert np.shape(y) == shape


def test_shape_and_rank_come_in_the_type_of_the_output(run_layer):
    x = (np.zeros((2, 3), np.uint8), TensorInfo((2, 3), DataType.QASYMM_U8, 0.5, 1))
    for data_type in (DataType.SIGNED32, DataType.SIGNED64):
        (shape,) = run_layer("Shape", [x], outputs=[data_type])
        assert (shape.dtype, shape.tolist()) == (data_type.numpy_dtype, [2, 3])
        (rank,) = run_layer("Rank", [x], outputs=[data_type])
        assert (rank.dtype, rank.tolist()) == (data_type.numpy_dtype, 2)


def test_fill_stores_its_value_in_steps(run_layer):
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10)
    (y,) = run_layer(
        "Fill", [], FillDescriptor(value=2.0), constants=[np.int32([2])], outputs=[info]
    )
    assert y.tolist() == [14, 14]


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ((3, 20, 4), np.int64),
        ((20, 3, -4), np.int32),
        ((5, 5, 1), np.int64),
        ((0.5, 3.0, 0.25), np.float32),
        ((2.0, -1.0, -0.7), np.float64),
    ],
)
def test_a_range_agrees_with_onnxruntime(run_layer, onnx_run, numbers, dtype):
    operands = [np.array(number, dtype) for number in numbers]
    (result,) = run_layer("Range", [], constants=operands)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, onnx_run("Range", *operands), rtol=1e-6)


def test_a_range_of_long_integers_is_exact(run_layer):
    operands = [np.array(number) for number in (2**53 + 1, 2**53 + 5, 2)]
    (result,) = run_layer("Range", [], constants=operands)
    assert result.tolist() == [2**53 + 1, 2**53 + 3]
