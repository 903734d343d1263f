# SPDX-License-Identifier: MIT
"""Maximum and Minimum with numbers."""

from __future__ import annotations

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, BinaryOperation, DataType

max_min_into_bounded_relu = named_pass("max_min_into_bounded_relu")


def clipped(low: object, high: object, *, max_first: bool = True, dtype=np.float32) -> Network:
    network = Network()
    value = network.add_input("x", TensorInfo((4,), DataType.from_numpy(dtype)))
    low, high = np.asarray(low, dtype), np.asarray(high, dtype)

    def maximum(value: Value) -> Value:
        return network.add_maximum(value, low, name="low")

    def minimum(value: Value) -> Value:
        return network.add_minimum(high, value, name="high")

    for step in (maximum, minimum) if max_first else (minimum, maximum):
        value = step(value)
    network.add_output("y", value)
    return network


@pytest.mark.parametrize("max_first", [True, False])
@pytest.mark.parametrize("low", [-0.5, [-0.5]])
def test_both_orders_become_bounded_relu(max_first: bool, low, compute) -> None:
    network = clipped(low, 6, max_first=max_first)
    feeds = {"x": np.array([-np.inf, -0.25, 5, 7])}
    expected = compute(network, feeds)["y"]
    assert max_min_into_bounded_relu(network) == 1
    layer = network.find("high" if max_first else "low")
    assert layer.type == "Activation"
    assert layer.descriptor.function is ActivationFunction.BOUNDED_RELU
    assert (layer.descriptor.a, layer.descriptor.b) == (6, -0.5)
    assert [other.type for other in network.layers if other is not layer] == ["Input", "Output"]
    np.testing.assert_array_equal(compute(network, feeds)["y"], expected)
    assert max_min_into_bounded_relu(network) == 0


def test_the_general_binary_layer_is_known_too() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    low = network.add_elementwise_binary(
        x, np.array(0, np.float32), operation=BinaryOperation.MAXIMUM
    )
    network.add_output(
        "y",
        network.add_elementwise_binary(
            low, np.array(1, np.float32), operation=BinaryOperation.MINIMUM
        ),
    )
    assert max_min_into_bounded_relu(network) == 1


def test_bounds_that_are_crossed_mean_the_last_one() -> None:
    network = clipped(3, 2)
    assert max_min_into_bounded_relu(network) == 1
    assert network.find("high").descriptor.b == 3
    assert max_min_into_bounded_relu(clipped(3, 2, max_first=False)) == 0


def test_bounds_per_element_stay() -> None:
    assert max_min_into_bounded_relu(clipped([1, 2, 3, 4], 6)) == 0
    assert max_min_into_bounded_relu(clipped(1, [2, 3, 4, 5])) == 0


def test_a_bound_that_adds_an_axis_stays() -> None:
    assert max_min_into_bounded_relu(clipped([[1]], 6)) == 0


def test_a_bound_that_is_computed_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    bound = network.add_input("bound", TensorInfo(()))
    network.add_output(
        "y", network.add_minimum(network.add_maximum(x, bound), np.array(6, np.float32))
    )
    assert max_min_into_bounded_relu(network) == 0


def test_integers_stay() -> None:
    assert max_min_into_bounded_relu(clipped(0, 6, dtype=np.int32)) == 0


def test_a_second_reader_in_between_keeps_both() -> None:
    network = clipped(0, 6)
    network.add_output("z", network.find("low").output)
    assert max_min_into_bounded_relu(network) == 0


def test_another_backend_hint_keeps_both() -> None:
    network = clipped(0, 6)
    network.find("low").backend_hint = "A"
    assert max_min_into_bounded_relu(network) == 0
    network.find("high").backend_hint = "A"
    assert max_min_into_bounded_relu(network) == 1
    assert network.find("high").backend_hint == "A"


def test_two_maxima_are_no_bounds() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    network.add_output(
        "y",
        network.add_maximum(
            network.add_maximum(x, np.array(0, np.float32)), np.array(1, np.float32)
        ),
    )
    assert max_min_into_bounded_relu(network) == 0


def test_a_result_of_another_type_keeps_both() -> None:
    network = Network()
    low = network.add_maximum(network.add_input("x", TensorInfo((4,))), np.zeros((), np.float32))
    high = np.ones((), np.float32)
    network.add_output("y", network.add_minimum(low, high, output=DataType.FLOAT16))
    assert max_min_into_bounded_relu(network) == 0
