# SPDX-License-Identifier: MIT
"""Checks of a node's input types against the schema."""

from __future__ import annotations

from collections.abc import Mapping

from armnn.types import DataType
from armnn_parser_onnx.node import Node
from armnn_parser_onnx.tensors import onnx_type_name


def check_input_types(node: Node, types: Mapping[str, DataType]) -> None:
    """Check a node's input types as far as known.

    So converters need not.

    Raises:
        ParseError: A type is not allowed, or inputs that must have one type have two.
    """
    schema = node.schema
    bound: dict[str, str] = {}
    for index, name in enumerate(node.inputs):
        if name not in types:
            continue
        parameter = schema.inputs[min(index, len(schema.inputs) - 1)]
        got = onnx_type_name(types[name])
        expected = schema.types.get(parameter.type, (parameter.type,))
        if parameter.homogeneous and bound.setdefault(parameter.type, got) != got:
            expected = (bound[parameter.type],)
        if got not in expected:
            raise node.error(
                f"the input {parameter.name!r} is {got}: expected "
                f"{expected[0] if len(expected) == 1 else 'one of ' + ', '.join(sorted(expected))}"
            )
