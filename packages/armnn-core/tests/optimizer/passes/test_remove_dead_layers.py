# SPDX-License-Identifier: MIT
"""Layers that no output depends on."""

from __future__ import annotations

import numpy as np
from named_pass import named_pass

from armnn.graph import Network
from armnn.tensor import TensorInfo

remove_dead_layers = named_pass("remove_dead_layers")


def test_what_no_output_depends_on_goes() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    network.add_output("y", network.add_floor(x, name="live"))
    dead = network.add_addition(x, np.float32([1, 2]), name="dead")
    network.add_floor(dead)
    assert remove_dead_layers(network) == 3
    assert [layer.name for layer in network.layers] == ["x", "live", "y"]
    assert network.inputs[0].output.consumers == (network.find("live"),)
    assert remove_dead_layers(network) == 0


def test_inputs_that_nothing_reads_stay() -> None:
    network = Network()
    network.add_input("unused", TensorInfo((2,)))
    network.add_output("y", network.add_input("x", TensorInfo((2,))))
    assert remove_dead_layers(network) == 0
    assert [layer.name for layer in network.inputs] == ["unused", "x"]


def test_one_of_several_outputs_keeps_a_layer() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    _, second = network.add_splitter(x, axis=0, sizes=(1, 3))
    network.add_output("y", second)
    assert remove_dead_layers(network) == 0
