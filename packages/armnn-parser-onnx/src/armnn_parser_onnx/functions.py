# SPDX-License-Identifier: MIT
"""Operators of the standard and onnxruntime, defined by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from armnn.errors import ParseError
from armnn_parser_onnx.body import body_outputs
from armnn_parser_onnx.context import context_function
from armnn_parser_onnx.definitions import definition_of
from armnn_parser_onnx.domains import MICROSOFT
from armnn_parser_onnx.standard import table
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.wire.making import make_attribute
from armnn_parser_onnx.wire.messages import Attribute, Function, Graph, Node, Type

_DEFINED_HERE = ("QLinearConv", "QLinearMatMul")
"""The operators of ONNX that are defined here, as all of onnxruntime are that none converts."""


def has_body(schema: Schema) -> bool:
    """Return whether an unconverted operator is defined by others."""
    return bool(schema.body) or _is_defined_here(schema)


def _is_defined_here(schema: Schema) -> bool:
    return schema.domain == MICROSOFT or schema.name in _DEFINED_HERE


def body_of(
    node: Node, schema: Schema, types: Callable[[], Sequence[Type]], opset: int
) -> tuple[list[Node], int]:
    """Return the nodes that define a node, and their opset.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: Returns the types of its inputs, an empty one for an absent input.
        opset: The opset of the model.

    Raises:
        ParseError: ONNX has no definition for these attributes and types.
    """
    function = _definition(node, schema, types, opset)
    if not function.node:
        raise ParseError("ONNX does not define it for these inputs")
    defaults = {
        name: make_attribute(name, rule.default, rule.type)
        for name, rule in schema.attributes.items()
        if rule.default is not None
    }
    versions = [entry.version for entry in function.opset_import if not entry.domain]
    return called(function, node, defaults), versions[0] if versions else opset


def _definition(
    node: Node, schema: Schema, types: Callable[[], Sequence[Type]], opset: int
) -> Function:
    if _is_defined_here(schema):
        return definition_of(node, schema)
    if schema.body == "context":
        return context_function(node, schema, types(), opset)
    found = table.functions(schema.name)
    return max((each for each in found if each[0] <= opset), key=lambda each: each[0])[1]


def called(function: Function, node: Node, defaults: Mapping[str, Attribute]) -> list[Node]:
    """Return a function's nodes with a call's names and attributes.

    Args:
        function: The function.
        node: The node that calls it.
        defaults: The values of attributes that the node lacks.
    """
    attributes = {**defaults, **{attribute.name: attribute for attribute in node.attribute}}
    scope = next((name for name in node.output if name), node.op_type)
    names = {"": ""}
    names |= dict(zip(function.input, node.input, strict=False))
    names |= dict.fromkeys(function.input[len(node.input) :], "")
    names |= {
        inner: outer for inner, outer in zip(function.output, node.output, strict=False) if outer
    }
    return [_renamed(inner, names, attributes, scope) for inner in function.node]


def _renamed(
    node: Node, names: Mapping[str, str], attributes: Mapping[str, Attribute], scope: str
) -> Node:
    """Return a body's node with the caller's names.

    Values made in the body get names of their own.
    """
    given = [_attribute(attribute, names, attributes, scope) for attribute in node.attribute]
    return node.replaced(
        name=f"{scope}/{node.name}" if node.name else "",
        input=[names.get(name, f"{scope}/{name}") for name in node.input],
        output=[names.get(name, f"{scope}/{name}") for name in node.output],
        attribute=[attribute for attribute in given if attribute is not None],
    )


def _attribute(
    attribute: Attribute,
    names: Mapping[str, str],
    attributes: Mapping[str, Attribute],
    scope: str,
) -> Attribute | None:
    """Return an attribute with the call's value, None without one."""
    if attribute.ref_attr_name:
        given = attributes.get(attribute.ref_attr_name)
        return None if given is None else given.replaced(name=attribute.name)
    if attribute.g is None:
        return attribute
    return attribute.replaced(g=_with_captures(attribute.g, names, attributes, scope))


def _with_captures(
    graph: Graph, names: Mapping[str, str], attributes: Mapping[str, Attribute], scope: str
) -> Graph:
    """Return a nested graph with the caller's names for captures."""
    inside = {**names, **{name: name for name in body_outputs(graph)}}
    nodes = [
        _renamed(node, inside, attributes, scope).replaced(name=node.name) for node in graph.node
    ]
    outputs = [
        output.replaced(name=inside.get(output.name, f"{scope}/{output.name}"))
        for output in graph.output
    ]
    return graph.replaced(node=nodes, output=outputs)
