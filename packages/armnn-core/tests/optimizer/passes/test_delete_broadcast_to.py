# SPDX-License-Identifier: MIT
"""BroadcastTo in front of layers that broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import DataType

delete_broadcast_to = named_pass("delete_broadcast_to")


def wide(network: Network, target: tuple[int, ...] = (2, 3), name: str = "x") -> Value:
    x = network.add_input(name, TensorInfo((1, 3)))
    return network.add_broadcast_to(x, broadcast_to_shape=target, name=f"wide {name}")


def full(network: Network, *shape: int | None) -> Value:
    return network.add_input("full", TensorInfo(shape or (2, 3)))


@pytest.mark.parametrize("first", [True, False])
def test_the_layer_broadcasts_itself(first: bool, compute) -> None:
    network = Network()
    operands = [wide(network), full(network)]
    y = network.add_subtraction(*(operands if first else reversed(operands)), name="main")
    network.add_output("y", y)
    feeds = {"x": np.float32([[1, 2, 3]]), "full": np.arange(6).reshape(2, 3)}
    expected = compute(network, feeds)["y"]
    assert delete_broadcast_to(network) == 1
    assert [layer.type for layer in network.layers].count("BroadcastTo") == 0
    np.testing.assert_array_equal(compute(network, feeds)["y"], expected)
    assert delete_broadcast_to(network) == 0


def test_all_operands_of_a_choice_are_looked_at() -> None:
    network = Network()
    condition = network.add_input("condition", TensorInfo((2, 3), DataType.BOOLEAN))
    network.add_output("y", network.add_where(condition, wide(network), wide(network, name="z")))
    assert delete_broadcast_to(network) == 2


def test_one_of_two_operands_stays_if_it_makes_the_shape() -> None:
    network = Network()
    network.add_output("y", network.add_addition(wide(network), wide(network, name="z")))
    assert delete_broadcast_to(network) == 1
    assert network.outputs[0].input_infos[0].shape == (2, 3)


def test_it_stays_if_it_makes_the_shape_of_the_output() -> None:
    network = Network()
    network.add_output("y", network.add_addition(wide(network, (4, 2, 3)), full(network)))
    assert delete_broadcast_to(network) == 0


def test_it_stays_where_the_shape_of_the_output_is_not_known() -> None:
    network = Network()
    network.add_output("y", network.add_addition(wide(network), full(network, None, 3)))
    network.outputs[0].inputs[0].info = TensorInfo((None, 3))
    assert delete_broadcast_to(network) == 0


def test_it_stays_in_front_of_a_layer_that_does_not_broadcast() -> None:
    network = Network()
    network.add_output("y", network.add_floor(wide(network)))
    network.add_output("z", network.add_concat([wide(network, name="z"), full(network)], axis=0))
    assert delete_broadcast_to(network) == 0


def test_it_stays_for_those_that_need_it() -> None:
    network = Network()
    value = wide(network)
    network.add_output("wide", value)
    network.add_output("y", network.add_addition(value, full(network), name="main"))
    assert delete_broadcast_to(network) == 1
    assert network.outputs[0].inputs == (value,)
    assert network.find("main").inputs[0].producer.type == "Input"


def test_another_backend_hint_keeps_it() -> None:
    network = Network()
    network.add_output("y", network.add_addition(wide(network), full(network)))
    network.find("wide x").backend_hint = "A"
    assert delete_broadcast_to(network) == 0


def test_one_that_changes_the_quantization_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 3), DataType.QASYMM_U8, 0.5))
    info = TensorInfo((2, 3), DataType.QASYMM_U8, 0.25)
    y = network.add_broadcast_to(x, broadcast_to_shape=(2, 3), output=info)
    other = network.add_input("other", info)
    network.add_output("y", network.add_addition(y, other, output=info))
    assert delete_broadcast_to(network) == 0
