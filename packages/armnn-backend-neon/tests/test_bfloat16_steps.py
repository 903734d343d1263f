# SPDX-License-Identifier: MIT
"""Steps of 16 bits keep their digits with FastMathEnabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.graph import Value

Array: TypeAlias = NDArray[Any]
Layer: TypeAlias = Callable[[Network, Value], Value]

SHAPE = (2, 7, 9, 24)
STEPS = DataType.QSYMM_S16
FINE = TensorInfo(None, STEPS, 0.0007, 0)
OTHER = TensorInfo(None, STEPS, 0.0005, 0)


def weights(*shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape, np.float32)


def padded(network: Network, x: Value) -> Value:
    return network.add_pad(x, pad_list=((0, 0), (1, 2), (0, 1), (0, 0)), output=FINE)


def joined(network: Network, x: Value) -> Value:
    return network.add_concat([x, x], axis=3, output=OTHER)


def mean(network: Network, x: Value) -> Value:
    return network.add_mean(x, axis=(1, 2), output=OTHER)


def resized(network: Network, x: Value) -> Value:
    return network.add_resize(
        x, target_height=9, target_width=20, data_layout=DataLayout.NHWC, output=OTHER
    )


def depthwise(network: Network, x: Value) -> Value:
    return network.add_depthwise_convolution2d(
        x, weights(1, 3, 3, SHAPE[-1]), data_layout=DataLayout.NHWC, output=FINE
    )


def averages(network: Network, x: Value) -> Value:
    return network.add_pooling2d(
        x,
        pool_type=armnn.PoolingAlgorithm.AVERAGE,
        pool_width=3,
        pool_height=3,
        data_layout=DataLayout.NHWC,
        output=FINE,
    )


def made_by(layer: Layer, *, fast: bool) -> Array:
    network = Network("steps")
    x = network.add_input("x", TensorInfo(SHAPE, STEPS, 0.0007, 0))
    network.add_output("y", layer(network, x))
    steps = np.random.default_rng(2).integers(-20000, 20000, SHAPE).astype(np.int16)
    options = {"CpuAcc": {"FastMathEnabled": fast}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, ["CpuAcc"], backend_options=options)
        return np.array(loaded.run({"x": steps})["y"])


@pytest.mark.parametrize("layer", [padded, joined, mean, resized, depthwise, averages])
def test_what_multiplies_no_matrices_computes_as_without(level: str, layer: Layer) -> None:
    slow = made_by(layer, fast=False)
    assert np.unique(slow).size > 8
    np.testing.assert_array_equal(made_by(layer, fast=True), slow)
