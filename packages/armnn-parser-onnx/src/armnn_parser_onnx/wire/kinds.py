# SPDX-License-Identifier: MIT
"""The types of attributes."""

from __future__ import annotations

from typing import Final

FLOAT, INT, STRING, TENSOR, GRAPH = 1, 2, 3, 4, 5
FLOATS, INTS, STRINGS = 6, 7, 8
"""Numbers of ``AttributeProto.AttributeType``."""

KIND_NAMES: Final = {
    0: "UNDEFINED",
    FLOAT: "FLOAT",
    INT: "INT",
    STRING: "STRING",
    TENSOR: "TENSOR",
    GRAPH: "GRAPH",
    FLOATS: "FLOATS",
    INTS: "INTS",
    STRINGS: "STRINGS",
    9: "TENSORS",
    10: "GRAPHS",
    11: "SPARSE_TENSOR",
    12: "SPARSE_TENSORS",
    13: "TYPE_PROTO",
    14: "TYPE_PROTOS",
}
"""The names of all types of attributes."""

FIELDS: Final = {
    FLOAT: "f",
    INT: "i",
    STRING: "s",
    TENSOR: "t",
    FLOATS: "floats",
    INTS: "ints",
    STRINGS: "strings",
}
"""The field of the message that holds an attribute of a type."""
