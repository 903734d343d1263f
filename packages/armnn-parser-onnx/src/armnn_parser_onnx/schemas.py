# SPDX-License-Identifier: MIT
"""Operator schemas: ONNX's own, or the domain com.microsoft."""

from __future__ import annotations

from armnn.parsing.conversion import RefusedError
from armnn_parser_onnx.domains import DEFAULT_DOMAINS, MICROSOFT, PREVIEW
from armnn_parser_onnx.functions import has_body
from armnn_parser_onnx.microsoft_schemas import microsoft_schema
from armnn_parser_onnx.operators import find_converter
from armnn_parser_onnx.standard import table
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.wire import messages

_OF_MICROSOFT_WITHOUT_DOMAIN = ("SimplifiedLayerNormalization",)
"""Operators of onnxruntime that it writes without the domain."""


def find_schema(node: messages.Node, opset: int) -> Schema:
    """Return the schema of a node's operator.

    Args:
        node: The node.
        opset: The version of ONNX's operators.

    Raises:
        RefusedError: The operator, its domain or its version is not supported.
    """
    found = table.find(node.op_type, opset, PREVIEW) if node.domain == PREVIEW else None
    if found is not None:
        return found
    default = node.domain in DEFAULT_DOMAINS
    if node.domain == MICROSOFT or (default and node.op_type in _OF_MICROSOFT_WITHOUT_DOMAIN):
        schema = microsoft_schema(node.op_type)
        if schema is None:
            raise RefusedError(f"of the operators of {MICROSOFT} this one is not supported")
        return schema
    if not default:
        raise RefusedError(f"the operators of the domain {node.domain!r} are not supported")
    found = table.find(node.op_type, opset)
    if found is None:
        raise RefusedError(f"ONNX has no such operator at opset {opset}")
    if found.deprecated:
        raise RefusedError(f"ONNX has withdrawn it at opset {found.since}")
    if find_converter(node.op_type, opset) is None and not has_body(found):
        raise RefusedError(_why_not(found))
    return found


def _why_not(schema: Schema) -> str:
    """Return why no layers are made of an operator."""
    if "seed" in schema.attributes:
        return "it draws random numbers"
    parameters = [*schema.inputs, *schema.outputs]
    types = [schema.types.get(each.type, (each.type,)) for each in parameters]
    for start, what in (("seq(", "sequences"), ("optional(", "optionals"), ("map(", "maps")):
        if any(all(name.startswith(start) for name in names) for names in types):
            return f"networks have no {what}"
    if any(set(names) == {"tensor(string)"} for names in types):
        return "networks have no strings"
    return "no layer computes it"
