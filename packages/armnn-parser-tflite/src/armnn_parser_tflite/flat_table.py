# SPDX-License-Identifier: MIT
"""Bounded reading of FlatBuffers tables: the file is untrusted, its bindings check nothing.

An offset that leads out of the file ends in :class:`ParseError`, and so does a file whose vectors,
which may share their bytes, would take much more to read than the file has.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from flatbuffers import number_types  # type: ignore[import-untyped]
from flatbuffers.table import Table  # type: ignore[import-untyped]

from armnn.errors import ParseError
from armnn_parser_tflite._bindings import TABLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FLAGS = {
    name.removesuffix("Flags"): flags
    for name, flags in vars(number_types).items()
    if name.endswith("Flags")
}
"""How the numbers of each kind are stored."""

_ERRORS = (struct.error, IndexError, ValueError, TypeError, OverflowError)
"""What the bindings raise where an offset, a length or a position makes no sense."""

_WORK_PER_BYTE = 16
_LEAST_WORK = 2**16

_EMPTY = struct.pack("<HHi", 4, 4, 4)
"""A table without fields, which starts at 4: reading it gives the defaults of the schema."""


class FlatFile:
    """The bytes of a file, and how much more of them may be read as vectors.

    Attributes:
        data: The content of the file.
        name: What error messages call it.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self._work: float = _WORK_PER_BYTE * len(data) + _LEAST_WORK

    def charge(self, size: int) -> None:
        """Take the bytes of a vector from what may be read.

        Raises:
            ParseError: Nothing is left: vectors overlap, or are longer than the file.
        """
        self._work -= size
        if self._work < 0:
            raise ParseError(
                f"the model {self.name!r} is malformed: its vectors are longer than the file"
            )

    def trust(self) -> None:
        """Let everything be read as often as wanted, now that the whole file has been seen."""
        self._work = math.inf

    def error(self, what: str) -> ParseError:
        """Return the error for something in the file that cannot be read."""
        return ParseError(f"the model {self.name!r} is malformed or cut short: {what}")


class FlatTable:
    """One table of a file, read by the names of its fields.

    Args:
        kind: The name of the table in the schema.
        tab: The bytes and where it stands in them.
        file: The file that it stands in.
    """

    def __init__(self, kind: str, tab: Any, file: FlatFile) -> None:
        self._kind = kind
        self._fields = TABLES.get(kind, {})
        self._tab = tab
        self._file = file

    @classmethod
    def at(cls, kind: str, position: int, file: FlatFile) -> FlatTable:
        """Return the table at a position of a file."""
        return cls(kind, Table(file.data, position), file)

    @classmethod
    def empty(cls, kind: str, file: FlatFile) -> FlatTable:
        """Return a table in which every field has the default of the schema."""
        return cls(kind, Table(_EMPTY, 4), file)

    def charge(self, size: int) -> None:
        """Take work that the table asks for from what may be done; see :class:`FlatFile`."""
        self._file.charge(size)

    def integer(self, name: str) -> int:
        """Return a number."""
        return int(self._number(name))

    def real(self, name: str) -> float:
        """Return a floating point number."""
        return float(self._number(name))

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        return bool(self._number(name))

    def text(self, name: str) -> str:
        """Return a text, "" if there is none; what is not UTF-8 is escaped."""
        with self._reading(name):
            offset, _ = self._place(name)
            found = self._tab.String(self._tab.Pos + offset) if offset else None
        return self._decoded(found)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a vector of integers, empty if there is none."""
        return tuple(self.array(name).tolist())

    def reals(self, name: str) -> tuple[float, ...]:
        """Return a vector of floating point numbers, empty if there is none."""
        return tuple(self.array(name).tolist())

    def array(self, name: str, *, charged: bool = True) -> NDArray[Any]:
        """Return a vector of numbers as a view of the file, empty if there is none.

        Args:
            name: The field.
            charged: Whether it counts as read; views that nobody walks over need not.
        """
        with self._reading(name):
            offset, kind = self._place(name)
            if not offset or not self._tab.VectorLen(offset):
                return np.empty(0, np.uint8)
            array: NDArray[Any] = self._tab.GetVectorAsNumpy(_FLAGS[kind.strip("[]")], offset)
        if charged:
            self._file.charge(array.nbytes)
        return array

    def table(self, name: str) -> FlatTable | None:
        """Return a table, None if it is absent."""
        with self._reading(name):
            offset, kind = self._place(name)
            if not offset:
                return None
            return self._other(kind, self._tab.Indirect(self._tab.Pos + offset))

    def tables(self, name: str) -> list[FlatTable]:
        """Return a vector of tables."""
        slot, kind, _ = self._fields[name]
        return self._tables(slot, kind.strip("[]"), name)

    def union(self, name: str, kind: str) -> FlatTable | None:
        """Return a member of a union as a table of a kind."""
        with self._reading(name):
            offset, _ = self._place(name)
            if not offset:
                return None
            return self._other(kind, self._tab.Indirect(self._tab.Pos + offset))

    # -- fields that are newer than the schema ---------------------------------------------------

    def slot_integer(self, slot: int, *, wide: bool = False) -> int:
        """Return an unsigned number of 32 bits, or 64, by its place in the vtable."""
        flags = number_types.Uint64Flags if wide else number_types.Uint32Flags
        with self._reading(f"field {slot}"):
            offset = self._tab.Offset(slot)
            return int(self._tab.Get(flags, self._tab.Pos + offset)) if offset else 0

    def slot_text(self, slot: int) -> str:
        """Return a text by its place in the vtable."""
        with self._reading(f"field {slot}"):
            offset = self._tab.Offset(slot)
            found = self._tab.String(self._tab.Pos + offset) if offset else None
        return self._decoded(found)

    def slot_tables(self, slot: int) -> list[FlatTable]:
        """Return a vector of tables, which the schema does not know, by its place."""
        return self._tables(slot, "Unknown", f"field {slot}")

    def _number(self, name: str) -> float:
        slot, kind, default = self._fields[name]
        tab = self._tab
        try:  # not _reading(): most fields are numbers
            offset = tab.Offset(slot)
            return tab.Get(_FLAGS[kind], tab.Pos + offset) if offset else default
        except _ERRORS as error:
            raise self._error(name) from error

    def _tables(self, slot: int, kind: str, name: str) -> list[FlatTable]:
        tab = self._tab
        with self._reading(name):
            offset = tab.Offset(slot)
            if not offset:
                return []
            start, count = tab.Vector(offset), tab.VectorLen(offset)
        self._file.charge(4 * count)
        with self._reading(name):
            return [self._other(kind, tab.Indirect(start + 4 * at)) for at in range(count)]

    def _place(self, name: str) -> tuple[int, str]:
        """Return where a field lies from the table on, 0 if it is absent, and its kind."""
        slot, kind, _ = self._fields[name]
        return int(self._tab.Offset(slot)), kind

    def _other(self, kind: str, position: int) -> FlatTable:
        """Return another table of these bytes."""
        return FlatTable(kind, Table(self._tab.Bytes, position), self._file)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Say of a field that cannot be read where it stands."""
        try:
            yield
        except _ERRORS as error:
            raise self._error(name) from error

    def _decoded(self, text: bytes | None) -> str:
        if text is None:
            return ""
        self._file.charge(len(text))
        return text.decode("utf-8", "backslashreplace")

    def _error(self, name: str) -> ParseError:
        return self._file.error(f"{self._kind}.{name} lies outside of it")
