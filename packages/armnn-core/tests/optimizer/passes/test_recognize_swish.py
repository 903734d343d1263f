# SPDX-License-Identifier: MIT
"""Products of a value with its sigmoid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType

recognize_swish = named_pass("recognize_swish")

X = np.array([-np.inf, -700.0, -3, 0, 1, 3, 700])


def gate(network: Network, x: Value, function: str = "SIGMOID") -> Value:
    return network.add_activation(x, function=ActivationFunction[function], name="gate")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_product_with_the_own_sigmoid_is_swish(is_first, compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((7,)))
    operands = (gate(network, x), x) if is_first else (x, gate(network, x))
    network.add_output("y", network.add_multiplication(*operands, name="last"))
    with np.errstate(invalid="ignore", over="ignore"):
        expected = compute(network, {"x": X})["y"]
        assert recognize_swish(network) == 1
        np.testing.assert_allclose(compute(network, {"x": X})["y"], expected, rtol=1e-12)
    last = network.find("last")
    assert last.type == "Activation"
    assert last.descriptor.function is ActivationFunction.SWISH
    assert last.descriptor.a == 1
    assert [layer.type for layer in network.layers if layer is not last] == ["Input", "Output"]
    assert recognize_swish(network) == 0


def recognizes(build: Callable[[Network, Value], Value], info: TensorInfo | None = None) -> bool:
    network = Network()
    x = network.add_input("x", info or TensorInfo((7,)))
    network.add_output("y", build(network, x))
    return recognize_swish(network) == 1


def test_other_products_stay() -> None:
    assert recognizes(lambda n, x: n.add_multiplication(x, gate(n, x)))
    assert not recognizes(lambda n, x: n.add_multiplication(x, gate(n, x, "TANH")))
    assert not recognizes(lambda n, x: n.add_addition(x, gate(n, x)))
    other = np.ones(7, np.float32)
    assert not recognizes(lambda n, x: n.add_multiplication(other, gate(n, x)))


def test_a_product_that_broadcasts_stays() -> None:
    def build(network: Network, x: Value) -> Value:
        row = network.add_reshape(x, target_shape=(1, 7))
        return network.add_multiplication(row, gate(network, x))

    assert not recognizes(build)


def test_quantized_values_round_on_the_way() -> None:
    info = TensorInfo((7,), DataType.QASYMM_U8, 0.1, 3)

    def build(network: Network, x: Value) -> Value:
        made = network.add_activation(x, function=ActivationFunction.SIGMOID, output=info)
        return network.add_multiplication(x, made, output=info)

    assert not recognizes(build, info)


def test_a_sigmoid_that_others_read_stays() -> None:
    def build(network: Network, x: Value) -> Value:
        made = gate(network, x)
        network.add_output("z", made)
        return network.add_multiplication(x, made)

    assert not recognizes(build)


def test_a_sigmoid_with_a_hint_stays() -> None:
    def build(network: Network, x: Value) -> Value:
        made = gate(network, x)
        made.producer.backend_hint = "Other"
        return network.add_multiplication(x, made)

    assert not recognizes(build)
