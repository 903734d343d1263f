# SPDX-License-Identifier: MIT
"""A bias or scale that a model writes as arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, BinaryOperation, DataLayout, DataType

fold_channel_arithmetic = named_pass("fold_channel_arithmetic")

CHANNELS = 4
RANDOM = np.random.default_rng(11)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.5, 2.0, shape).astype(np.float32)


def convolution(network: Network, layout: DataLayout = DataLayout.NCHW) -> Value:
    if layout is DataLayout.NCHW:
        x = network.add_input("x", TensorInfo(("N", 3, 4, 4)))
        weights = numbers(CHANNELS, 3, 2, 2)
    else:
        x = network.add_input("x", TensorInfo(("N", 4, 4, 3)))
        weights = numbers(CHANNELS, 2, 2, 3)
    return network.add_convolution2d(x, weights, data_layout=layout, name="main")


def folds(network: Network, compute) -> bool:
    """Run the pass and check that the results stay."""
    shape = [2 if dim == "N" else dim for dim in network.inputs[0].output.info.shape]
    feeds = {"x": numbers(*shape)}
    expected = compute(network, feeds)
    info = network.outputs[0].input_infos
    changes = fold_channel_arithmetic(network)
    for name, array in compute(network, feeds).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-6)
    assert network.outputs[0].input_infos == info
    return changes == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("operation", "folded"),
    [
        (BinaryOperation.ADD, (True, True)),
        (BinaryOperation.SUB, (True, True)),
        (BinaryOperation.MUL, (True, True)),
        (BinaryOperation.DIV, (True, False)),
        (BinaryOperation.MAXIMUM, (False, False)),
    ],
)
def test_arithmetic_that_is_linear_is_folded(operation, folded, first: bool, compute) -> None:
    network = Network()
    conv = convolution(network)
    constant = network.add_constant(numbers(1, CHANNELS, 1, 1))
    operands = (conv, constant) if first else (constant, conv)
    network.add_output("y", network.add_elementwise_binary(*operands, operation=operation))
    assert folds(network, compute) == (folded[0] if first else folded[1])
    is_left = network.outputs[0].inputs[0].producer.name == "main"
    assert is_left == (folded[0] if first else folded[1])


@pytest.mark.parametrize("kind", ["addition", "subtraction", "multiplication", "division"])
def test_the_older_layer_types_are_folded_too(kind: str, compute) -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", getattr(network, f"add_{kind}")(conv, numbers(CHANNELS, 1, 1)))
    assert folds(network, compute)


@pytest.mark.parametrize(
    ("layout", "shape", "folded"),
    [
        (DataLayout.NCHW, (), True),
        (DataLayout.NCHW, (1,), True),
        (DataLayout.NCHW, (1, 1, 1, 1), True),
        (DataLayout.NCHW, (1, CHANNELS, 1, 1), True),
        (DataLayout.NHWC, (CHANNELS,), True),
        (DataLayout.NHWC, (1, 1, 1, CHANNELS), True),
        (DataLayout.NCHW, (3,), False),
        (DataLayout.NHWC, (3, 1), False),
        (DataLayout.NCHW, (CHANNELS, 3, 3), False),
        (DataLayout.NCHW, (1, 1, CHANNELS, 1, 1), False),
    ],
)
def test_a_constant_may_vary_along_the_channels_only(layout, shape, folded, compute) -> None:
    network = Network()
    conv = convolution(network, layout)
    network.add_output("y", network.add_multiplication(conv, numbers(*shape)))
    assert folds(network, compute) == folded


def test_scale_and_shift_in_a_row_are_folded(compute) -> None:
    network = Network()
    scaled = network.add_multiplication(convolution(network), numbers(CHANNELS, 1, 1))
    network.add_output("y", network.add_addition(scaled, numbers(CHANNELS, 1, 1)))
    feeds = {"x": numbers(1, 3, 4, 4)}
    expected = compute(network, feeds)["y"]
    assert fold_channel_arithmetic(network) == 2
    assert fold_channel_arithmetic(network) == 0
    np.testing.assert_allclose(compute(network, feeds)["y"], expected, rtol=1e-6)


def test_a_matrix_product_takes_its_bias(compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(("N", 3)))
    product = network.add_fully_connected(x, numbers(3, CHANNELS), name="main")
    network.add_output("y", network.add_addition(product, numbers(CHANNELS)))
    assert folds(network, compute)
    assert len(network.find("main").inputs) == 3


@pytest.mark.parametrize(
    ("function", "folded"), [(ActivationFunction.LINEAR, True), (ActivationFunction.RELU, False)]
)
def test_the_linear_activation_is_folded_and_no_other(function, folded, compute) -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", network.add_activation(conv, function=function, a=0.25, b=-0.5))
    assert folds(network, compute) == folded


def test_division_by_zero_stays() -> None:
    network = Network()
    divisor = np.array([1, 0, 1, 1], np.float32).reshape(CHANNELS, 1, 1)
    network.add_output("y", network.add_division(convolution(network), divisor))
    assert fold_channel_arithmetic(network) == 0


def test_a_second_reader_or_an_output_keeps_the_arithmetic() -> None:
    for as_output in (True, False):
        network = Network()
        conv = convolution(network)
        network.add_output("y", network.add_addition(conv, numbers(CHANNELS, 1, 1)))
        network.add_output("z", conv if as_output else network.add_activation(conv))
        assert fold_channel_arithmetic(network) == 0


def test_a_value_added_to_itself_is_no_constant() -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", network.add_addition(conv, conv))
    assert fold_channel_arithmetic(network) == 0


def test_a_computed_operand_keeps_the_arithmetic() -> None:
    network = Network()
    conv = convolution(network)
    other = network.add_input("other", TensorInfo((CHANNELS, 1, 1)))
    network.add_output("y", network.add_addition(conv, other))
    assert fold_channel_arithmetic(network) == 0


def test_another_backend_hint_keeps_the_arithmetic() -> None:
    network = Network()
    conv = convolution(network)
    network.add_output("y", network.add_addition(conv, numbers(CHANNELS, 1, 1), name="add"))
    network.find("add").backend_hint = "A"
    assert fold_channel_arithmetic(network) == 0
    network.find("main").backend_hint = "A"
    assert fold_channel_arithmetic(network) == 1


def test_arithmetic_behind_any_other_layer_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 4)))
    network.add_output("y", network.add_addition(x, numbers(4)))
    assert fold_channel_arithmetic(network) == 0


def test_an_unknown_rank_keeps_the_arithmetic() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(None))
    conv = network.add_convolution2d(x, numbers(CHANNELS, 3, 1, 1))
    network.add_output("y", network.add_addition(conv, np.array(1, np.float32)))
    assert fold_channel_arithmetic(network) == 0


def test_a_result_of_another_type_keeps_the_arithmetic() -> None:
    network = Network()
    conv = convolution(network)
    scaled = network.add_multiplication(conv, numbers(CHANNELS, 1, 1), output=DataType.FLOAT16)
    network.add_output("y", scaled)
    assert fold_channel_arithmetic(network) == 0


def test_one_channel_that_becomes_several_keeps_the_arithmetic() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3, 2, 2)))
    conv = network.add_convolution2d(x, numbers(1, 3, 1, 1))
    network.add_output("y", network.add_multiplication(conv, numbers(3, 1, 1)))
    assert fold_channel_arithmetic(network) == 0


def test_a_convolution_of_integers_takes_no_arithmetic() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 1, 3, 3), DataType.UNSIGNED8))
    sums = network.add_convolution_integer(x, np.ones((2, 1, 1, 1), np.int8))
    network.add_output("y", network.add_addition(sums, np.int32(3)))
    assert fold_channel_arithmetic(network) == 0
