# SPDX-License-Identifier: MIT
"""Definitions mean to ONNX's parser what they mean here."""

from __future__ import annotations

import onnx
import pytest

from armnn_parser_onnx._registry import operator_names
from armnn_parser_onnx.definitions import DEFINITIONS, definition_of
from armnn_parser_onnx.domains import MICROSOFT
from armnn_parser_onnx.microsoft_schemas import _ROWS, microsoft_schema
from armnn_parser_onnx.node_text import read_nodes
from armnn_parser_onnx.standard import table
from armnn_parser_onnx.wire.making import make_attribute
from armnn_parser_onnx.wire.messages import Node
from tools.fuzz.onnx_reader import difference


def written(definition: object, node: Node) -> str:
    return definition if isinstance(definition, str) else definition(node)  # type: ignore[operator]  # a function of the node


@pytest.mark.parametrize(("domain", "name"), DEFINITIONS)
def test_nodes_are_read_as_onnx_reads_them(domain: str, name: str) -> None:
    schema = microsoft_schema(name) if domain else table.find(name, 21)
    assert schema is not None
    attributes = [
        make_attribute(key, rule.default, rule.type)
        for key, rule in schema.attributes.items()
        if rule.default is not None
    ]
    count = min(schema.counts[1], 14)
    node = Node(
        op_type=name,
        domain=domain,
        input=[f"in{index}" for index in range(count)],
        output=["out"],
        attribute=attributes,
    )
    function = definition_of(node, schema)
    text = (
        f'<opset_import: ["" : 21], domain: "d"> f ({", ".join(function.input)}) => '
        f"({', '.join(function.output)}) {{ {written(DEFINITIONS[domain, name], node)} }}"
    )
    wanted = onnx.parser.parse_function(text)
    assert len(function.node) == len(wanted.node)
    for ours, theirs in zip(function.node, wanted.node, strict=True):
        for attribute in theirs.attribute:
            if attribute.ref_attr_name:
                attribute.ClearField("type")  # the attribute of the call has it
        assert difference(ours, theirs) == ""


def test_all_operators_of_onnxruntime_are_converted_or_defined() -> None:
    defined = {name for domain, name in DEFINITIONS if domain == MICROSOFT}
    assert defined == _ROWS.keys() - set(operator_names(MICROSOFT))


def test_other_forms_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no node at 'y is Relu \(x\)'"):
        read_nodes("y is Relu (x)")
    assert read_nodes("") == []
