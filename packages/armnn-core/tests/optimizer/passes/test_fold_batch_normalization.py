# SPDX-License-Identifier: MIT
"""Batch normalization as part of the layer before it."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType

fold_batch_normalization = named_pass("fold_batch_normalization")

CHANNELS = 6
RANDOM = np.random.default_rng(7)
NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC


@pytest.fixture(autouse=True)
def _numbers_that_no_other_test_decides() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(7).bit_generator.state


def numbers(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(dtype)


def add_norm(network: Network, value: Value, layout: DataLayout = NCHW, **options) -> Value:
    dtype = options.pop("dtype", np.float32)
    statistics = {
        "mean": numbers(CHANNELS, dtype=dtype),
        "variance": (0.25 + np.abs(numbers(CHANNELS))).astype(dtype),  # less enlarges errors
        "beta": numbers(CHANNELS, dtype=dtype),
        "gamma": numbers(CHANNELS, dtype=dtype),
    }
    statistics.update(options)
    return network.add_batch_normalization(
        value, **statistics, eps=1e-3, data_layout=layout, name="norm"
    )


def convolution(
    network: Network, layout: DataLayout = NCHW, groups: int = 1, *, bias: bool = True
) -> Value:
    shape = ("N", 4, 5, 5) if layout is NCHW else ("N", 5, 5, 4)
    x = network.add_input("x", TensorInfo(shape))
    read = 4 // groups
    weights = numbers(CHANNELS, read, 3, 2) if layout is NCHW else numbers(CHANNELS, 3, 2, read)
    return network.add_convolution2d(
        x, weights, numbers(CHANNELS) if bias else None, data_layout=layout, pad_top=1, name="main"
    )


def depthwise(network: Network, layout: DataLayout) -> Value:
    shape = (2, 3, 5, 5) if layout is NCHW else (2, 5, 5, 3)
    x = network.add_input("x", TensorInfo(shape))
    return network.add_depthwise_convolution2d(
        x, numbers(1, 3, 3, CHANNELS), data_layout=layout, stride_x=2, name="main"
    )


def transposed(network: Network, layout: DataLayout) -> Value:
    shape = (2, 4, 3, 3) if layout is NCHW else (2, 3, 3, 4)
    x = network.add_input("x", TensorInfo(shape))
    weights = numbers(CHANNELS, 2, 3, 3) if layout is NCHW else numbers(CHANNELS, 3, 3, 2)
    return network.add_transpose_convolution2d(
        x, weights, data_layout=layout, stride_x=2, stride_y=2, pad_left=1, name="main"
    )


def volume(network: Network, layout: DataLayout) -> Value:
    shape = (1, 4, 3, 3, 3) if layout is NCHW else (1, 3, 3, 3, 4)
    x = network.add_input("x", TensorInfo(shape))
    layout_3d = DataLayout.NCDHW if layout is NCHW else DataLayout.NDHWC
    return network.add_convolution3d(
        x, numbers(2, 2, 2, 4, CHANNELS), data_layout=layout_3d, name="main"
    )


def fully_connected(network: Network, transpose: bool) -> Value:
    x = network.add_input("x", TensorInfo(("N", 5)))
    weights = numbers(CHANNELS, 5) if transpose else numbers(5, CHANNELS)
    return network.add_fully_connected(x, weights, transpose_weight_matrix=transpose, name="main")


MAKERS: dict[str, tuple[Callable[[Network], Value], DataLayout]] = {
    "NCHW": (lambda network: convolution(network, NCHW), NCHW),
    "NHWC": (lambda network: convolution(network, NHWC), NHWC),
    "NCHW in groups": (lambda network: convolution(network, NCHW, 2), NCHW),
    "NHWC in groups": (lambda network: convolution(network, NHWC, 2), NHWC),
    "no bias": (lambda network: convolution(network, NCHW, bias=False), NCHW),
    "depthwise NCHW": (lambda network: depthwise(network, NCHW), NCHW),
    "depthwise NHWC": (lambda network: depthwise(network, NHWC), NHWC),
    "transposed NCHW": (lambda network: transposed(network, NCHW), NCHW),
    "transposed NHWC": (lambda network: transposed(network, NHWC), NHWC),
    "3d NCDHW": (lambda network: volume(network, NCHW), NCHW),
    "3d NDHWC": (lambda network: volume(network, NHWC), NHWC),
    "fully connected": (lambda network: fully_connected(network, False), NCHW),
    "fully connected, transposed": (lambda network: fully_connected(network, True), NHWC),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_layer_before_computes_the_same_alone(kind: str, compute) -> None:
    make, layout = MAKERS[kind]
    network = Network()
    network.add_output("y", add_norm(network, make(network), layout))
    shape = [2 if dim == "N" else dim for dim in network.inputs[0].output.info.shape]
    feeds = {"x": numbers(*shape)}
    expected, info = compute(network, feeds)["y"], network.outputs[0].input_infos[0]
    assert fold_batch_normalization(network) == 1
    assert [layer.type for layer in network.layers].count("BatchNormalization") == 0
    assert network.outputs[0].inputs[0].producer.name == "main"
    assert network.outputs[0].input_infos[0] == info
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=1e-5, atol=1e-6)
    assert fold_batch_normalization(network) == 0


def test_nothing_of_the_old_constants_is_left() -> None:
    network = Network()
    network.add_output("y", add_norm(network, convolution(network)))
    fold_batch_normalization(network)
    assert sorted(layer.type for layer in network.layers) == [
        "Constant", "Constant", "Convolution2d", "Input", "Output",
    ]  # fmt: skip


def test_weights_that_another_layer_reads_too_stay_for_it() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 5, 5)))
    weights = network.add_constant(numbers(CHANNELS, 4, 1, 1))
    network.add_output("y", add_norm(network, network.add_convolution2d(x, weights)))
    network.add_output("z", network.add_convolution2d(x, weights, name="other"))
    before = weights.constant.copy()
    assert fold_batch_normalization(network) == 1
    assert network.find("other").inputs[1] is weights
    np.testing.assert_array_equal(weights.constant, before)


def test_two_normalizations_in_a_row_are_folded(compute) -> None:
    network = Network()
    first = add_norm(network, convolution(network))
    network.rename(first.producer, "first")
    network.add_output("y", add_norm(network, first))
    feeds = {"x": numbers(1, 4, 5, 5)}
    expected = compute(network, feeds)["y"]
    assert fold_batch_normalization(network) == 2
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_weights_keep_their_type(dtype, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 3, 3), DataType.from_numpy(dtype)))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 4, 1, 1, dtype=dtype))
    network.add_output("y", add_norm(network, conv, dtype=dtype))
    feeds = {"x": numbers(1, 4, 3, 3)}
    expected = compute(network, feeds)["y"]
    assert fold_batch_normalization(network) == 1
    main = network.outputs[0].inputs[0].producer
    assert [value.constant.dtype for value in main.inputs[1:]] == [np.dtype(dtype)] * 2
    step = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=0, atol=30 * step)


def refused(network: Network) -> bool:
    before = len(network)
    return fold_batch_normalization(network) == 0 and len(network) == before


def test_a_second_reader_keeps_the_normalization() -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", add_norm(network, conv))
    network.add_output("z", network.add_activation(conv))
    assert refused(network)


def test_a_network_output_in_between_keeps_the_normalization() -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", add_norm(network, conv))
    network.add_output("z", conv)
    assert refused(network)


def test_weights_that_are_computed_keep_the_normalization() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 5, 5)))
    weights = network.add_input("weights", TensorInfo((CHANNELS, 4, 1, 1)))
    network.add_output("y", add_norm(network, network.add_convolution2d(x, weights)))
    assert refused(network)


def test_a_bias_that_is_computed_keeps_the_normalization() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 5, 5)))
    bias = network.add_input("bias", TensorInfo((CHANNELS,)))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 4, 1, 1), bias)
    network.add_output("y", add_norm(network, conv))
    assert refused(network)


@pytest.mark.parametrize("name", ["mean", "variance", "beta", "gamma"])
def test_statistics_that_are_computed_keep_the_normalization(name: str) -> None:
    network = Network()
    conv = convolution(network)
    computed = network.add_input(name, TensorInfo((CHANNELS,)))
    network.add_output("y", add_norm(network, conv, **{name: computed}))
    assert refused(network)


def test_channels_elsewhere_keep_the_normalization() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 5, CHANNELS)))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 4, 1, 1), data_layout=NCHW)
    network.add_output("y", add_norm(network, conv, NHWC))
    assert refused(network)


def test_an_unknown_rank_keeps_the_normalization() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(None))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 4, 1, 1))
    network.add_output("y", add_norm(network, conv))
    assert refused(network)


def test_another_backend_hint_keeps_the_normalization() -> None:
    network = Network()
    network.add_output("y", add_norm(network, convolution(network)))
    network.find("norm").backend_hint = "A"
    assert refused(network)
    network.find("main").backend_hint = "A"
    assert fold_batch_normalization(network) == 1
    assert network.find("main").backend_hint == "A"


def test_quantized_layers_keep_the_normalization() -> None:
    network = Network()
    info = TensorInfo((1, 4, 3, 3), DataType.QASYMM_S8, 0.1, 3)
    x = network.add_input("x", info)
    weights = network.add_constant(
        np.ones((CHANNELS, 4, 1, 1), np.int8),
        TensorInfo((CHANNELS, 4, 1, 1), DataType.QSYMM_S8, 0.5),
    )
    conv = network.add_convolution2d(x, weights, output=info.with_shape((1, CHANNELS, 3, 3)))
    network.add_output("y", add_norm(network, conv))
    assert refused(network)


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf])
def test_numbers_that_the_weights_cannot_hold_stay_where_they_are(variance: float) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 3, 3)))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 4, 1, 1))
    norm = network.add_batch_normalization(
        conv,
        numbers(CHANNELS),
        np.full(CHANNELS, variance, np.float32),
        numbers(CHANNELS),
        numbers(CHANNELS),
        eps=0.0,
    )
    network.add_output("y", norm)
    if np.isposinf(variance):  # its reciprocal is zero, which weights can hold
        assert fold_batch_normalization(network) == 1
    else:
        assert refused(network)


def test_weights_that_would_overflow_stay_as_they_are() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 3, 3), DataType.FLOAT16))
    conv = network.add_convolution2d(x, np.full((CHANNELS, 4, 1, 1), 6e4, np.float16))
    norm = add_norm(network, conv, dtype=np.float16, gamma=np.full(CHANNELS, 90, np.float16))
    network.add_output("y", norm)
    assert refused(network)


def test_a_normalization_that_changes_the_type_stays() -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", add_norm(network, conv, output=DataType.FLOAT16))
    assert refused(network)


def test_quantized_weights_of_a_real_result_keep_the_normalization() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 3, 3)))
    weights = network.add_constant(
        np.ones((CHANNELS, 4, 1, 1), np.int8),
        TensorInfo((CHANNELS, 4, 1, 1), DataType.QSYMM_S8, 0.5),
    )
    network.add_output("y", add_norm(network, network.add_convolution2d(x, weights)))
    assert refused(network)


def test_arithmetic_behind_goes_with_it(compute) -> None:
    network = Network()
    norm = add_norm(network, convolution(network))
    scaled = network.add_multiplication(norm, numbers(CHANNELS, 1, 1))
    moved = network.add_subtraction(numbers(1, CHANNELS, 1, 1), scaled)
    network.add_output("y", network.add_addition(moved, numbers(CHANNELS, 1, 1)))
    feeds = {"x": numbers(2, 4, 5, 5)}
    expected = compute(network, feeds)["y"]
    assert fold_batch_normalization(network) == 4
    assert network.outputs[0].inputs[0].producer.name == "main"
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=1e-4, atol=1e-4)


def test_arithmetic_that_others_read_too_stays(compute) -> None:
    network = Network()
    norm = add_norm(network, convolution(network))
    scaled = network.add_multiplication(norm, numbers(CHANNELS, 1, 1))
    network.add_output("y", network.add_addition(scaled, numbers(CHANNELS, 1, 1)))
    network.add_output("z", network.add_activation(scaled))
    feeds = {"x": numbers(2, 4, 5, 5)}
    expected = compute(network, feeds)
    assert fold_batch_normalization(network) == 2
    for name, array in compute(network, feeds).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-4)


def test_what_the_weights_cannot_hold_together_stays_behind() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 4, 3, 3), DataType.FLOAT16))
    conv = network.add_convolution2d(x, np.full((CHANNELS, 4, 1, 1), 200, np.float16))
    norm = add_norm(network, conv, dtype=np.float16, gamma=np.full(CHANNELS, 9, np.float16))
    network.add_output("y", network.add_multiplication(norm, np.float16(6e4)))
    assert fold_batch_normalization(network) == 1
    assert network.outputs[0].inputs[0].producer.type == "Multiplication"
