# SPDX-License-Identifier: MIT
"""Whether nodes take the types of their inputs."""

from __future__ import annotations

from collections.abc import Iterable

from armnn.types import DataType
from armnn_parser_onnx.node import Node as CheckedNode
from armnn_parser_onnx.signature import check_input_types
from armnn_parser_onnx.standard import table
from armnn_parser_onnx.type_inference import inferred_types
from armnn_parser_onnx.wire.messages import Node


def check_types(nodes: Iterable[Node], types: dict[str, DataType], opset: int) -> None:
    """Check nodes of ONNX's own operators against their schemas.

    Args:
        nodes: In topological order.
        types: The types of the values that they read; those that they make are added.
        opset: The version of the operators.

    Raises:
        ParseError: A node does not fit its operator's schema.
    """
    for node in nodes:
        schema = table.find(node.op_type, opset)
        if schema is None:
            raise LookupError(f"ONNX has no operator {node.op_type!r} at opset {opset}")
        check_input_types(CheckedNode(node, schema), types)
        made = zip(node.output, inferred_types(node, schema, types), strict=True)
        types |= {name: data_type for name, data_type in made if data_type is not None}
