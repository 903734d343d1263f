# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from armnn.graph import Layer, Network
from armnn.layers.elementwise import AdditionDescriptor, MultiplicationDescriptor
from armnn.layers.io import InputDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType


def by_definition(network: Network) -> list[Layer]:
    """Take the first layer whose producers were taken, outputs last."""
    left = [layer for layer in network.layers if layer.type != "Output"] + list(network.outputs)
    taken: list[Layer] = []
    while left:
        found = next(
            layer
            for layer in left
            if all(value is None or value.producer in taken for value in layer.inputs)
        )
        taken.append(found)
        left.remove(found)
    return taken


@given(st.data())
def test_older_layers_come_first_after_what_they_read(data: st.DataObject) -> None:
    network = Network()
    values = [network.add_input(name, TensorInfo((2,))) for name in "ab"]
    network.add_output("early", values[0])
    count = data.draw(st.integers(0, 12))
    for number in range(count):
        first, second = (data.draw(st.sampled_from(values)) for _ in range(2))
        add = network.add_addition if number % 3 else network.add_multiplication
        values.append(add(first, second))
    ranks = data.draw(st.permutations(range(count)))  # an order of the same layers, read backwards
    layers = [value.producer for value in values[2:]]
    by_rank = sorted(layers, key=lambda layer: ranks[layers.index(layer)])
    for layer in layers:
        network.replace_inputs(layer, values[:2])
    for place, layer in enumerate(by_rank):
        before = values[:2] + [each.output for each in by_rank[:place]]
        network.replace_inputs(layer, [data.draw(st.sampled_from(before)) for _ in range(2)])
    assert list(network.topological_order()) == by_definition(network)
    network.remove_unused()
    assert list(network.topological_order()) == by_definition(network)


def test_an_order_finds_layers_by_their_kinds() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    product = network.add_multiplication(x, x)
    total = network.add_addition(product, network.add_multiplication(product, x))
    network.add_output("y", total)
    order = network.topological_order()
    kinds = (AdditionDescriptor, MultiplicationDescriptor)
    assert list(order.computing()) == [
        layer for layer in order if layer.type not in ("Input", "Output")
    ]
    assert [layer.type for layer in order.computing(AdditionDescriptor)] == ["Addition"]
    assert list(order.computing(kinds)) == list(order.computing())
    assert not order.computing(InputDescriptor)


def test_an_order_names_types_and_functions_of_what_computes() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    root = network.add_elementwise_unary(x, operation="Sqrt")
    bounded = network.add_activation(root, function="BoundedReLu", a=6)
    total = network.add_elementwise_binary(bounded, network.add_addition(x, x), operation="Mul")
    network.add_output("y", network.add_activation(total, function="ReLu"))
    assert network.topological_order().types == {
        "Activation",
        "Activation BoundedReLu",
        "Activation ReLu",
        "Addition",
        "ElementwiseBinary",
        "ElementwiseBinary Mul",
        "ElementwiseUnary",
        "ElementwiseUnary Sqrt",
    }


def test_an_order_says_who_reads_real_values() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,)))
    total = network.add_addition(x, network.add_constant(np.ones(2, np.float32)))
    stored = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 3)
    network.add_output("y", network.add_dequantize(network.add_quantize(total, output=stored)))
    reads = network.topological_order().reads
    assert reads({"Addition", "Quantize"}, {"Constant"})
    assert reads({"Quantize"}, {"Addition"})
    assert not reads({"Addition"}, {"Quantize"})
    assert not reads({"Dequantize"}, {"Quantize"})  # which makes stored values
    assert not reads({"Output"}, {"Dequantize"})  # which computes nothing
