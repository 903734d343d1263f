# SPDX-License-Identifier: MIT
"""The Graphviz text of a network."""

from __future__ import annotations

import numpy as np
import pytest

from armnn import ActivationFunction, DataType, Network, TensorInfo
from armnn.graph.dot import to_dot
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.convolution import Convolution2dDescriptor


def small_network() -> Network:
    network = Network("small")
    x = network.add_input("x", TensorInfo((None, 2, 8, 8), DataType.FLOAT32))
    weights = network.add_constant(np.zeros((4, 2, 3, 3), np.float32), name="w")
    convolution = network.add(
        "Convolution2d", [x, weights], Convolution2dDescriptor(stride_x=2), name="conv"
    )
    bounded = ActivationDescriptor(function=ActivationFunction.BOUNDED_RELU, a=6.0)
    relu = network.add("Activation", [convolution.output], bounded, name="relu")
    network.add_output("y", relu.output)
    return network


def test_a_node_shows_type_name_parameters_off_their_default_and_constants() -> None:
    nodes = [line for line in to_dot(small_network()).splitlines() if line.startswith("  n")]
    labels = {line.split()[0]: line.split('label="')[1].split('"')[0] for line in nodes[1:5]}
    assert labels == {
        "n0": "Input\\nx",
        "n2": "Convolution2d\\nconv\\nstride_x = 2\\nweights: Float32[4,2,3,3]",
        "n3": "Activation\\nrelu\\nfunction = BoundedReLu\\na = 6",
        "n4": "Output\\ny",
    }


def test_an_edge_shows_what_flows_along_it() -> None:
    edges = [line for line in to_dot(small_network()).splitlines() if "->" in line]
    assert edges == [
        '  n0 -> n2 [label="input: Float32[?,2,8,8]"];',
        '  n2 -> n3 [label="Float32[?,4,6,3]"];',
        '  n3 -> n4 [label="Float32[?,4,6,3]"];',
    ]


def test_backends_are_named_and_each_has_its_color() -> None:
    network = small_network()
    network.find("conv").backend = "CpuAcc"
    network.find("relu").backend = "CpuRef"
    text = to_dot(network)
    assert '[label="Convolution2d on CpuAcc\\nconv' in text
    assert '[label="Activation on CpuRef\\nrelu' in text
    colors = [line.split('fillcolor="')[1][:7] for line in text.splitlines() if "fillc" in line]
    assert len(set(colors[1:3])) == 2
    assert colors[0] == colors[3] == "#f2f2f2"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ('say "hi"', 'say \\"hi\\"'),
        ("a\\b", "a\\\\b"),
        ("two\nlines", "two\\nlines"),
        ("nul\0", "nul\\\\x00"),
        ("<b>&amp;{|}", "<b>&amp;{|}"),
        ("größe", "größe"),
    ],
)
def test_names_cannot_break_out_of_their_label(name: str, written: str) -> None:
    network = Network()
    x = network.add_input(name, TensorInfo((1,), DataType.FLOAT32))
    network.add_output("y", x)
    assert f'  n0 [label="Input\\n{written}", fill' in to_dot(network)


def test_a_constant_that_is_an_output_has_a_node_of_its_own() -> None:
    network = Network()
    network.add_output("y", network.add_constant(np.zeros(2, np.float32), name="c"))
    text = to_dot(network)
    assert '[label="Constant\\nc"' in text
    assert 'n0 -> n1 [label="Float32[2]"]' in text


def test_long_parameters_are_shortened() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1,) * 8, DataType.FLOAT32))
    from armnn.layers.reshaping import PadDescriptor

    pads = PadDescriptor(pad_list=((1000, 1000),) * 8)
    network.add_output("y", network.add("Pad", [x], pads).output)
    (line,) = (line for line in to_dot(network).splitlines() if "pad_list = " in line)
    shown = line.split("pad_list = ")[1].split('"')[0]
    assert len(shown) == 60
    assert shown.startswith("((1000, 1000), ")
    assert shown.endswith("...")
