# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx.graph import Graph
from armnn_parser_onnx.messages import Tensor
from armnn_parser_onnx.tensors import ExternalData, onnx_type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tensor(data: NDArray[Any], name: str = "") -> Tensor:
    element = onnx_type_of(DataType.from_numpy(data.dtype))
    return Tensor(name=name, dims=list(data.shape), data_type=element, raw_data=data.tobytes())


@pytest.fixture
def graph() -> Graph:
    return Graph(Network(), ExternalData(None))


def test_an_initializer_becomes_one_constant_when_it_is_asked_for(graph: Graph) -> None:
    graph.add_initializer(tensor(np.arange(3), "w"))
    assert "w" in graph
    assert len(graph.network) == 0
    first, second = graph.value("w"), graph.value("w")
    assert first is second
    assert len(graph.network) == 1
    assert graph.network.find("w").data is not None
    np.testing.assert_array_equal(graph.constant("w"), [0, 1, 2])
    assert graph.shape_of("w") == (3,)


def test_a_computed_value_is_no_constant(graph: Graph) -> None:
    graph.bind("x", graph.network.add_input("x", TensorInfo((2, None))))
    assert graph.constant("x") is None
    assert graph.shape_of("x") == (2, None)


def test_a_name_is_given_once(graph: Graph) -> None:
    graph.add_initializer(tensor(np.arange(3), "w"))
    value = graph.network.add_input("x", TensorInfo((2,)))
    for again in (
        lambda: graph.add_initializer(tensor(np.arange(3), "w")),
        lambda: graph.bind("w", value),
    ):
        with pytest.raises(ParseError, match=r"two inputs, initializers or nodes make .* 'w'"):
            again()


def test_an_empty_name_is_refused(graph: Graph) -> None:
    with pytest.raises(ParseError, match="make a value named ''"):
        graph.add_initializer(tensor(np.arange(3)))


def test_an_unknown_name_is_refused(graph: Graph) -> None:
    with pytest.raises(ParseError, match="'x' is read, but no node, input or initializer makes it"):
        graph.value("x")


def test_a_derived_constant_is_made_once(graph: Graph) -> None:
    graph.add_initializer(tensor(np.arange(3), "w"))
    calls = []

    def negated(array: np.ndarray) -> np.ndarray:
        calls.append(array)
        return -array

    first = graph.derived_constant(graph.value("w"), "negated", negated)
    assert graph.derived_constant(graph.value("w"), "negated", negated) is first
    assert len(calls) == 1
    assert first.name == "w/negated"
    np.testing.assert_array_equal(first.constant, [0, -1, -2])


def test_only_a_constant_can_be_derived_from(graph: Graph) -> None:
    value = graph.network.add_input("x", TensorInfo((2,)))
    with pytest.raises(ParseError, match="'x' is computed: expected a constant"):
        graph.derived_constant(value, "negated", np.negative)
