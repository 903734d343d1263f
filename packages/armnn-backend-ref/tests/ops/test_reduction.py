# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

from armnn.layers.reduction import (
    ArgMinMaxDescriptor,
    CumProdDescriptor,
    CumSumDescriptor,
    MeanDescriptor,
    ReduceDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import ArgMinMaxFunction, DataType, ReduceOperation

NAN, INF = math.nan, math.inf

ONNX_NAMES = {
    ReduceOperation.SUM: "ReduceSum",
    ReduceOperation.MAX: "ReduceMax",
    ReduceOperation.MEAN: "ReduceMean",
    ReduceOperation.MIN: "ReduceMin",
    ReduceOperation.PROD: "ReduceProd",
}


def reduce(operation, axis=(), keep_dims=False):
    return ReduceDescriptor(reduce_operation=operation, axis=axis, keep_dims=keep_dims)


@pytest.mark.parametrize("operation", ReduceOperation, ids=lambda operation: operation.arm_name)
@pytest.mark.parametrize("axes", [(), (0,), (1, 2), (-1,), (-3, 1), (0, 1, 2)])
@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_agrees_with_onnxruntime(compute, onnx_run, operation, axes, keep_dims, dtype):
    x = np.random.default_rng(4).integers(-4, 5, (3, 4, 5)).astype(dtype)
    y = compute(reduce(operation, axes, keep_dims), x)
    assert y.dtype == dtype
    expected = onnx_run(
        ONNX_NAMES[operation], x, np.array(axes, np.int64), opset=18, keepdims=int(keep_dims)
    )
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert y.shape == expected.shape


def test_sums_of_integers_are_exact_and_wrap_around(compute):
    long = np.int64([2**53 + 1, 2**53, -(2**53)])
    assert compute(reduce(ReduceOperation.SUM), long).tolist() == 2**53 + 1
    short = compute(reduce(ReduceOperation.SUM), np.int8([100, 100]))
    assert short.dtype == np.int8
    assert short.tolist() == -56


def test_the_mean_of_integers_fits_even_if_their_sum_does_not(compute):
    y = compute(MeanDescriptor(), np.int8([100, 101, 127]))
    assert y.dtype == np.int8
    assert y.tolist() == 109


def test_the_mean_of_integers_is_truncated_toward_zero(compute):
    assert compute(MeanDescriptor(axis=(1,)), np.int32([[1, 2], [-1, -2]])).tolist() == [1, -1]


@pytest.mark.parametrize("operation", ReduceOperation, ids=lambda operation: operation.arm_name)
def test_nan_is_propagated(compute, operation):
    y = compute(reduce(operation, (1,)), np.float32([[1, NAN, 2], [1, 2, 3]]))
    assert np.isnan(y).tolist() == [True, False]


@pytest.mark.parametrize(
    ("operation", "floats", "integers"),
    [
        (ReduceOperation.SUM, 0.0, 0),
        (ReduceOperation.PROD, 1.0, 1),
        (ReduceOperation.MEAN, NAN, 0),
        (ReduceOperation.MAX, -INF, -(2**31)),
        (ReduceOperation.MIN, INF, 2**31 - 1),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
def test_nothing_has_its_neutral_value(compute, operation, floats, integers):
    descriptor = reduce(operation, (1,))
    np.testing.assert_array_equal(compute(descriptor, np.zeros((2, 0), np.float32)), [floats] * 2)
    assert compute(descriptor, np.zeros((2, 0), np.int32)).tolist() == [integers] * 2
    assert compute(descriptor, np.zeros((0, 3), np.float32)).shape == (0,)


def test_extremes_of_infinities_and_of_the_limits_are_found(compute):
    x = np.float32([[-INF, -INF], [INF, 1]])
    assert compute(reduce(ReduceOperation.MAX, (1,)), x).tolist() == [-INF, INF]
    assert compute(reduce(ReduceOperation.MIN, (1,)), x).tolist() == [-INF, 1]
    limits = np.int64([-(2**63), 2**63 - 1])
    assert compute(reduce(ReduceOperation.MAX), limits).tolist() == 2**63 - 1
    assert compute(reduce(ReduceOperation.MIN), limits).tolist() == -(2**63)


def test_extremes_of_booleans_are_any_and_all(compute):
    x = np.array([[True, False], [False, False], [True, True]])
    assert compute(reduce(ReduceOperation.MAX, (1,)), x).tolist() == [True, False, True]
    assert compute(reduce(ReduceOperation.MIN, (1,)), x).tolist() == [False, False, True]


def test_a_scalar_is_its_own_sum_and_mean(compute):
    x = np.array(2.5, np.float32)
    for descriptor in (reduce(ReduceOperation.SUM), MeanDescriptor()):
        y = compute(descriptor, x)
        assert (y.shape, y.tolist()) == ((), 2.5)


def test_strided_inputs_are_reduced(compute):
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[::-2, ::3]
    assert compute(MeanDescriptor(axis=(0,), keep_dims=True), x).tolist() == [[12, 15]]


def test_the_mean_of_many_elements_keeps_its_precision(compute):
    x = np.full((1, 1, 512, 512), 0.1, np.float32)
    y = compute(MeanDescriptor(axis=(2, 3)), x)
    np.testing.assert_allclose(y, np.float32(0.1), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize("function", ArgMinMaxFunction, ids=lambda function: function.arm_name)
def test_the_first_of_equal_extremes_is_found(compute, onnx_run, function, axis):
    x = np.random.default_rng(5).integers(0, 4, (3, 7, 6)).astype(np.float32)
    y = compute(ArgMinMaxDescriptor(function=function, axis=axis), x)
    expected = onnx_run(f"Arg{function.arm_name}", x, axis=axis, keepdims=0)
    np.testing.assert_array_equal(y, expected)


def test_the_extreme_of_long_integers_is_exact(compute):
    x = np.int64([2**53, 2**53 + 1, 2**53])
    descriptor = ArgMinMaxDescriptor(function=ArgMinMaxFunction.MAX, axis=0)
    assert compute(descriptor, x).tolist() == 1


@pytest.mark.parametrize("function", ArgMinMaxFunction, ids=lambda function: function.arm_name)
def test_nan_counts_as_extreme(compute, function):
    x = np.float32([[1, NAN, NAN, -5, 9]])
    assert compute(ArgMinMaxDescriptor(function=function, axis=1), x).tolist() == [1]


def test_the_mean_of_quantized_values_is_stored_in_the_scale_of_the_result(run_layer):
    x = (np.int8([[-128, 127], [1, 2]]), TensorInfo((2, 2), DataType.QASYMM_S8, 0.5, 1))
    result = TensorInfo((2,), DataType.QASYMM_S8, 0.25, 0)
    (y,) = run_layer("Mean", [x], MeanDescriptor(axis=(1,)), outputs=[result])
    assert y.tolist() == [-3, 1]  # -0.75 and 0.25


def test_the_sum_of_quantized_values_saturates(run_layer):
    info = TensorInfo((3,), DataType.QASYMM_U8, 1.0, 128)
    (y,) = run_layer("Reduce", [(np.uint8([255, 255, 129]), info)], reduce(ReduceOperation.SUM))
    assert y.tolist() == 255


@pytest.mark.parametrize("data_type", [DataType.SIGNED32, DataType.SIGNED64])
def test_indices_come_in_the_type_of_the_output(run_layer, data_type):
    x = (np.uint8([[3, 9], [7, 1]]), TensorInfo((2, 2), DataType.QASYMM_U8, 0.1, 5))
    descriptor = ArgMinMaxDescriptor(function=ArgMinMaxFunction.MAX, axis=0)
    (y,) = run_layer("ArgMinMax", [x], descriptor, outputs=[data_type])
    assert y.dtype == data_type.numpy_dtype
    assert y.tolist() == [1, 0]


def test_the_sum_of_halves_does_not_overflow_on_its_way(run_layer):
    x = np.float16([60000, 60000, -60000])
    assert run_layer("Reduce", [x], reduce(ReduceOperation.SUM))[0].tolist() == 60000


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_running_sums_agree_with_onnxruntime(compute, onnx_run, axis, exclusive, reverse, dtype):
    x = np.random.default_rng(5).integers(-9, 9, (3, 4, 5)).astype(dtype)
    d = CumSumDescriptor(axis=axis, exclusive=exclusive, reverse=reverse)
    expected = onnx_run("CumSum", x, np.array(axis), exclusive=int(exclusive), reverse=int(reverse))
    result = compute(d, x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


def test_running_sums_wrap_around_and_do_not_subtract(compute):
    assert compute(CumSumDescriptor(), np.int8([100, 100, 1])).tolist() == [100, -56, -55]
    sums = compute(CumSumDescriptor(exclusive=True), np.float32([1, np.inf, 2]))
    assert sums.tolist() == [0, 1, np.inf]
    assert compute(CumSumDescriptor(exclusive=True), np.zeros((0, 2))).shape == (0, 2)


def test_running_products_wrap_around(compute):
    assert compute(CumProdDescriptor(), np.int8([100, 2, 3])).tolist() == [100, -56, 88]
    products = compute(CumProdDescriptor(exclusive=True, reverse=True), np.float32([5, 0.5, 4]))
    assert products.tolist() == [2, 4, 1]
    assert compute(CumProdDescriptor(exclusive=True), np.zeros((0, 2))).shape == (0, 2)
