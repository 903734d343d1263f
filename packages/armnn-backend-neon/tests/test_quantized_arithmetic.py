# SPDX-License-Identifier: MIT
"""Layers of bytes within one step of CpuRef, both arithmetics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.types import PaddingMethod, PoolingAlgorithm, QuantizedArithmetic

if TYPE_CHECKING:
    from armnn.graph import Value

Array: TypeAlias = NDArray[Any]

S8, SYMMETRIC = DataType.QASYMM_S8, DataType.QSYMM_S8
SHAPE = (2, 13, 12, 32)

RNG = np.random.default_rng(5)
BIAS = RNG.integers(-2000, 2000, 32, np.int32)
SCALES = tuple(RNG.uniform(0.002, 0.02, 32))
WINDOW: dict[str, Any] = dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), 1)
WINDOW["data_layout"] = DataLayout.NHWC


def weights(network: Network, shape: tuple[int, ...], axis: int) -> Value:
    """Return constant weights of 32 scales."""
    numbers = np.random.default_rng(6).integers(-127, 128, shape, np.int8)
    return network.add_constant(numbers, TensorInfo(shape, SYMMETRIC, SCALES, axis=axis))


def convolution(network: Network, x: Value) -> Value:
    """Add a window of 3x3 over all channels."""
    right, bias = weights(network, (32, 3, 3, 32), 0), network.add_constant(BIAS)
    output = TensorInfo(None, S8, 2.0, -9)
    return network.add_convolution2d(x, right, bias, **WINDOW, output=output)


def depthwise(network: Network, x: Value) -> Value:
    """Add a window of 3x3 over each channel."""
    right, bias = weights(network, (1, 3, 3, 32), 3), network.add_constant(BIAS)
    output = TensorInfo(None, S8, 0.3, -9)
    return network.add_depthwise_convolution2d(x, right, bias, **WINDOW, output=output)


def matrix(network: Network, x: Value) -> Value:
    """Add a fully connected layer."""
    right, bias = weights(network, (32, 13 * 12 * 32), 0), network.add_constant(BIAS)
    output = TensorInfo(None, S8, 8.0, 3)
    return network.add_fully_connected(x, right, bias, transpose_weight_matrix=True, output=output)


def addition(network: Network, x: Value) -> Value:
    """Add the sum of the tensor and a rescaled one."""
    other = network.add_quantize(x, output=TensorInfo(None, S8, 0.11, 4))
    return network.add_addition(x, other, output=TensorInfo(None, S8, 0.17, 2))


def multiplication(network: Network, x: Value) -> Value:
    """Add the tensor squared."""
    return network.add_multiplication(x, x, output=TensorInfo(None, S8, 0.7, 2))


def pooling(network: Network, x: Value) -> Value:
    """Add averages of 2x2 in the input's scale."""
    return network.add_pooling2d(
        x,
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=2,
        stride_x=2,
        stride_y=2,
        padding_method=PaddingMethod.EXCLUDE,
        data_layout=DataLayout.NHWC,
        output=TensorInfo(None, S8, 0.07, 5),
    )


def mean(network: Network, x: Value) -> Value:
    """Add the mean of each channel."""
    return network.add_mean(x, axis=(1, 2), output=TensorInfo(None, S8, 0.01, -6))


def softmax(network: Network, x: Value) -> Value:
    """Add the softmax of the channels."""
    return network.add_softmax(x, output=TensorInfo(None, S8, 1 / 256, -128))


LAYERS = [convolution, depthwise, matrix, addition, multiplication, pooling, mean, softmax]


@pytest.mark.parametrize("arithmetic", list(QuantizedArithmetic))
@pytest.mark.parametrize("make", LAYERS)
def test_a_layer_is_within_one_step_of_cpuref(
    run_network: Callable[..., Array],
    make: Callable[[Network, Value], Value],
    arithmetic: QuantizedArithmetic,
) -> None:
    network = Network()
    network.quantized_arithmetic = arithmetic
    x = network.add_input("x", TensorInfo(SHAPE, S8, 0.07, 5))
    network.add_output("y", make(network, x))
    feed = np.random.default_rng(7).integers(-128, 128, SHAPE, np.int8)
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuRef"])
        expected = loaded.run({"x": feed})["y"].astype(int)
    off = np.abs(run_network(network, x=feed) - expected)
    assert np.unique(expected).size > 20  # not all of it saturates
    assert off.max() <= 1


@pytest.mark.parametrize("data_type", ["QAsymmS8", "QAsymmU8", "QSymmS8", "QSymmS16"])
def test_computed_values_without_a_scale_are_refused(data_type: str) -> None:
    network = armnn.Network("steps of unknown size")
    x = network.add_input("x", armnn.TensorInfo((2, 3), data_type))
    scaled = armnn.TensorInfo((2, 3), data_type, scales=(0.5,), zero_points=(0,))
    network.add_output("y", network.add_addition(x, x, output=scaled))
    message = rf"{data_type} without a scale is not computed here \(input 0"
    with pytest.raises(armnn.errors.OptimizationError, match=message):
        armnn.load_model(network, backends=["CpuAcc"])
