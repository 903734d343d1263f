# SPDX-License-Identifier: MIT
"""Fed weights and biases on every level, against CpuRef."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo

Array = NDArray[Any]


class Case(NamedTuple):
    """A layer with the shapes of data, weights and bias."""

    layer: str
    data: tuple[int, ...]
    weights: tuple[int, ...]
    bias: int
    parameters: dict[str, Any]


def case(
    layer: str, data: tuple[int, ...], weights: tuple[int, ...], bias: int, **parameters: Any
) -> Case:
    return Case(layer, data, weights, bias, parameters)


NHWC = {"data_layout": "NHWC"}
CASES = {
    "transposed matrix": case(
        "FullyConnected", (5, 70), (33, 70), 33, transpose_weight_matrix=True
    ),
    "matrix": case("FullyConnected", (1, 17), (17, 40), 40),
    "3 x 3, as Winograd filters it": case(
        "Convolution2d", (1, 20, 20, 40), (40, 3, 3, 40), 40, pad_left=1, pad_top=1, **NHWC
    ),
    "channels first": case("Convolution2d", (2, 24, 9, 7), (40, 24, 3, 3), 40, stride_x=2),
    "few channels": case("Convolution2d", (1, 3, 20, 21), (20, 3, 3, 3), 20, pad_right=1),
    "few channels last": case("Convolution2d", (1, 20, 21, 3), (20, 3, 3, 3), 20, **NHWC),
    "few outputs": case("Convolution2d", (1, 20, 40, 16), (3, 3, 3, 16), 3, pad_left=1, **NHWC),
    "a row": case("Convolution2d", (1, 1, 50, 33), (40, 1, 5, 33), 40, **NHWC),
    "groups": case("Convolution2d", (1, 12, 9, 8), (30, 4, 3, 3), 30),
    "groups of one": case("Convolution2d", (1, 17, 9, 8), (17, 1, 3, 2), 17, pad_bottom=1),
    "groups of one, last": case("Convolution2d", (1, 9, 8, 17), (17, 3, 2, 1), 17, **NHWC),
    "depthwise": case("DepthwiseConvolution2d", (1, 35, 9, 8), (1, 3, 3, 35), 35, pad_top=1),
    "depthwise, twice": case("DepthwiseConvolution2d", (1, 9, 8, 5), (1, 3, 3, 10), 10, **NHWC),
    "depthwise of one": case("DepthwiseConvolution2d", (1, 9, 8, 1), (1, 3, 3, 20), 20, **NHWC),
    "transposed tiles": case(
        "TransposeConvolution2d", (1, 5, 6, 18), (7, 2, 2, 18), 7, stride_x=2, stride_y=2, **NHWC
    ),
    "transposed": case(
        "TransposeConvolution2d", (2, 18, 5, 6), (7, 18, 3, 4), 7, stride_x=2, stride_y=1
    ),
    "volume": case("Convolution3d", (1, 5, 6, 7, 9), (3, 2, 3, 9, 20), 20, pad_front=1),
}


def network(each: Case, infos: list[TensorInfo], output: TensorInfo) -> Network:
    net = Network("fed")
    operands = [net.add_input(f"x{i}", info) for i, info in enumerate(infos)]
    d = armnn.layers.LAYERS[each.layer].descriptor(**each.parameters)
    net.add_output("y", net.add(each.layer, operands, d, outputs=[output]).outputs[0])
    return net


def assert_alike(
    each: Case,
    infos: list[TensorInfo],
    output: TensorInfo,
    feeds: list[list[Array]],
    fast: bool = False,
    **tolerance: Any,
) -> None:
    """Compare runs of one network with other weights each."""
    net = network(each, infos, output)
    with armnn.Runtime() as runtime:
        expected = runtime.load_model(net, backends=["CpuRef"])
        for threads in (1, 3):
            options = {"CpuAcc": {"NumberOfThreads": threads, "FastMathEnabled": fast}}
            actual = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
            for arrays in feeds:
                named = {f"x{i}": array for i, array in enumerate(arrays)}
                made, wanted = (
                    np.array(each.run(named)["y"], np.float64) for each in (actual, expected)
                )
                np.testing.assert_allclose(made, wanted, **tolerance)


@pytest.mark.parametrize("name", CASES)
def test_fed_weights_are_packed_in_each_run(name: str, level: str) -> None:
    each = CASES[name]
    infos = [TensorInfo(shape) for shape in (each.data, each.weights, (each.bias,))]
    rng = np.random.default_rng(1)
    feeds = [
        [rng.standard_normal(info.static_shape, np.float32) for info in infos] for _ in range(2)
    ]
    assert_alike(each, infos, TensorInfo(None), feeds, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["transposed matrix", "channels first", "groups"])
def test_fed_weights_may_be_rounded_in_fast_math(name: str, level: str) -> None:
    each = CASES[name]
    infos = [TensorInfo(shape) for shape in (each.data, each.weights, (each.bias,))]
    rng = np.random.default_rng(4)
    feeds = [[rng.uniform(-1, 1, info.static_shape).astype(np.float32) for info in infos]]
    assert_alike(each, infos, TensorInfo(None), feeds, fast=True, rtol=0, atol=0.15)


@pytest.mark.parametrize("half", [DataType.FLOAT16, DataType.BFLOAT16])
def test_fed_weights_of_16_bits_are_widened(half: DataType) -> None:
    each = CASES["channels first"]
    infos = [TensorInfo(shape, half) for shape in (each.data, each.weights, (each.bias,))]
    rng = np.random.default_rng(2)
    reals = [rng.uniform(-1, 1, info.static_shape).astype(np.float32) for info in infos]
    feeds = [[array.astype(half.numpy_dtype) for array in reals]]
    assert_alike(each, infos, TensorInfo(None, half), feeds, rtol=1e-2, atol=1e-1)


AXES = {
    "Convolution2d": 0,
    "DepthwiseConvolution2d": 3,
    "FullyConnected": 0,
    "TransposeConvolution2d": 0,
}
"""The axis of the scales of weights that have one for each column."""


@pytest.mark.parametrize("per_axis", [False, True])
@pytest.mark.parametrize(
    "name", ["transposed matrix", "groups", "depthwise, twice", "transposed", "few channels last"]
)
def test_fed_weights_of_bytes_have_steps(name: str, per_axis: bool, level: str) -> None:
    each = CASES[name]
    rng = np.random.default_rng(3)
    columns = each.weights[AXES[each.layer]]
    scales = rng.uniform(0.01, 0.02, columns).astype(np.float32).tolist()
    weights = (
        TensorInfo(each.weights, DataType.QSYMM_S8, scales, axis=AXES[each.layer])
        if per_axis
        else TensorInfo(each.weights, DataType.QASYMM_S8, 0.015, 7)
    )
    infos = [
        TensorInfo(each.data, DataType.QASYMM_U8, 0.02, 120),
        weights,
        TensorInfo((each.bias,), DataType.SIGNED32),
    ]
    feeds: list[list[Array]] = [
        [
            rng.integers(0, 256, each.data).astype(np.uint8),
            rng.integers(-128, 128, each.weights).astype(np.int8),
            rng.integers(-3000, 3000, each.bias).astype(np.int32),
        ]
        for _ in range(2)
    ]
    output = TensorInfo(None, DataType.QASYMM_U8, 0.3, 100)
    assert_alike(each, infos, output, feeds, rtol=0, atol=1)


def test_the_capability_is_stated() -> None:
    with armnn.Runtime() as runtime:
        backend = runtime.registry.get("CpuAcc")
        assert backend.has_capability("NonConstWeights")
