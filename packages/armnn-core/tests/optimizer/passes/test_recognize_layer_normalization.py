# SPDX-License-Identifier: MIT
"""The ways in which models write LayerNormalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    ReduceOperation,
    UnaryOperation,
)

recognize_layer_normalization = named_pass("recognize_layer_normalization")

SHAPE = (2, 3, 4)
X = np.random.default_rng(3).uniform(-3, 3, SHAPE)
GAMMA = np.array([0.5, 2, -1, 3], np.float32)
BETA = np.array([1, -1, 0, 5], np.float32)


def number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def mean(network: Network, value: Value, *axes: int, name: str | None = None) -> Value:
    return network.add_mean(value, axis=axes, keep_dims=True, name=name)


def power(network: Network, value: Value) -> Value:
    return network.add_elementwise_binary(value, number(2), operation=BinaryOperation.POWER)


def square(network: Network, value: Value) -> Value:
    return network.add_activation(value, function=ActivationFunction.SQUARE)


def times_itself(network: Network, value: Value) -> Value:
    return network.add_multiplication(value, value)


def normalized(
    network: Network,
    x: Value,
    axes: tuple[int, ...] = (-1,),
    squared: Callable[[Network, Value], Value] = power,
    root: str = "sqrt",
    eps: float = 1e-5,
) -> Value:
    centered = network.add_subtraction(x, mean(network, x, *axes), name="centered")
    variance = mean(network, squared(network, centered), *axes, name="variance")
    shifted = network.add_addition(variance, number(eps))
    if root == "rsqrt":
        inverse = network.add_elementwise_unary(shifted, operation=UnaryOperation.RSQRT)
        return network.add_multiplication(inverse, centered, name="last")
    if root == "activation":
        deviation = network.add_activation(shifted, function=ActivationFunction.SQRT)
    else:
        deviation = network.add_elementwise_unary(shifted, operation=UnaryOperation.SQRT)
    return network.add_division(centered, deviation, name="last")


WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"squared": square, "root": "rsqrt"},
    {"squared": times_itself, "root": "activation"},
    {"axes": (1, 2)},
    {"axes": (-1, -2, 0), "eps": 0.5},
)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_becomes_the_layer(way, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    network.add_output("y", normalized(network, x, **way))
    expected = compute(network, {"x": X})["y"]
    assert recognize_layer_normalization(network) == 1
    layer = network.find("last")
    assert layer.type == "LayerNormalization"
    assert [other.type for other in network.layers if other is not layer] == ["Input", "Output"]
    np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)
    assert recognize_layer_normalization(network) == 0


def test_factor_and_addend_become_gamma_and_beta(compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    scaled = network.add_multiplication(GAMMA, normalized(network, x))
    network.add_output("y", network.add_addition(scaled, BETA, name="sum"))
    expected = compute(network, {"x": X})["y"]
    assert recognize_layer_normalization(network) == 3
    layer = network.find("sum")
    assert layer.type == "LayerNormalization"
    assert [value.constant.tolist() for value in layer.inputs[1:]] == [
        GAMMA.tolist(),
        BETA.tolist(),
    ]
    np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)
    assert recognize_layer_normalization(network) == 0


def test_an_addend_without_a_factor_becomes_beta(compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    shifted = network.add_addition(normalized(network, x), BETA)
    network.add_output("y", network.add_multiplication(shifted, GAMMA, name="product"))
    expected = compute(network, {"x": X})["y"]
    assert recognize_layer_normalization(network) == 2
    assert network.find("product").type == "Multiplication"
    np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "constant", [np.ones((3, 4), np.float32), np.ones((1, 1, 4), np.float32)], ids=str
)
def test_a_factor_along_other_axes_stays(constant) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    network.add_output("y", network.add_multiplication(normalized(network, x), constant))
    assert recognize_layer_normalization(network) == 1


def test_what_others_read_keeps_its_factor_outside() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    made = normalized(network, x)
    network.add_output("y", network.add_multiplication(made, GAMMA))
    network.add_output("z", made)
    assert recognize_layer_normalization(network) == 1


@pytest.mark.parametrize("what", ["axes", "inner axes", "dims", "sum", "eps", "x", "read", "hint"])
def test_what_is_something_else_stays(what) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    z = network.add_input("z", TensorInfo((2, 3, 1) if what != "x" else SHAPE))
    first = (1,) if what == "inner axes" else (2,)
    if what == "sum":
        center = network.add_reduce(
            x, axis=first, keep_dims=True, reduce_operation=ReduceOperation.SUM
        )
    else:
        center = mean(network, z if what == "x" else x, *first)
    centered = network.add_subtraction(x, center, name="centered")
    second = (1, 2) if what == "axes" else first
    variance = network.add_mean(power(network, centered), axis=second, keep_dims=what != "dims")
    if what == "dims":
        variance = network.add_reshape(variance, target_shape=(2, 3, 1))
    shifted = network.add_addition(variance, z if what == "eps" else number(1e-5))
    root = network.add_elementwise_unary(shifted, operation=UnaryOperation.SQRT)
    network.add_output("y", network.add_division(centered, root))
    if what == "read":
        network.add_output("centered_too", centered)
    if what == "hint":
        network.find("centered").backend_hint = "CpuRef"
    assert recognize_layer_normalization(network) == 0


def test_unknown_dimensions_do_not_hinder_but_an_unknown_rank_does() -> None:
    for shape, count in ((("N", None, 4), 1), (None, 0)):
        network = Network()
        x = network.add_input("x", TensorInfo(shape))
        network.add_output("y", normalized(network, x))
        assert recognize_layer_normalization(network) == count


def test_integers_stay() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE, DataType.SIGNED32))
    centered = network.add_subtraction(x, mean(network, x, -1))
    network.add_output("y", network.add_division(centered, np.array(2, np.int32)))
    assert recognize_layer_normalization(network) == 0
