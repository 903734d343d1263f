# SPDX-License-Identifier: MIT
"""Attributes and types made from values of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armnn_parser_onnx.wire.kinds import FIELDS, FLOAT, FLOATS, INT, INTS, STRING, STRINGS
from armnn_parser_onnx.wire.messages import (
    Attribute,
    Dimension,
    Shape,
    TensorType,
    Type,
    ValueInfo,
)

_SINGLE = {bool: INT, int: INT, float: FLOAT, str: STRING, bytes: STRING}
_LISTS = {INT: INTS, FLOAT: FLOATS, STRING: STRINGS}


def make_attribute(name: str, value: Any, kind: int | None = None) -> Attribute:
    """Return an attribute.

    Args:
        name: Its name.
        value: A number, a text, or a list of them.
        kind: A number of ``AttributeProto.AttributeType``; that of the value by default.
    """
    if kind is None:
        several = not isinstance(value, (str, bytes)) and isinstance(value, Sequence)
        single = _SINGLE[type(value[0] if several else value)]
        kind = _LISTS[single] if several else single
    if kind == STRING:
        value = _bytes(value)
    elif kind == STRINGS:
        value = [_bytes(each) for each in value]
    return Attribute(name=name, type=kind, **{FIELDS[kind]: value})


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def make_type(element: int, shape: Sequence[int | str | None] | None) -> Type:
    """Return a tensor's type.

    Args:
        element: A number of ``TensorProto.DataType``.
        shape: The dimensions; None for any.
    """
    dims = None if shape is None else Shape(dim=[_dimension(dim) for dim in shape])
    return Type(tensor_type=TensorType(elem_type=element, shape=dims))


def _dimension(dim: int | str | None) -> Dimension:
    if isinstance(dim, str):
        return Dimension(dim_param=dim)
    return Dimension(dim_value=dim)


def make_value_info(name: str, element: int, shape: Sequence[int | str | None]) -> ValueInfo:
    """Return the declaration of a tensor."""
    return ValueInfo(name=name, type=make_type(element, shape))
