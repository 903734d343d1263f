# SPDX-License-Identifier: MIT
"""Output types are those of ONNX's node tests."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx.element_types import inferred_types
from armnn_parser_onnx.messages import Node
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.schemas import standard_schema
from armnn_parser_onnx.tensors import data_type_of

OTHERWISE = ("If", "Loop", "Scan")
"""Operators whose types follow from their graphs."""


def is_tensor(value: onnx.ValueInfoProto) -> bool:
    try:
        data_type_of(value.type.tensor_type.elem_type)
    except ParseError:
        return False
    return True


def types_of(proto: onnx.NodeProto, opset: int, types: dict[str, DataType]) -> list[DataType]:
    schema = standard_schema(proto.op_type, opset)
    assert schema is not None
    data = proto.SerializeToString()
    found = inferred_types(Node.at(Span(data, 0, len(data)), "m"), schema, types)
    return [made for name, made in zip(proto.output, found, strict=True) if name]


@pytest.mark.xdist_group("cases of the standard")
def test_the_node_tests_have_the_types_that_they_declare(node_tests: list[Any]) -> None:
    graphs = ((case.model, case.model.graph) for case in node_tests)
    models = [  # of one node, with known types
        model
        for model, graph in graphs
        if len(graph.node) == 1
        and not graph.node[0].domain
        and graph.node[0].op_type not in OTHERWISE
        and all(is_tensor(value) for value in (*graph.input, *graph.output))
    ]
    assert len(models) > 1000
    for model in models:
        graph = model.graph
        opset = next(entry.version for entry in model.opset_import if not entry.domain)
        given = {v.name: data_type_of(v.type.tensor_type.elem_type) for v in graph.input}
        wanted = [data_type_of(v.type.tensor_type.elem_type) for v in graph.output]
        assert types_of(graph.node[0], opset, given) == wanted, graph.node[0]


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [({}, DataType.UNSIGNED8), ({"output_dtype": 3}, DataType.SIGNED8)],
)
def test_quantized_outputs_without_zero_point_have_a_type(
    attributes: dict[str, int], wanted: DataType
) -> None:
    node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], **attributes)
    types = {"x": DataType.FLOAT32, "s": DataType.FLOAT32}
    assert types_of(node, 21, types) == [wanted]


def test_what_follows_from_nothing_is_unknown() -> None:
    assert types_of(helper.make_node("Add", ["a", "b"], ["c"]), 21, {}) == [None]
    assert types_of(helper.make_node("Shape", ["a"], ["c"]), 21, {}) == [DataType.SIGNED64]
    assert types_of(helper.make_node("Cast", ["a"], ["c"], to=8), 21, {}) == [None]
