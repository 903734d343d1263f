# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers.normalization import (
    BatchNormalizationDescriptor,
    GroupNormalizationDescriptor,
    InstanceNormalizationDescriptor,
    L2NormalizationDescriptor,
    LayerNormalizationDescriptor,
    LogSoftmaxDescriptor,
    NormalizationDescriptor,
    RmsNormalizationDescriptor,
    SoftmaxDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType, NormalizationAlgorithmChannel

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]
LAYOUTS = [DataLayout.NCHW, DataLayout.NHWC]


def laid_out(array: Array, layout: DataLayout) -> Array:
    last = layout is DataLayout.NHWC
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if last else array


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (0, 3, 1, 1)])
def test_batch_normalization_is_the_definition(
    run_layer: RunLayer, shape: tuple[int, ...], layout: DataLayout
) -> None:
    x, mean, beta, gamma = random(0, *shape), random(1, 3), random(2, 3), random(3, 3)
    variance = np.square(random(4, 3))
    channel = (3, *(1,) * (len(shape) - 2))
    exact = (x.astype(np.float64) - mean.reshape(channel)) * gamma.reshape(channel)
    exact = exact / np.sqrt(variance.reshape(channel) + 0.01) + beta.reshape(channel)
    d = BatchNormalizationDescriptor(eps=0.01, data_layout=layout)
    constants = [mean, variance, beta, gamma]
    (y,) = run_layer("BatchNormalization", [laid_out(x, layout)], d, constants=constants)
    np.testing.assert_allclose(y, laid_out(exact, layout), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_instance_normalization_uses_each_plane(run_layer: RunLayer, layout: DataLayout) -> None:
    x = random(0, 2, 3, 4, 5) + 7
    exact = x.astype(np.float64)
    centered = exact - exact.mean((2, 3), keepdims=True)
    expected = 1.5 * centered / np.sqrt(exact.var((2, 3), keepdims=True) + 0.01) - 2
    d = InstanceNormalizationDescriptor(gamma=1.5, beta=-2, eps=0.01, data_layout=layout)
    (y,) = run_layer("InstanceNormalization", [laid_out(x, layout)], d)
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_l2_normalization_gives_vectors_of_length_one(
    run_layer: RunLayer, layout: DataLayout
) -> None:
    x = random(0, 2, 3, 4, 5)
    length = np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True))
    d = L2NormalizationDescriptor(data_layout=layout)
    (y,) = run_layer("L2Normalization", [laid_out(x, layout)], d)
    np.testing.assert_allclose(y, laid_out(x / length, layout), rtol=1e-5)


def test_eps_is_the_least_sum_of_squares(run_layer: RunLayer) -> None:
    x = np.array([0.3, 0.4], np.float32).reshape(1, 2, 1, 1)
    (y,) = run_layer("L2Normalization", [x], L2NormalizationDescriptor(eps=4.0))
    np.testing.assert_allclose(y.ravel(), [0.15, 0.2], rtol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("channel_type", NormalizationAlgorithmChannel)
@pytest.mark.parametrize(("size", "radius"), [(1, 0), (3, 1), (4, 2), (9, 4)])
def test_normalization_divides_by_its_neighbors(
    run_layer: RunLayer,
    size: int,
    radius: int,
    channel_type: NormalizationAlgorithmChannel,
    layout: DataLayout,
) -> None:
    x = random(0, 2, 5, 4, 6)
    squares = x.astype(np.float64) ** 2
    sums = np.zeros_like(squares)
    for n, c, h, w in np.ndindex(*x.shape):
        near = [slice(max(i - radius, 0), i + radius + 1) for i in (c, h, w)]
        if channel_type is NormalizationAlgorithmChannel.ACROSS:
            sums[n, c, h, w] = squares[n, near[0], h, w].sum()
        else:
            sums[n, c, h, w] = squares[n, c, near[1], near[2]].sum()
    d = NormalizationDescriptor(
        norm_channel_type=channel_type,
        norm_size=size,
        alpha=0.5,
        beta=0.75,
        k=2,
        data_layout=layout,
    )
    (y,) = run_layer("Normalization", [laid_out(x, layout)], d)
    expected = x / (2 + 0.5 * sums) ** 0.75
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_is_the_definition_along_its_axis(run_layer: RunLayer, axis: int) -> None:
    x = random(0, 2, 3, 4)
    powers = np.exp(x.astype(np.float64) * 0.7)
    expected = powers / powers.sum(axis, keepdims=True)
    (y,) = run_layer("Softmax", [x], SoftmaxDescriptor(beta=0.7, axis=axis))
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    (y,) = run_layer("LogSoftmax", [x], LogSoftmaxDescriptor(beta=0.7, axis=axis))
    np.testing.assert_allclose(y, np.log(expected), rtol=1e-5, atol=1e-6)


def test_softmax_of_large_numbers_does_not_overflow(run_layer: RunLayer) -> None:
    x = np.array([[1000, 1000, -1000], [-3e38, 0, 3e38]], np.float32)
    (y,) = run_layer("Softmax", [x])
    assert y.tolist() == [[0.5, 0.5, 0], [0, 0, 1]]


@pytest.mark.parametrize("layer", ["Softmax", "LogSoftmax"])
def test_a_negative_beta_turns_the_order_around(run_layer: RunLayer, layer: str) -> None:
    x = np.array([[-500, 500]], np.float32)
    descriptor = SoftmaxDescriptor if layer == "Softmax" else LogSoftmaxDescriptor
    (y,) = run_layer(layer, [x], descriptor(beta=-1))
    assert y.tolist() == ([[1, 0]] if layer == "Softmax" else [[0, -1000]])


def test_softmax_keeps_nan_in_its_row_and_takes_minus_infinity_for_never(
    run_layer: RunLayer,
) -> None:
    x = np.array([[np.nan, 0], [-np.inf, 0]], np.float32)
    (y,) = run_layer("Softmax", [x])
    np.testing.assert_array_equal(y, [[np.nan, np.nan], [0, 1]])


def test_softmax_of_nothing_is_nothing(run_layer: RunLayer) -> None:
    (y,) = run_layer("Softmax", [np.zeros((2, 0), np.float32)])
    assert y.shape == (2, 0)


@pytest.mark.parametrize("data_type", [DataType.QASYMM_U8, DataType.QASYMM_S8])
def test_quantized_softmax_counts_in_steps_of_its_output(
    run_layer: RunLayer, data_type: DataType
) -> None:
    lowest = np.iinfo(data_type.numpy_dtype).min
    x_info = TensorInfo((1, 2), data_type, 1.0, 0)
    y_info = TensorInfo((1, 2), data_type, 1 / 256, lowest)
    x = np.array([[3, 3]], data_type.numpy_dtype)
    (y,) = run_layer("Softmax", [(x, x_info)], outputs=[y_info])
    assert y.tolist() == [[lowest + 128, lowest + 128]]


def test_float64_keeps_its_precision(run_layer: RunLayer) -> None:
    x = np.array([[0.0, 1e-12]])
    (y,) = run_layer("LogSoftmax", [x])
    assert y.dtype == np.float64
    assert y[0, 1] - y[0, 0] == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 5)])
def test_layer_normalization_agrees_with_onnxruntime(compute, onnx_run, axis, shape):
    rng = np.random.default_rng(11)
    x = rng.normal(3, 2, shape).astype(np.float32)
    gamma, beta = rng.normal(size=(2, *shape[axis:])).astype(np.float32)
    d = LayerNormalizationDescriptor(axis=axis, eps=1e-3)
    expected = onnx_run("LayerNormalization", x, gamma, beta, axis=axis, epsilon=1e-3)
    np.testing.assert_allclose(compute(d, x, gamma, beta), expected, rtol=1e-5, atol=1e-6)
    expected = onnx_run(
        "LayerNormalization", x, np.ones(shape[axis:], np.float32), axis=axis, epsilon=1e-3
    )
    np.testing.assert_allclose(compute(d, x, None, None), expected, rtol=1e-5, atol=1e-6)


def test_layer_normalization_broadcasts_its_factors(compute):
    x = np.float64([[[1, 3], [5, 5]]])  # means 2 and 5, variances 1 and 0
    gamma, beta = np.float64([[2], [3]]), np.float64([10, 20])
    y = compute(LayerNormalizationDescriptor(eps=0.0), x[:, :1], gamma[:1], beta)
    assert y.tolist() == [[[8, 22]]]
    y = compute(LayerNormalizationDescriptor(eps=1.0), x[:, 1:], gamma[1:], beta)
    assert y.tolist() == [[[10, 20]]]


def test_a_constant_of_large_values_is_centered_exactly(compute):
    y = compute(LayerNormalizationDescriptor(), np.full((2, 8), 16777216, np.float32), None, None)
    assert not y.any()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rms_normalization_is_its_definition(compute, axis):
    x = np.random.default_rng(12).normal(size=(2, 3, 4))
    gamma = np.random.default_rng(13).normal(size=4)
    axes = tuple(range(axis % 3, 3))
    expected = x / np.sqrt((x**2).mean(axes, keepdims=True) + 0.25) * gamma
    d = RmsNormalizationDescriptor(axis=axis, eps=0.25)
    np.testing.assert_allclose(compute(d, x, gamma), expected, rtol=1e-12)
    y = compute(RmsNormalizationDescriptor(eps=0.0), np.float32([[3, 4, 0, 0]]), None)
    np.testing.assert_allclose(y, [[1.2, 1.6, 0, 0]], rtol=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6, 4, 5), (1, 6, 3), (2, 6)])
def test_group_normalization_agrees_with_the_onnx_reference(compute, groups, shape):
    rng = np.random.default_rng(14)
    x = rng.normal(1, 3, shape).astype(np.float32)
    gamma, beta = rng.normal(size=(2, 6)).astype(np.float32)
    grouped = x.reshape(shape[0], groups, -1).astype(np.float64)
    centered = grouped - grouped.mean(2, keepdims=True)
    expected = (centered / np.sqrt((centered**2).mean(2, keepdims=True) + 0.1)).reshape(shape)
    channel = (6, *(1,) * (len(shape) - 2))
    expected = expected * gamma.reshape(channel) + beta.reshape(channel)
    d = GroupNormalizationDescriptor(num_groups=groups, eps=0.1)
    np.testing.assert_allclose(compute(d, x, gamma, beta), expected, rtol=1e-5, atol=1e-5)
    last = GroupNormalizationDescriptor(num_groups=groups, eps=0.1, data_layout=DataLayout.NHWC)
    y = compute(last, np.moveaxis(x, 1, -1), gamma, beta)
    np.testing.assert_allclose(np.moveaxis(y, -1, 1), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("data_type", "tolerance"), [(DataType.FLOAT16, 1e-3), (DataType.BFLOAT16, 1e-2)]
)
def test_halves_are_normalized_in_single_precision(run_layer, data_type, tolerance):
    x = np.array([[300, 500, 300, 500]], data_type.numpy_dtype)  # squares overflow Float16
    (y,) = run_layer("RmsNormalization", [x, None])
    length = np.sqrt((300**2 + 500**2) / 2)
    np.testing.assert_allclose(
        y.astype(np.float32), [[300 / length, 500 / length] * 2], rtol=tolerance
    )


def test_quantized_values_are_normalized(run_layer):
    x = (np.int8([[1, 3]]), TensorInfo((1, 2), DataType.QASYMM_S8, 0.5, -1))
    result = TensorInfo((1, 2), DataType.QASYMM_S8, 0.25, 5)
    d = LayerNormalizationDescriptor(eps=0.0)
    (y,) = run_layer("LayerNormalization", [x, None, None], d, outputs=[result])
    assert y.tolist() == [[1, 9]]
