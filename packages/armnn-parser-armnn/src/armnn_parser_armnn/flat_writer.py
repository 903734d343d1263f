# SPDX-License-Identifier: MIT
"""FlatBuffers files (https://flatbuffers.dev/internals), written by a schema.

:mod:`armnn.parsing.flatbuffers` of the core reads such files by the same schemas.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.parsing.flatbuffers import NUMBERS, Tables

_UINT32_PAIR: Final = struct.Struct("<II")
"""A struct of two numbers, which stands in the table itself."""

_INT32: Final = NUMBERS["Int32"]
_UINT32: Final = NUMBERS["Uint32"]

Piece: TypeAlias = "bytes | bytearray | memoryview"

MOST_BYTES: Final = 2**31 - 1
"""The size that a FlatBuffers file may have."""


@dataclass(frozen=True, slots=True)
class FlatRecord:
    """A table to be written.

    Attributes:
        kind: The name of the table in the schema.
        fields: The values of its fields: a number, a pair of numbers, a text, a record (for a table
            or a union), a list of records, or an array or list of numbers. None is an absent field.
    """

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def flat_pieces(root: FlatRecord, tables: Tables, identifier: bytes) -> list[Piece]:
    """Return the bytes of a file in pieces, without copies.

    Args:
        root: The root table.
        tables: The schema.
        identifier: The four bytes behind the offset of the root.
    """
    file = _File(tables)
    head = bytearray(4) + identifier
    file.append(head, 4)
    _patch(head, 0, file.table(root))
    return file.pieces


class _File:
    """A file under construction."""

    def __init__(self, tables: Tables) -> None:
        self.pieces: list[Piece] = []
        self._tables = tables
        self._end = 0
        self._vtables: dict[bytes, int] = {}

    def append(self, piece: Piece, alignment: int, before: int = 0) -> int:
        """Add bytes; those behind the first ``before`` are aligned."""
        gap = -(self._end + before) % alignment
        if gap:
            self.pieces.append(bytes(gap))
        position = self._end + gap
        self.pieces.append(piece)
        self._end = position + len(piece)
        return position

    def table(self, record: FlatRecord) -> int:
        """Write a table with its children; return the position."""
        schema = self._tables[record.kind]
        present = {
            name: value
            for name, value in record.fields.items()
            if value is not None and not _is_default(schema[name], value)
        }
        sizes = {name: _inline_size(schema[name][1]) for name in present}
        places, size = {}, 4
        for name in sorted(present, key=lambda name: (-sizes[name], schema[name][0])):
            size += -size % _alignment(schema[name][1])
            places[name] = size
            size += sizes[name]
        vtable = self._vtable({schema[name][0]: at for name, at in places.items()}, size)
        body = bytearray(size)
        alignment = max([4, *(_alignment(schema[name][1]) for name in present)])
        position = self.append(body, alignment)
        _INT32.pack_into(body, 0, position - vtable)
        for name, at in places.items():
            kind = schema[name][1]
            if kind in NUMBERS:
                NUMBERS[kind].pack_into(body, at, present[name])
            elif kind == "Uint32Pair":
                _UINT32_PAIR.pack_into(body, at, *present[name])
            else:
                _patch(body, at, self._child(kind, present[name]) - position)
        return position

    def _vtable(self, places: Mapping[int, int], size: int) -> int:
        words = [0] * (max(places, default=2) // 2 + 1)
        words[:2] = [2 * len(words), size]
        for slot, place in places.items():
            words[slot // 2] = place
        data = struct.pack(f"<{len(words)}H", *words)
        if data not in self._vtables:
            self._vtables[data] = self.append(data, 2)
        return self._vtables[data]

    def _child(self, kind: str, value: Any) -> int:
        """Write the object that a field refers to; return its position."""
        if isinstance(value, FlatRecord):
            return self.table(value)
        if kind == "Text":
            text = str(value).encode("utf-8", "backslashreplace")
            return self.append(_UINT32.pack(len(text)) + text + b"\0", 4)
        element = kind.strip("[]")
        if element in NUMBERS:
            return self._numbers(np.asarray(value, NUMBERS[element].format))
        return self._records(value)

    def _numbers(self, values: NDArray[Any]) -> int:
        data = np.ascontiguousarray(values).reshape(-1)
        position = self.append(_UINT32.pack(data.size), max(4, data.itemsize), 4)
        if data.size:
            self.append(data.view(np.uint8).data, 1)
        return position

    def _records(self, records: Sequence[FlatRecord]) -> int:
        offsets = bytearray(_UINT32.pack(len(records)) + bytes(4 * len(records)))
        position = self.append(offsets, 4)
        for at, record in enumerate(records, 1):
            _patch(offsets, 4 * at, self.table(record) - position)
        return position


def _patch(body: bytearray, at: int, distance: int) -> None:
    """Write an offset to a place, counted from the body."""
    _UINT32.pack_into(body, at, distance - at)


def _inline_size(kind: str) -> int:
    if kind == "Uint32Pair":
        return _UINT32_PAIR.size
    return NUMBERS[kind].size if kind in NUMBERS else 4


def _alignment(kind: str) -> int:
    return NUMBERS[kind].size if kind in NUMBERS else 4


def _is_default(entry: tuple[int, str, float], value: Any) -> bool:
    return entry[1] in NUMBERS and value == entry[2]
