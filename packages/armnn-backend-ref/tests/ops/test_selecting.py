# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest
from onnx.reference.ops.op_scatter_elements import scatter_elements

import armnn
from armnn.errors import ExecutionError
from armnn.layers.selecting import (
    CompressDescriptor,
    GatherElementsDescriptor,
    OneHotDescriptor,
    ScatterElementsDescriptor,
    TopKDescriptor,
    TriluDescriptor,
    UniqueDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType, ScatterNdFunction


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_extreme_elements_agree_with_onnxruntime(compute, onnx_run, axis, largest, k, dtype):
    x = np.random.default_rng(0).integers(-3, 4, (3, 4, 5)).astype(dtype)  # with equal elements
    expected = onnx_run("TopK", x, np.int64([k]), outputs=2, axis=axis, largest=int(largest))
    results = compute(TopKDescriptor(k=k, axis=axis, largest=largest), x)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
    assert results[0].dtype == dtype


def test_nan_counts_as_the_largest(compute):
    x = np.float32([1, math.nan, math.inf, -math.inf])
    assert compute(TopKDescriptor(k=2), x)[1].tolist() == [1, 2]
    assert compute(TopKDescriptor(k=3, largest=False), x)[1].tolist() == [3, 0, 2]


def test_the_most_negative_integer_is_the_smallest(compute):
    x = np.int64([0, -(2**63), 2**63 - 1])
    assert compute(TopKDescriptor(k=3), x)[1].tolist() == [2, 0, 1]


def test_quantized_extremes_keep_their_scale_and_indices_may_be_short(run_layer):
    x = (np.uint8([[3, 9, 9, 200]]), TensorInfo((1, 4), DataType.QASYMM_U8, 0.5, 10))
    values, indices = run_layer("TopK", [x], TopKDescriptor(k=2), outputs=[None, DataType.SIGNED32])
    assert values.tolist() == [[200, 9]]
    assert indices.dtype == np.int32
    assert indices.tolist() == [[3, 1]]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot_agrees_with_onnxruntime(compute, onnx_run, axis):
    indices = np.int64([[0, 3, -1], [-4, 4, -5]])
    values = np.float32([-1, 2.5])
    expected = onnx_run("OneHot", indices, np.array(4), values, axis=axis)
    result = compute(OneHotDescriptor(depth=4, axis=axis), indices, values)
    np.testing.assert_array_equal(result, expected)


def test_negative_indices_are_outside_for_tensorflow_lite(compute):
    d = OneHotDescriptor(depth=3, wrap_negative=False)
    result = compute(d, np.int32([-1, 1]), np.array([False, True]))
    assert result.tolist() == [[False] * 3, [False, True, False]]
    assert compute(d, np.int32(2), np.int8([0, 9])).tolist() == [0, 0, 9]


def test_one_hot_moves_quantized_values_as_they_are(run_layer):
    values = (np.int8([-7, 5]), TensorInfo((2,), DataType.QASYMM_S8, 0.5, -7))
    (result,) = run_layer("OneHot", [np.int64([1]), values], OneHotDescriptor(depth=2))
    assert result.tolist() == [[-7, 5]]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (2, 0, 3)])
def test_triangles_agree_with_onnxruntime(compute, onnx_run, upper, k, shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    expected = onnx_run("Trilu", x, np.array(k), upper=int(upper))
    np.testing.assert_array_equal(compute(TriluDescriptor(upper=upper, k=k), x), expected)


def test_a_quantized_triangle_is_filled_with_the_zero_point(run_layer):
    x = (np.uint8([[1, 2], [3, 4]]), TensorInfo((2, 2), DataType.QASYMM_U8, 0.5, 9))
    (result,) = run_layer("Trilu", [x])
    assert result.tolist() == [[1, 2], [9, 4]]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathered_elements_agree_with_onnxruntime(compute, onnx_run, axis):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    size = x.shape[axis]
    indices = rng.integers(-size, size, (3, 4, 5))
    expected = onnx_run("GatherElements", x, indices, axis=axis)
    np.testing.assert_array_equal(
        compute(GatherElementsDescriptor(axis=axis), x, indices), expected
    )


def test_indices_may_be_fewer_or_more_than_elements(compute):
    x = np.arange(6).reshape(2, 3)
    d = GatherElementsDescriptor(axis=1)
    assert compute(d, x, np.int64([[2, 0, 1, -3]])).tolist() == [[2, 0, 1, 0]]
    assert compute(d, x, np.int32([[2], [1]])).tolist() == [[2], [4]]
    assert compute(d, x, np.zeros((0, 3), np.int64)).shape == (0, 3)


REDUCTIONS = {
    ScatterNdFunction.UPDATE: "none",
    ScatterNdFunction.ADD: "add",
    ScatterNdFunction.MUL: "mul",
    ScatterNdFunction.MAX: "max",
    ScatterNdFunction.MIN: "min",
}


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.arm_name)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scattered_elements_agree_with_the_onnx_reference(compute, function, axis):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 5)).astype(np.float32)
    indices = rng.permuted(np.argsort(np.zeros((4, 5)), axis), axis=axis)[:3, :2]
    updates = rng.normal(size=(3, 2)).astype(np.float32)
    expected = scatter_elements(x, indices, updates, axis=axis, reduction=REDUCTIONS[function])
    before = x.copy()
    result = compute(ScatterElementsDescriptor(axis=axis, function=function), x, indices, updates)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (ScatterNdFunction.UPDATE, [[10, 7, 10]]),
        (ScatterNdFunction.ADD, [[10, 22, 10]]),
        (ScatterNdFunction.SUB, [[10, -2, 10]]),
        (ScatterNdFunction.MUL, [[10, 350, 10]]),
        (ScatterNdFunction.MAX, [[10, 10, 10]]),
        (ScatterNdFunction.MIN, [[10, 5, 10]]),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
def test_an_index_that_occurs_twice_combines_both_updates(compute, function, expected):
    x, indices, updates = np.int64([[10, 10, 10]]), np.int64([[1, -2]]), np.int64([[5, 7]])
    d = ScatterElementsDescriptor(axis=1, function=function)
    assert compute(d, x, indices, updates).tolist() == expected


@pytest.mark.parametrize("index", [-4, 3])
def test_an_index_outside_of_its_axis_is_refused(compute, index):
    x, indices = np.zeros((2, 3)), np.int64([[index]])
    message = rf"the index {index} is outside of axis 1: expected -3 to 2"
    with pytest.raises(ExecutionError, match=message):
        compute(GatherElementsDescriptor(axis=1), x, indices)
    with pytest.raises(ExecutionError, match=message):
        compute(ScatterElementsDescriptor(axis=1), x, indices, np.zeros((1, 1)))
    with pytest.raises(ExecutionError, match="axis 1: it has no elements"):
        compute(GatherElementsDescriptor(axis=1), x[:, :0], indices)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("condition", [[True, False, True], [False, True], [], [False]])
def test_compressed_slices_agree_with_onnxruntime(compute, onnx_run, axis, condition):
    x = np.arange(36, dtype=np.int64).reshape(3, 4, 3)
    kept = np.array(condition, np.bool_)
    expected = onnx_run("Compress", x, kept, axis=axis)
    np.testing.assert_array_equal(compute(CompressDescriptor(axis=axis), x, kept), expected)


def test_a_compressed_tensor_gets_the_shape_that_it_has():
    network = armnn.Network("compress")
    x = network.add_input("x", TensorInfo((2, 2), DataType.FLOAT16))
    condition = network.add_input("condition", TensorInfo((2,), DataType.BOOLEAN))
    network.add_output("y", network.add_compress(x, condition, axis=1))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        feeds = {"x": np.float16([[1, 2], [3, 4]]), "condition": np.array([False, True])}
        assert loaded.run(feeds)["y"].tolist() == [[2], [4]]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_unique_slices_agree_with_onnxruntime(compute, onnx_run, axis, ordered, dtype):
    x = np.random.default_rng(0).integers(0, 2, (9, 3)).astype(dtype)
    expected = onnx_run("Unique", x, outputs=4, axis=axis, sorted=int(ordered))
    results = compute(UniqueDescriptor(axis=axis, sorted=ordered), x)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
