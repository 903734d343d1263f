# SPDX-License-Identifier: MIT
"""The ways in which models write Gelu."""

from __future__ import annotations

import math

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType, UnaryOperation

recognize_gelu = named_pass("recognize_gelu")

X = np.array([-9, -2.5, -1, -0.1, 0, 0.3, 1, 2, 8])


def number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def erf(network: Network, value: Value) -> Value:
    return network.add_elementwise_unary(value, operation=UnaryOperation.ERF, name="erf")


def torch(network: Network, x: Value) -> Value:
    inner = erf(network, network.add_division(x, number(math.sqrt(2))))
    product = network.add_multiplication(x, network.add_addition(inner, number(1)))
    return network.add_multiplication(product, number(0.5), name="last")


def half_before(network: Network, x: Value) -> Value:
    inner = erf(network, network.add_multiplication(number(math.sqrt(0.5)), x))
    half = network.add_multiplication(x, number(0.5))
    return network.add_multiplication(half, network.add_addition(number(1), inner), name="last")


def half_inside(network: Network, x: Value) -> Value:
    inner = erf(network, network.add_division(x, number(math.sqrt(2))))
    gate = network.add_activation(inner, function=ActivationFunction.LINEAR, a=0.5, b=0.5)
    return network.add_multiplication(gate, x, name="last")


WAYS = (torch, half_before, half_inside)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_becomes_the_activation(way, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    network.add_output("y", way(network, x))
    expected = compute(network, {"x": X})["y"]
    assert recognize_gelu(network) == 1
    layer = network.find("last")
    assert layer.descriptor.function is ActivationFunction.GELU
    assert [other.type for other in network.layers if other is not layer] == ["Input", "Output"]
    np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)
    assert recognize_gelu(network) == 0


@pytest.mark.parametrize("way", WAYS)
def test_arithmetic_around_it_stays_outside(way, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    scaled = network.add_multiplication(x, number(2), name="scaled")
    network.add_output("y", network.add_addition(way(network, scaled), number(3)))
    expected = compute(network, {"x": X})["y"]
    assert recognize_gelu(network) == 1
    assert network.find("last").inputs == (scaled,)
    np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)


def test_an_unknown_shape_does_not_hinder_and_constants_may_be_halves() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(("N", None), DataType.FLOAT16))
    inner = erf(network, network.add_division(x, np.array(math.sqrt(2), np.float16)))
    gate = network.add_addition(inner, np.array(1, np.float16))
    product = network.add_multiplication(x, gate)
    network.add_output("y", network.add_multiplication(product, np.array(0.5, np.float16)))
    assert recognize_gelu(network) == 1


@pytest.mark.parametrize(
    ("divisor", "added", "factor"), [(1.4, 1, 0.5), (math.sqrt(2), 0.9, 0.5), (math.sqrt(2), 1, 1)]
)
def test_other_numbers_are_no_gelu(divisor, added, factor) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    inner = erf(network, network.add_division(x, number(divisor)))
    product = network.add_multiplication(x, network.add_addition(inner, number(added)))
    network.add_output("y", network.add_multiplication(product, number(factor)))
    assert recognize_gelu(network) == 0


@pytest.mark.parametrize("what", ["another value", "another function", "another reader", "a hint"])
def test_what_is_something_else_stays(what) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((9,)))
    z = network.add_input("z", TensorInfo((9,)))
    inner = network.add_division(z if what == "another value" else x, number(math.sqrt(2)))
    function = UnaryOperation.SIN if what == "another function" else UnaryOperation.ERF
    wave = network.add_elementwise_unary(inner, operation=function, name="wave")
    product = network.add_multiplication(x, network.add_addition(wave, number(1)))
    network.add_output("y", network.add_multiplication(product, number(0.5)))
    if what == "another reader":
        network.add_output("wave_too", wave)
    if what == "a hint":
        network.find("wave").backend_hint = "CpuRef"
    assert recognize_gelu(network) == 0
