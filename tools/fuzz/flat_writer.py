# SPDX-License-Identifier: MIT
"""Writes FlatBuffers tables by field places, without a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers  # type: ignore[import-untyped]  # it has no stubs
import numpy as np
from flatbuffers import number_types


@dataclass(frozen=True)
class Table:
    """A FlatBuffers table: its fields by place.

    A field is a number, text, bytes, array, table or list of tables.
    """

    fields: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """A number with the type that it is stored in."""

    kind: Any
    value: float


def table(fields: Mapping[int, Any] | None = None) -> Table:
    """Return a table."""
    return Table(fields or {})


def i8(value: int) -> Number:
    """Return a signed number of 8 bits."""
    return Number(number_types.Int8Flags, value)


def u8(value: int) -> Number:
    """Return an unsigned number of 8 bits."""
    return Number(number_types.Uint8Flags, value)


def i32(value: int) -> Number:
    """Return a signed number of 32 bits."""
    return Number(number_types.Int32Flags, value)


def u32(value: int) -> Number:
    """Return an unsigned number of 32 bits."""
    return Number(number_types.Uint32Flags, value)


def u64(value: int) -> Number:
    """Return an unsigned number of 64 bits."""
    return Number(number_types.Uint64Flags, value)


def reals(values: Sequence[float]) -> np.ndarray:
    """Return a vector of floating point numbers."""
    return np.array(values, np.float32)


def finish(root: Table, identifier: bytes = b"TFL3") -> bytes:
    """Return the file whose root is a table."""
    builder = flatbuffers.Builder(256)
    builder.Finish(_written(builder, root), identifier)
    return bytes(builder.Output())


def _written(builder: Any, value: Any) -> int:
    """Write a table, vector or text, and return its offset."""
    if isinstance(value, Table):
        places = {
            at: _written(builder, entry)
            for at, entry in value.fields.items()
            if not isinstance(entry, Number)
        }
        builder.StartObject(max(value.fields, default=-1) + 1)
        for at, entry in value.fields.items():
            if isinstance(entry, Number):
                builder.PrependSlot(entry.kind, at, entry.value, None)
            else:
                builder.PrependUOffsetTRelativeSlot(at, places[at], 0)
        return int(builder.EndObject())
    if isinstance(value, str):
        return int(builder.CreateString(value))
    if isinstance(value, bytes):
        return int(builder.CreateNumpyVector(np.frombuffer(value, np.uint8)))
    if isinstance(value, np.ndarray):
        return int(builder.CreateNumpyVector(value))
    offsets = [_written(builder, entry) for entry in value]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
