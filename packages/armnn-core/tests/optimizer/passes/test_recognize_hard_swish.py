# SPDX-License-Identifier: MIT
"""The ways in which models write HardSwish."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType

recognize_hard_swish = named_pass("recognize_hard_swish")

X = np.array([-np.inf, -4, -3, -1.5, 0, 1, 2.999, 3, 100])


def number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def clip(network: Network, value: Value, high: float, low: float = 0.0) -> Value:
    return network.add_activation(
        value, function=ActivationFunction.BOUNDED_RELU, a=high, b=low, name="clip"
    )


def line(network: Network, value: Value, a: float, b: float) -> Value:
    return network.add_activation(value, function=ActivationFunction.LINEAR, a=a, b=b)


def paddle(network: Network, x: Value) -> Value:
    gate = clip(network, network.add_addition(x, number(3)), 6)
    return network.add_division(network.add_multiplication(x, gate), number(6), name="last")


def divided_before(network: Network, x: Value) -> Value:
    gate = clip(network, network.add_addition(number(3), x), 6)
    return network.add_multiplication(network.add_division(gate, number(6)), x, name="last")


def multiplied(network: Network, x: Value) -> Value:
    gate = clip(network, network.add_subtraction(x, number(-3)), 6)
    product = network.add_multiplication(gate, x)
    return network.add_multiplication(number(1 / 6), product, name="last")


def hard_sigmoid(network: Network, x: Value) -> Value:
    gate = clip(network, line(network, x, 1 / 6, 0.5), 1)
    return network.add_multiplication(x, gate, name="last")


def scaled_and_shifted(network: Network, x: Value) -> Value:
    gate = network.add_addition(network.add_division(x, number(6)), number(0.5))
    return network.add_multiplication(x, clip(network, gate, 1), name="last")


WAYS: tuple[Callable[[Network, Value], Value], ...] = (
    paddle,
    divided_before,
    multiplied,
    hard_sigmoid,
    scaled_and_shifted,
)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_becomes_the_activation(way, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    network.add_output("y", way(network, x))
    with np.errstate(invalid="ignore"):  # -inf times zero, before and after
        expected = compute(network, {"x": X})["y"]
        assert recognize_hard_swish(network) == 1
        layer = network.find("last")
        assert layer.type == "Activation"
        assert layer.descriptor.function is ActivationFunction.HARD_SWISH
        assert [other.type for other in network.layers if other is not layer] == ["Input", "Output"]
        np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)
    assert recognize_hard_swish(network) == 0


@pytest.mark.parametrize("way", WAYS)
def test_arithmetic_before_it_stays_outside(way, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    scaled = network.add_multiplication(x, number(2), name="scaled")
    network.add_output("y", way(network, scaled))
    assert recognize_hard_swish(network) == 1
    assert network.find("last").inputs == (scaled,)


def test_an_unknown_shape_does_not_hinder() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(("N", None)))
    network.add_output("y", paddle(network, x))
    assert recognize_hard_swish(network) == 1


@pytest.mark.parametrize(
    ("offset", "low", "high", "divisor"),
    [(2, 0, 6, 6), (3, -1, 6, 6), (3, 0, 5, 6), (3, 0, 6, 5), (-3, 0, 6, 6)],
)
def test_other_numbers_are_no_hard_swish(offset, low, high, divisor) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    gate = clip(network, network.add_addition(x, number(offset)), high, low)
    product = network.add_multiplication(x, gate)
    network.add_output("y", network.add_division(product, number(divisor)))
    assert recognize_hard_swish(network) == 0


def test_the_hard_sigmoid_of_another_slope_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    gate = clip(network, line(network, x, 0.2, 0.5), 1)
    network.add_output("y", network.add_multiplication(x, gate))
    assert recognize_hard_swish(network) == 0


def test_a_gate_of_another_value_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    z = network.add_input("z", TensorInfo((9,)))
    gate = clip(network, line(network, z, 1 / 6, 0.5), 1)
    network.add_output("y", network.add_multiplication(x, gate))
    assert recognize_hard_swish(network) == 0


def test_a_number_added_to_the_product_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    product = network.add_multiplication(x, clip(network, network.add_addition(x, number(3)), 6))
    shifted = network.add_addition(product, number(1))
    network.add_output("y", network.add_division(shifted, number(6)))
    assert recognize_hard_swish(network) == 0


@pytest.mark.parametrize("above", [True, False])
def test_a_product_below_a_number_or_above_zero_stays(above: bool) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    product = network.add_multiplication(x, clip(network, network.add_addition(x, number(3)), 6))
    quotient = (product, number(0)) if above else (number(6), product)
    network.add_output("y", network.add_division(*quotient))
    assert recognize_hard_swish(network) == 0


def test_another_activation_is_no_clip() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    gate = network.add_activation(
        line(network, x, 1 / 6, 0.5), function=ActivationFunction.LEAKY_RELU, a=1
    )
    network.add_output("y", network.add_multiplication(x, gate))
    assert recognize_hard_swish(network) == 0


def test_a_result_of_another_type_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    gate = clip(network, line(network, x, 1 / 6, 0.5), 1)
    network.add_output("y", network.add_multiplication(x, gate, output=DataType.FLOAT16))
    assert recognize_hard_swish(network) == 0


def test_the_result_may_have_any_number_of_readers() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    last = hard_sigmoid(network, x)
    network.add_output("y", last)
    network.add_output("z", network.add_multiplication(last, last))
    assert recognize_hard_swish(network) == 1


def test_a_number_added_at_the_end_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    gate = clip(network, line(network, x, 1 / 6, 0.5), 1)
    shifted = network.add_addition(gate, number(1))
    network.add_output("y", network.add_multiplication(x, shifted))
    assert recognize_hard_swish(network) == 0


def test_a_second_reader_on_the_way_keeps_it_as_it_is() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    network.add_output("y", paddle(network, x))
    network.add_output("z", network.find("clip").output)
    assert recognize_hard_swish(network) == 0


def test_another_backend_hint_on_the_way_keeps_it_as_it_is() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    network.add_output("y", paddle(network, x))
    network.find("clip").backend_hint = "A"
    assert recognize_hard_swish(network) == 0


def test_quantized_arithmetic_stays_as_it_rounds_on_the_way() -> None:
    network = Network()
    info = TensorInfo((9,), DataType.QASYMM_S8, 0.1, 0)
    x = network.add_input("x", info)
    gate = clip(network, line(network, x, 1 / 6, 0.5), 1)
    network.add_output("y", network.add_multiplication(x, gate))
    assert recognize_hard_swish(network) == 0
