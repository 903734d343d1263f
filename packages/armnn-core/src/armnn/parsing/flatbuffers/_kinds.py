# SPDX-License-Identifier: MIT
"""The kinds of fields in FlatBuffers tables."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, TypeAlias

Tables: TypeAlias = Mapping[str, Mapping[str, tuple[int, str, float]]]
"""A schema: per table and field its place in the vtable, its kind, and the default of a number.

A kind is a kind of number ("Int32"), "Uint32Pair", "Text", "Union", or a table; in brackets a
vector.
"""

NUMBERS: Final = {
    "Bool": struct.Struct("<?"),
    "Int8": struct.Struct("<b"),
    "Uint8": struct.Struct("<B"),
    "Int16": struct.Struct("<h"),
    "Uint16": struct.Struct("<H"),
    "Int32": struct.Struct("<i"),
    "Uint32": struct.Struct("<I"),
    "Int64": struct.Struct("<q"),
    "Uint64": struct.Struct("<Q"),
    "Float32": struct.Struct("<f"),
}
"""How the numbers of each kind are stored."""

UINT32_PAIR: Final = struct.Struct("<II")
"""A struct of two numbers, which stands in the table itself."""

UINT16: Final = NUMBERS["Uint16"]
INT32: Final = NUMBERS["Int32"]
UINT32: Final = NUMBERS["Uint32"]
