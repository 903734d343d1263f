# SPDX-License-Identifier: MIT
"""Printed networks: parsed, optimized and loaded ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from armnn import DataType, Network, Runtime, TensorInfo
from armnn.layers.convolution import Convolution2dDescriptor
from armnn.layers.reshaping import PadDescriptor
from armnn.types import ActivationFunction
from fakes import Plugin, installed

# Only does Additions; Rest does all.
SOURCE = """\
from armnn.backends import SUPPORTED, Support
from fakes import NullBackend

class Adder(NullBackend):
    id = "Adder"

    def supports(self, layer, model):
        return SUPPORTED if layer.type == "Addition" else Support.no("it only adds")

class Rest(NullBackend):
    id = "Rest"
"""
PLUGIN = Plugin(
    "armnn-backend-two",
    "0.1",
    requires=("armnn-backend-api>=1.0,<2",),
    entry_points={"armnn.backends": {"Adder": "armnn_two:Adder", "Rest": "armnn_two:Rest"}},
    modules={"armnn_two": SOURCE},
)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    """Return a runtime with two backends."""
    with installed(tmp_path, PLUGIN, alone=True), Runtime() as made:
        yield made


def sum_network(rows: int | str) -> Network:
    network = Network("sum")
    a = network.add_input("a", TensorInfo((rows, 3)))
    b = network.add_input("b", TensorInfo((1, 3)))
    total = network.add_addition(a, b, name="total")
    relu = network.add_activation(total, function=ActivationFunction.RELU, name="relu")
    network.add_output("y", relu)
    return network


def test_a_network_is_shown_line_by_line() -> None:
    network = Network("picture")
    x = network.add_input("x", TensorInfo(("n", 2, 8, 8), DataType.FLOAT32))
    weights = np.zeros((4, 2, 3, 3), np.float32)
    strides = Convolution2dDescriptor(stride_x=2)
    y = network.add("Convolution2d", [x, network.add_constant(weights)], strides, name="conv")
    network.find("conv").backend = "CpuAcc"
    network.add_output("y", network.add_floor(y.output, name="down"))
    given = "weights=Float32[4,2,3,3]"
    assert str(network) == "\n".join(
        [
            "Network 'picture': 1 input, 2 layers, 1 output",
            "inputs:",
            "  x: Float32[n,2,8,8]",
            "layers:",
            f"  conv: Convolution2d(x, {given}; stride_x=2) -> {y.output.info} on CpuAcc",
            f"  down: Floor(conv) -> {y.output.info}",
            "outputs:",
            f"  y: {y.output.info} from down",
        ]
    )
    assert repr(network) == "<Network 'picture': 1 input, 2 layers, 1 output>"
    assert repr(Network("empty")) == "<Network 'empty': 0 inputs, 0 layers, 0 outputs>"


def test_all_layers_of_a_long_network_are_shown() -> None:
    network = Network("long")
    value = network.add_input("x", TensorInfo((1,)))
    for index in range(1000):
        value = network.add_floor(value, name=f"layer {index}")
    network.add_output("y", value)
    lines = str(network).splitlines()
    assert lines[4] == "  layer 0: Floor(x) -> Float32[1]"
    assert lines[1003] == "  layer 999: Floor(layer 998) -> Float32[1]"
    assert len(repr(network)) < 80


def test_long_values_are_cut_and_control_characters_are_spelled_out() -> None:
    network = Network("bad\x1b[2J\nname")
    x = network.add_input("x", TensorInfo((1,) * 8))
    pads = PadDescriptor(pad_list=((1000, 1000),) * 8)
    network.add_output("y", network.add("Pad", [x], pads, name="two\nlines").output)
    text = str(network)
    assert "\x1b" not in text
    assert len(text.splitlines()) == 7
    (line,) = [line for line in text.splitlines() if "Pad(" in line]
    assert line.startswith("  two\\nlines: Pad(x; pad_list=((1000, 1000), ")
    assert "...) -> Float32[2001," in line


def test_an_input_after_an_absent_one_has_its_slot() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 4)))
    offset = network.add_input("offset", TensorInfo((4,)))
    network.add("LayerNormalization", [x, None, offset], name="norm")
    assert "  norm: LayerNormalization(x, beta=offset) -> Float32[2,4]" in str(network).splitlines()


def test_an_optimized_and_a_loaded_network_show_their_backends(runtime: Runtime) -> None:
    optimized = runtime.optimize(sum_network(2), backends=["Adder", "Rest"])
    body = [
        "inputs:",
        "  a: Float32[2,3]",
        "  b: Float32[1,3]",
        "layers:",
        "  total: Addition on Adder",
        "  relu: Activation on Rest  (Adder: it only adds)",
        "outputs:",
        "  y: Float32[2,3]",
    ]
    assert str(optimized).splitlines() == ["OptimizedNetwork 'sum' for Adder, Rest", *body]
    assert repr(optimized) == "<OptimizedNetwork 'sum' for Adder, Rest>"
    loaded = runtime.load_network(optimized)
    assert str(loaded).splitlines() == [f"LoadedNetwork {loaded.id} 'sum'", *body]


def test_of_open_shapes_the_layers_are_shown_for_each_set(runtime: Runtime) -> None:
    optimized = runtime.optimize(sum_network("n"), backends=["Adder", "Rest"])
    lines = str(optimized).splitlines()
    start = lines.index("layers, prepared for each set of shapes:")
    assert lines[start + 1] == "  total: Addition(a, b) -> Float32[n,3]"
    loaded = runtime.load_network(optimized)
    assert "  known when they are first run" in str(loaded).splitlines()
    loaded.prepare({"a": (5, 3)})
    lines = str(loaded).splitlines()
    start = lines.index("layers for a=[5,3], b=[1,3]:")
    assert lines[start + 1] == "  total: Addition on Adder"
