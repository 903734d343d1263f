# SPDX-License-Identifier: MIT
"""Declared types of inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence

from armnn_parser_onnx.wire import messages


def element_type_of(value: messages.ValueInfo) -> int:
    """Return the element type's number, 0 if undeclared."""
    tensor = None if value.type is None else value.type.tensor_type
    return 0 if tensor is None else tensor.elem_type


def dimensions_of(value: messages.ValueInfo) -> Sequence[messages.Dimension] | None:
    """Return the dimensions, None if no shape is declared."""
    tensor = None if value.type is None else value.type.tensor_type
    return None if tensor is None or tensor.shape is None else tensor.shape.dim
