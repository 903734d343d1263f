# SPDX-License-Identifier: MIT
"""Layers that compute the same from the same values."""

from __future__ import annotations

import numpy as np
from named_pass import named_pass

from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn.types import DataType

squash_equal_siblings = named_pass("squash_equal_siblings")


def siblings(**second) -> Network:
    """Return two reshapes of one input with different arguments."""
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    first = {"target_shape": (3, 2)}
    network.add_output("y", network.add_reshape(x, **first, name="first"))
    network.add_output("z", network.add_reshape(x, **{**first, **second}, name="second"))
    return network


def test_equal_siblings_become_the_older_one() -> None:
    network = siblings()
    assert squash_equal_siblings(network) == 1
    assert [layer.inputs for layer in network.outputs] == [(network.find("first").output,)] * 2
    assert [layer.name for layer in network.layers] == ["x", "first", "y", "z"]
    assert squash_equal_siblings(network) == 0


def test_what_equal_siblings_feed_becomes_one_too(compute) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    ends = [
        network.add_floor(network.add_addition(x, network.add_transpose(x, dim_mappings=(0, 1))))
        for _ in range(2)
    ]
    network.add_output("y", network.add_multiplication(*ends))
    assert squash_equal_siblings(network) == 3
    first, second = network.outputs[0].inputs[0].producer.inputs
    assert first is second


def test_layers_of_several_outputs_become_one() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    parts = [network.add_splitter(x, axis=0, sizes=(1, 3)) for _ in range(2)]
    network.add_output("y", parts[0][1])
    network.add_output("z", parts[1][1])
    assert squash_equal_siblings(network) == 1
    assert network.outputs[1].inputs == (parts[0][1],)


def test_other_parameters_keep_them_apart() -> None:
    assert squash_equal_siblings(siblings(target_shape=(6,))) == 0


def test_another_output_type_keeps_them_apart() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    for name, data_type in (("y", DataType.SIGNED32), ("z", DataType.SIGNED64)):
        network.add_output(name, network.add_cast(x, output=data_type))
    assert squash_equal_siblings(network) == 0


def test_another_backend_hint_keeps_them_apart() -> None:
    network = siblings()
    network.find("second").backend_hint = "A"
    assert squash_equal_siblings(network) == 0


def test_other_inputs_or_another_order_of_them_keep_them_apart() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    constant = network.add_constant(np.float32([1, 2]))
    network.add_output("a", network.add_subtraction(x, constant))
    network.add_output("b", network.add_subtraction(constant, x))
    network.add_output("c", network.add_subtraction(x, np.float32([1, 2])))
    assert squash_equal_siblings(network) == 0


def test_inputs_outputs_and_debug_layers_stay() -> None:
    network = Network()
    for name in ("a", "b"):
        network.add_input(name, TensorInfo((2,)))
    x = network.inputs[0].output
    for name in ("y", "z"):
        network.add_output(name, network.add("Debug", [x]).output)
    assert squash_equal_siblings(network) == 0
