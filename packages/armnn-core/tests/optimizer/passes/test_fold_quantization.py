# SPDX-License-Identifier: MIT
"""Layers between Dequantize and Quantize, computed on stored values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes.quantization import AcceptAll, fold_quantization
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataLayout,
    DataType,
    PoolingAlgorithm,
    QuantizedArithmetic,
)

if TYPE_CHECKING:
    from armnn.optimizer.passes.quantization import EmitFloat

RANDOM = np.random.default_rng(31)
DATA = TensorInfo((1, 4, 6, 5), DataType.QASYMM_U8, 0.25, 120)
MADE = (DataType.QASYMM_U8, 0.5, 100)
NHWC = DataLayout.NHWC


def always(stored: Network, _: EmitFloat) -> tuple[Layer, ...]:
    return stored.layers


def never(_: Network, __: EmitFloat) -> tuple[Layer, ...]:
    return ()


def bytes_of(shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    return RANDOM.integers(low, high, shape)


def weights_of(network: Network, *shape: int, axis: int | None = None) -> Value:
    """Add dequantized constant weights, of one scale or several.

    There is one per index of an axis then.
    """
    count = 1 if axis is None else shape[axis]
    scales = (np.arange(count) + 1) / np.float32(64)
    info = TensorInfo(shape, DataType.QSYMM_S8, scales.tolist(), axis=axis)
    stored = network.add_constant(bytes_of(shape, -128, 128).astype(np.int8), info)
    return network.add_dequantize(stored)


def data_of(network: Network, name: str = "x", info: TensorInfo = DATA) -> Value:
    return network.add_dequantize(network.add_input(name, info), name=f"{name}/real")


def quantized(network: Network, value: Value, *how: object) -> None:
    data_type, scale, zero_point = how or MADE
    info = TensorInfo(value.info.shape, data_type, scale, zero_point)
    network.add_output("y", network.add_quantize(value, name="stored", output=info))


def real_values(network: Network, feeds: dict[str, np.ndarray], meanings) -> np.ndarray:
    """Compute y by the meanings in float64, rounded to steps."""
    values: dict[Value, np.ndarray] = {}
    for layer in network.topological_order():
        if layer.type == "Output":
            return values[layer.inputs[0]]
        info = layer.output.info
        if layer.type in ("Input", "Constant"):
            data = feeds[layer.name] if layer.type == "Input" else np.asarray(layer.data)
            values[layer.output] = dequantize(data, info) if info.is_quantized else data
            continue
        inputs = [None if value is None else values[value] for value in layer.inputs]
        bias = layer.inputs[2] if len(layer.inputs) > 2 else None
        if bias is not None and bias.info.data_type is DataType.SIGNED32:
            scales = np.array(layer.inputs[1].info.scales) * layer.inputs[0].info.scale
            inputs[2] = np.float32(inputs[2] * scales)
        meaning = meanings.get(layer.type, lambda _, x, *__: x)
        result = meaning(layer, *inputs)
        if info.is_quantized:
            result = dequantize(quantize(result, info), info)
        values[layer.output] = result
    raise AssertionError("the network has no output")


class Noting(AcceptAll):
    """Notes which layers came."""

    def __init__(self) -> None:
        self.came: list[Layer] = []

    def note(self, layers) -> None:
        self.came += layers


def check(network: Network, meanings, accepts=always) -> list[str]:
    """Run the pass, check results, return the remaining types."""
    feeds = {
        layer.name: bytes_of(
            tuple(size if isinstance(size, int) else 2 for size in layer.output.info.shape), 0, 256
        ).astype(layer.output.info.data_type.numpy_dtype)
        for layer in network.inputs
    }
    before = real_values(network, feeds, meanings)
    twin = network.clone()
    infos = [layer.input_infos for layer in network.outputs]
    while fold_quantization(network, accepts):
        pass
    network.validate()
    if accepts is always:  # as without a question
        while fold_quantization(twin, Noting()):
            pass
        assert str(twin) == str(network)
    np.testing.assert_allclose(real_values(network, feeds, meanings), before, rtol=1e-6)
    assert [layer.input_infos for layer in network.outputs] == infos
    return [
        layer.type
        for layer in network.topological_order()
        if layer.type not in ("Input", "Output", "Constant")
    ]


@pytest.mark.parametrize("axis", [None, 0])
def test_a_convolution_takes_weights_and_bias_as_they_are_stored(axis, meanings) -> None:
    network = Network()
    x, weights = data_of(network), weights_of(network, 3, 4, 3, 3, axis=axis)
    steps = np.array([7, -100000, 3], np.int64)
    scales = np.array(weights.producer.inputs[0].info.scales, np.float32) * np.float32(0.25)
    bias = (steps * scales).astype(np.float32)
    quantized(network, network.add_convolution2d(x, weights, bias, name="main", pad_top=2))
    assert check(network, meanings) == ["Convolution2d"]
    main = network.find("main")
    data, stored, added = main.input_infos
    assert data == DATA
    assert (stored.data_type, stored.axis) == (DataType.QSYMM_S8, axis)
    assert added == TensorInfo((3,), DataType.SIGNED32)
    np.testing.assert_array_equal(main.inputs[2].constant, steps)
    assert main.output.info.scale == 0.5


@pytest.mark.parametrize("bias", [0.3, np.inf, 1e12], ids=["between", "infinite", "too_large"])
def test_a_bias_between_steps_is_kept_in_floats(bias, meanings) -> None:
    network = Network()
    x, weights = data_of(network), weights_of(network, 3, 4, 1, 1)
    made = network.add_convolution2d(x, weights, np.float32([0.25, 0, bias]) / 64)
    quantized(network, made)
    assert "Dequantize" in check(network, meanings)


def test_a_computed_bias_keeps_the_floats(meanings) -> None:
    network = Network()
    x, weights = data_of(network), weights_of(network, 3, 4, 1, 1)
    bias = network.add_input("bias", TensorInfo((3,), DataType.FLOAT32))
    quantized(network, network.add_convolution2d(x, weights, bias))
    assert fold_quantization(network, always) == 0


def test_permuted_weights_are_permuted_as_they_are_stored(meanings) -> None:
    network = Network()
    x, weights = data_of(network), weights_of(network, 4, 1, 3, 3, axis=0)
    turned = network.add_transpose(weights, dim_mappings=(1, 2, 3, 0))
    quantized(network, network.add_depthwise_convolution2d(x, turned, name="main"))
    assert check(network, meanings) == ["DepthwiseConvolution2d"]
    assert network.find("main").inputs[1].info.axis == 3


def layers_on_one_value(network: Network, x: Value) -> dict[str, Callable[[], Value]]:
    return {
        "activation": lambda: network.add_activation(x, function=ActivationFunction.HARD_SWISH),
        "mean": lambda: network.add_mean(x, axis=(2, 3), keep_dims=True),
        "pooling": lambda: network.add_pooling2d(
            x, pool_type=PoolingAlgorithm.MAX, pool_width=2, pool_height=2
        ),
        "reshape": lambda: network.add_reshape(x, target_shape=(4, 30)),
        "transpose": lambda: network.add_transpose(x, dim_mappings=(0, 2, 3, 1)),
        "fully connected": lambda: network.add_fully_connected(x, weights_of(network, 120, 7)),
        "matrices": lambda: network.add_batch_mat_mul(x, weights_of(network, 5, 3)),
        "sum with itself": lambda: network.add_addition(x, x),
        "constant operand": lambda: network.add_multiplication(x, weights_of(network, 1, 4, 1, 1)),
    }


KINDS = list(layers_on_one_value(Network(), None))


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_one_input_is_folded(kind, meanings) -> None:
    network = Network()
    made = layers_on_one_value(network, data_of(network))[kind]()
    quantized(network, made)
    assert check(network, meanings) == [made.producer.type]


@pytest.mark.parametrize("operation", [BinaryOperation.ADD, BinaryOperation.MAXIMUM])
def test_operands_of_different_types_and_scales_are_folded(operation, meanings) -> None:
    network = Network()
    other = TensorInfo((4, 1, 5), DataType.QASYMM_S8, 0.125, -3)
    x, y = data_of(network), data_of(network, "z", other)
    quantized(network, network.add_elementwise_binary(x, y, operation=operation))
    assert check(network, meanings) == ["ElementwiseBinary"]


@pytest.mark.parametrize("number", [6.0, -0.3, 0.0])
@pytest.mark.parametrize("data_type", [DataType.QASYMM_U8, DataType.QASYMM_S8])
def test_a_number_becomes_one_step_of_its_own(number, data_type, meanings) -> None:
    network = Network()
    x = data_of(network)
    total = network.add_addition(x, np.full((1, 1), number, np.float32), name="main")
    quantized(network, total, data_type, 0.5, 0)
    assert check(network, meanings) == ["Addition"]
    stored = network.find("main").inputs[1]
    assert stored.info.data_type is data_type
    assert dequantize(stored.constant, stored.info).tolist() == [[np.float32(number)]]


@pytest.mark.parametrize("operand", [np.float32(np.inf), np.float32([1, 2, 3, 4, 5])])
def test_other_constants_keep_the_floats(operand) -> None:
    network = Network()
    quantized(network, network.add_addition(data_of(network), np.atleast_1d(operand)))
    assert fold_quantization(network, always) == 0


def bounded(network: Network, **options: object) -> Value:
    made = network.add_convolution2d(data_of(network), weights_of(network, 3, 4, 2, 2), name="main")
    return network.add_activation(made, name="bounded", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"function": ActivationFunction.RELU},
        {"function": ActivationFunction.BOUNDED_RELU, "a": 6.1, "b": -0.7},
    ],
    ids=["relu", "bounds"],
)
def test_rounding_comes_before_bounds(options, meanings) -> None:
    network = Network()
    quantized(network, bounded(network, **options))
    assert check(network, meanings) == ["Convolution2d", "Activation"]
    assert network.find("main").output.info == network.find("bounded").output.info


def test_rounding_does_not_come_before_other_functions(meanings) -> None:
    network = Network()
    quantized(network, bounded(network, function=ActivationFunction.TANH))
    assert "Quantize" in check(network, meanings)


def test_conversions_between_equal_types_go(meanings) -> None:
    network = Network()
    quantized(network, data_of(network), DATA.data_type, DATA.scale, DATA.zero_point)
    assert check(network, meanings) == []


def test_conversions_between_other_types_become_one(meanings) -> None:
    network = Network()
    quantized(network, data_of(network))
    assert check(network, meanings) == ["Quantize"]


def test_unknown_dimensions_do_not_matter(meanings) -> None:
    network = Network()
    info = DATA.with_shape(("N", 4, 6, 5))
    made = network.add_convolution2d(data_of(network, info=info), weights_of(network, 3, 4, 3, 3))
    quantized(network, made)
    asked: list[TensorInfo] = []

    def accepts(stored: Network, present: EmitFloat) -> tuple[Layer, ...]:
        (layer,) = [each for each in stored.layers if each.type == "Convolution2d"]
        real = present(layer, Network(""))
        asked.extend([layer.input_infos[0], real.input_infos[0]])
        assert real.inputs[1].constant is not None
        return (layer,)

    assert check(network, meanings, accepts) == ["Convolution2d"]
    assert asked == [DATA, TensorInfo(DATA.shape)]


def test_windows_that_do_not_fit_unknown_dimensions_of_one_stay() -> None:
    network = Network()
    x = data_of(network, info=DATA.with_shape((1, 4, None, None)))
    quantized(network, network.add_convolution2d(x, weights_of(network, 3, 4, 3, 3)))
    assert fold_quantization(network, always) == 0


def folds(change: Callable[[Network], None], accepts=always) -> bool:
    network = Network()
    value = network.add_mean(data_of(network), axis=(3,), name="main")
    quantized(network, value)
    change(network)
    return fold_quantization(network, accepts) == 1


def test_a_layer_is_folded_if_a_backend_takes_it() -> None:
    assert folds(lambda _: None)
    assert not folds(lambda _: None, never)


def test_values_that_others_read_as_floats_keep_the_floats() -> None:
    assert not folds(lambda network: network.add_output("z", network.find("main").output))


def test_arithmetic_of_whole_numbers_keeps_the_floats() -> None:
    def change(network: Network) -> None:
        network.quantized_arithmetic = QuantizedArithmetic.INTEGER

    assert not folds(change)


@pytest.mark.parametrize("name", ["main", "x/real", "stored"])
def test_a_hint_of_its_own_keeps_a_layer(name) -> None:
    def change(network: Network) -> None:
        network.find(name).backend_hint = "Other"

    assert folds(change) == (name == "main")


def test_a_common_hint_stays_with_the_layer() -> None:
    network = Network()
    quantized(network, network.add_mean(data_of(network), axis=(3,), name="main"))
    for layer in network.layers:
        layer.backend_hint = "Other"

    def accepts(stored: Network, _: EmitFloat) -> list[Layer]:
        return [layer for layer in stored.layers if layer.backend_hint == "Other"]

    assert fold_quantization(network, accepts) == 1
    assert network.find("main").backend_hint == "Other"


def test_what_is_rounded_twice_stays_rounded_twice() -> None:
    network = Network()
    x = network.add_input("x", DATA)
    made = network.add_mean(x, axis=(3,), output=TensorInfo(None, *MADE))
    quantized(network, made, DataType.QASYMM_U8, 0.1, 3)
    assert fold_quantization(network, always) == 0


def test_indices_stay_as_they_are(meanings, monkeypatch) -> None:
    def gather(layer: Layer, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return np.take(x, indices, layer.descriptor.axis)

    monkeypatch.setitem(meanings, "Gather", gather)
    network = Network()
    indices = network.add_constant(np.array([2, 0], np.int32))
    quantized(network, network.add_gather(data_of(network), indices, axis=1))
    assert check(network, meanings) == ["Gather"]


def test_scales_per_axis_keep_the_floats() -> None:
    network = Network()
    value = network.add_mean(data_of(network), axis=(3,))
    info = TensorInfo(value.info.shape, DataType.QASYMM_S8, [0.1, 0.2, 0.3, 0.4], axis=1)
    network.add_output("y", network.add_quantize(value, output=info))
    assert fold_quantization(network, always) == 0


def test_layers_that_mean_something_else_of_stored_values_stay() -> None:
    network = Network()
    quantized(network, network.add_l2_normalization(data_of(network)))
    assert fold_quantization(network, always) == 0


def chain(network: Network) -> None:
    """Add a bounded convolution and two means, each quantized."""
    value = bounded(network, function=ActivationFunction.RELU)
    for axis in (3, 2):
        info = TensorInfo(value.info.shape, *MADE)
        value = network.add_dequantize(network.add_quantize(value, output=info))
        value = network.add_mean(value, axis=(axis,), name=f"mean{axis}")
    quantized(network, value)


def test_all_layers_are_asked_about_at_once(meanings) -> None:
    network, asked = Network(), list[list[str]]()
    chain(network)

    def accepts(stored: Network, _: EmitFloat) -> tuple[Layer, ...]:
        asked.append([each.name for each in stored.layers if not each.spec.no_kernel])
        return stored.layers

    assert check(network, meanings, accepts) == ["Convolution2d", "Activation", "Mean", "Mean"]
    assert asked == [["main", "bounded", "mean3", "mean2"]]


@pytest.mark.parametrize(
    ("refused", "kept"),
    [("mean3", ["mean3"]), ("main", ["main", "bounded"]), ("bounded", ["main", "bounded"])],
)
def test_only_refused_layers_keep_the_floats(refused, kept, meanings) -> None:
    network = Network()
    chain(network)

    def accepts(stored: Network, _: EmitFloat) -> list[Layer]:
        return [layer for layer in stored.layers if layer.name != refused]

    check(network, meanings, accepts)
    computing = [network.find(name) for name in ("main", "bounded", "mean3", "mean2")]
    floats = [layer.name for layer in computing if not layer.output.info.is_quantized]
    assert floats == kept
