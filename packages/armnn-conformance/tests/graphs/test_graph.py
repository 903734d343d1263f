# SPDX-License-Identifier: MIT
"""Graphs with expected values and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import AdditionDescriptor
from armnn.types import ActivationFunction, DataType
from armnn_conformance.graphs import Draw, Graph, GraphNode, GraphValue
from armnn_conformance.graphs._graph import computed
from armnn_conformance.operands import store

FLOAT = DataType.FLOAT32


def doubled(value: GraphValue) -> GraphNode:
    outputs = computed(np.add, (value, value), [FLOAT])
    return GraphNode("Addition", AdditionDescriptor(), (value, value), outputs, np.add)


def test_an_error_grows_with_each_layer() -> None:
    x = Draw(FLOAT, [1]).input((2, 3))
    first = doubled(x)
    second = doubled(first.outputs[0])
    one, two = first.outputs[0].error, second.outputs[0].error
    assert 0 < one < 1e-3
    # Both operands are off by the first error, and the sum may be rounded as well.
    assert two >= 2 * one
    assert two < 10 * one


def test_an_error_does_not_grow_where_the_function_is_flat() -> None:
    x = GraphValue(Draw(FLOAT, [2]).input((5,)).info, np.full(5, -3.0), error=0.5)
    (y,) = computed(lambda x: np.maximum(x, 0), (x,), [FLOAT])
    assert np.all(y.real == 0)
    assert y.error < 1e-4


def test_a_quantized_value_is_off_by_its_steps() -> None:
    x = Draw(DataType.QASYMM_S8, [3]).input((4, 4))
    (y,) = computed(np.abs, (x,), [DataType.QASYMM_S8])
    assert y.error == pytest.approx(1.5 * y.info.scale)
    (moved,) = computed(lambda x: x.T, (x,), [x.info])
    assert moved.info.scale == x.info.scale


def test_a_graph_becomes_a_network_with_shared_constants() -> None:
    draw = Draw(FLOAT, [4])
    x, constant = draw.input((2, 3)), draw.constant((2, 3))
    nodes = []
    for _ in range(2):
        outputs = computed(np.add, (x, constant), [FLOAT])
        nodes.append(GraphNode("Addition", AdditionDescriptor(), (x, constant), outputs, np.add))
    graph = Graph("two sums", nodes, [x], [node.outputs[0] for node in nodes])
    network = graph.network()
    assert [layer.type for layer in network.layers].count("Constant") == 1
    assert [layer.name for layer in network.outputs] == ["out 0", "out 1"]
    assert str(graph) == "two sums (Addition, Addition)"
    open_batch = graph.network(any_batch=True).inputs[0].output.info
    assert open_batch.shape == (None, 3)


def test_another_batch_has_other_expected_values() -> None:
    draw = Draw(FLOAT, [5])
    node = doubled(draw.input((2, 3)))
    graph = Graph("sum", [node], [node.inputs[0]], list(node.outputs))  # type: ignore[list-item]  # never None here
    other = draw.input((4, 3))
    made = graph.with_inputs([other])
    np.testing.assert_array_equal(made.outputs[0].real, 2 * other.real)
    assert made.outputs[0].shape == (4, 3)
    assert graph.outputs[0].shape == (2, 3)


def test_a_wrong_output_is_described() -> None:
    node = doubled(Draw(FLOAT, [6]).input((2, 3)))
    graph = Graph("sum", [node], [], list(node.outputs))
    expected = node.outputs[0]
    right = store(expected.real, expected.info)
    assert graph.problem([right]) == ""
    wrong = right.copy()
    wrong[1, 2] += 1
    told = "1 of 6 elements of output 0, of '0 Addition', differ, the first at [1, 2]: got"
    assert told in graph.problem([wrong])
    assert "has shape [6], expected" in graph.problem([right.reshape(6)])
    wrong[1, 2] = np.nan
    assert "1 of 6 elements" in graph.problem([wrong])


def test_a_candidate_knows_its_layer() -> None:
    from armnn_conformance.graphs import LayerDraw

    x = Draw(FLOAT, [7]).input((3,))
    made = LayerDraw(ActivationDescriptor(function=ActivationFunction.ABS), (x,), np.abs)
    assert made.layer == "Activation"


def test_other_inputs_are_stored_within_the_range_of_the_first_ones() -> None:
    x = Draw(DataType.QASYMM_S8, [6]).input((2, 3))
    outputs = computed(np.add, (x, x), [DataType.QASYMM_S8])
    nodes = [GraphNode("Addition", AdditionDescriptor(), (x, x), outputs, np.add)]
    graph = Graph("sum", nodes, [x], list(outputs))
    wider = GraphValue(x.info, np.full((2, 3), 100.0))
    (y,) = graph.with_inputs([wider]).outputs
    assert np.all(y.real == y.info.scale * (127 - y.info.zero_point))
