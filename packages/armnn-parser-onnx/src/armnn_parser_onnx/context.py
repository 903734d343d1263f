# SPDX-License-Identifier: MIT
"""Definitions that depend on a node, from the package ``onnx``.

It is imported for these operators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armnn.errors import ParseError
from armnn.parsing.conversion import RefusedError
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.wire.messages import Function, Node, Type
from armnn_parser_onnx.wire.source import Span
from armnn_parser_onnx.wire.writer import encoded

CONTEXT_OPERATORS = (
    "Bernoulli",
    "CausalConvWithState",
    "CenterCropPad",
    "FlexAttention",
    "LinearAttention",
    "NegativeLogLikelihoodLoss",
    "SequenceMap",
    "SoftmaxCrossEntropyLoss",
)
"""The operators that are defined so and have no converter."""


def context_function(node: Node, schema: Schema, types: Sequence[Type], opset: int) -> Function:
    """Return what defines a node of these attributes and types.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: The types of its inputs, an empty one for an absent input.
        opset: The opset of the model.

    Raises:
        ParseError: There is no definition.
        RefusedError: The package ``onnx`` is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise RefusedError(
            "its definition depends on its attributes and types, and only the package onnx has "
            f"it, which cannot be imported ({error}): pip install onnx"
        ) from error
    # Its stub lacks the methods for functions.
    found: Any = onnx.defs.get_schema(schema.name, max(opset, schema.since), schema.domain)
    versions = [v for v in found.context_dependent_function_opset_versions if v <= opset]
    try:
        data: bytes = found.get_context_dependent_function_with_opset_version(
            max(versions, default=opset), encoded(node), [encoded(each) for each in types]
        )
    except Exception as error:  # its C++ exceptions have no common type of their own
        raise ParseError(f"ONNX does not define it for these inputs: {error}") from error
    return Function.at(Span(data, 0, len(data)), schema.name)
