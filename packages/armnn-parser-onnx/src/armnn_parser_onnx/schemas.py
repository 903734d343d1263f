# SPDX-License-Identifier: MIT
"""Operator schemas: ONNX's own, or the domain com.microsoft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from armnn.parsing.conversion import RefusedError
from armnn_parser_onnx._registry import find_converter
from armnn_parser_onnx.functions import has_body
from armnn_parser_onnx.microsoft_schemas import MICROSOFT, microsoft_schema
from armnn_parser_onnx.model_file import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from onnx.defs import OpSchema

_PREVIEW = "ai.onnx.preview"
"""Operators that may come into ONNX's own domain; their bodies consist of those that are there."""

_OF_MICROSOFT_WITHOUT_DOMAIN = ("SimplifiedLayerNormalization",)
"""Operators of onnxruntime that it writes without the domain."""


def find_schema(node: onnx.NodeProto, opset: int) -> OpSchema:
    """Return the schema of a node's operator.

    Args:
        node: The node.
        opset: The version of ONNX's operators.

    Raises:
        RefusedError: The operator, its domain or its version is not supported.
    """
    if node.domain == _PREVIEW and onnx.defs.has(node.op_type, domain=_PREVIEW):
        return onnx.defs.get_schema(node.op_type, _PREVIEW)
    default = node.domain in DEFAULT_DOMAINS
    if node.domain == MICROSOFT or (default and node.op_type in _OF_MICROSOFT_WITHOUT_DOMAIN):
        schema = microsoft_schema(node.op_type)
        if schema is None:
            raise RefusedError(f"of the operators of {MICROSOFT} this one is not supported")
        return schema
    if not default:
        raise RefusedError(f"the operators of the domain {node.domain!r} are not supported")
    if not onnx.defs.has(node.op_type, max_inclusive_version=opset, domain=""):
        raise RefusedError(f"ONNX has no such operator at opset {opset}")
    found = onnx.defs.get_schema(node.op_type, opset, "")
    if found.deprecated:
        raise RefusedError(f"ONNX has withdrawn it at opset {found.since_version}")
    if find_converter(node.op_type, opset) is None and not has_body(found):
        raise RefusedError(_why_not(found))
    return found


def _why_not(schema: OpSchema) -> str:
    """Return why no layers are made of an operator."""
    if "seed" in schema.attributes:
        return "it draws random numbers"
    kinds = {row.type_param_str: row.allowed_type_strs for row in schema.type_constraints}
    parameters = [*schema.inputs, *schema.outputs]
    types = [kinds.get(parameter.type_str, [parameter.type_str]) for parameter in parameters]
    for start, what in (("seq(", "sequences"), ("optional(", "optionals"), ("map(", "maps")):
        if any(all(name.startswith(start) for name in names) for names in types):
            return f"networks have no {what}"
    if any(set(names) == {"tensor(string)"} for names in types):
        return "networks have no strings"
    return "no layer computes it"
