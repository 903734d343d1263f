# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn.graph import Network
from armnn.tensor import TensorInfo
from armnn_parser_tflite.conversion import main_graph
from armnn_parser_tflite.model_file import read_model
from armnn_parser_tflite.schema import read_subgraph
from armnn_parser_tflite.tensors import Buffers

if TYPE_CHECKING:
    from armnn_parser_tflite.graph import Graph


@pytest.fixture
def graph(lite: Any) -> Graph:
    """Return the graph of a constant, variable and input."""
    data = lite.build(
        [],
        {
            "c": lite.constant(np.float32([1, 2])),
            "v": lite.Tensor("int8", (2, 3), scale=0.5, zero_point=4, is_variable=True),
            "x": lite.Tensor(shape=(2,)),
        },
        ["x"],
        ["c"],
    )
    model = read_model(data)
    return main_graph(model, Network(), read_subgraph(model, 0), Buffers(model))


def test_a_constant_is_added_once(graph: Graph) -> None:
    assert graph.has_data(0)
    assert graph.value(0) is graph.value(0)
    assert [layer.name for layer in graph.network.layers] == ["c"]


def test_a_variable_is_the_real_number_zero(graph: Graph) -> None:
    constant = graph.value(1).constant
    assert constant is not None
    assert constant.tolist() == [[4] * 3] * 2


def test_a_value_is_made_once(graph: Graph) -> None:
    assert not graph.has_data(2)
    info = TensorInfo((2,))
    graph.add_input(2, info, "image")
    assert graph.value(2).info.shape == (2,)
    for again in (lambda: graph.add_input(2, info), lambda: graph.bind(2, graph.value(0))):
        with pytest.raises(ParseError, match="two inputs or operators make the tensor 'x'"):
            again()


def test_what_nothing_makes_is_refused(graph: Graph) -> None:
    with pytest.raises(ParseError, match="the tensor 'x' is read, but it has no data and no input"):
        graph.value(2)
