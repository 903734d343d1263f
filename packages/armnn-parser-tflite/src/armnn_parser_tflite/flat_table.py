# SPDX-License-Identifier: MIT
"""Bounded reading of FlatBuffers tables: the file is untrusted, its bindings check nothing.

An offset that leads out of the file ends in :class:`ParseError`, and so does a file whose vectors,
which may share their bytes, would take much more to read than the file has.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from flatbuffers import number_types  # type: ignore[import-untyped]
from flatbuffers.table import Table  # type: ignore[import-untyped]

from armnn.errors import ParseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """One table of a file, read by the names of its fields in the generated bindings.

    Args:
        table: An object of the bindings.
        file: The file that it stands in.
    """

    def __init__(self, table: Any, file: FlatFile) -> None:
        self._table = table
        self._file = file

    @classmethod
    def empty(cls, kind: Any, file: FlatFile) -> FlatTable:
        """Return a table of a class of the bindings in which every field has its default."""
        table = kind()
        table.Init(_EMPTY, 4)
        return cls(table, file)

    def charge(self, size: int) -> None:
        """Take work that the table asks for from what may be done; see :class:`FlatFile`."""
        self._file.charge(size)

    def integer(self, name: str) -> int:
        """Return a number."""
        return int(self._read(name))

    def real(self, name: str) -> float:
        """Return a floating point number."""
        return float(self._read(name))

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        return bool(self._read(name))

    def text(self, name: str) -> str:
        """Return a text, "" if there is none; what is not UTF-8 is escaped."""
        return self._decoded(self._read(name))

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
        if self._read(f"{name}Length") == 0:
            return np.empty(0, np.uint8)
        array: NDArray[Any] = self._read(f"{name}AsNumpy")
        if charged:
            self._file.charge(array.nbytes)
        return array

    def table(self, name: str) -> FlatTable | None:
        """Return a table, None if it is absent."""
        found = self._read(name)
        return None if found is None else FlatTable(found, self._file)

    def tables(self, name: str) -> list[FlatTable]:
        """Return a vector of tables."""
        count = int(self._read(f"{name}Length"))
        self._file.charge(4 * count)
        return [FlatTable(self._read(name, index), self._file) for index in range(count)]

    def union(self, name: str, kind: Any) -> FlatTable | None:
        """Return a member of a union as a table of a class of the bindings."""
        found = self._read(name)
        if found is None:
            return None
        table = kind()
        try:
            table.Init(found.Bytes, found.Pos)
        except _ERRORS as error:
            raise self._error(name) from error
        return FlatTable(table, self._file)

    # -- fields that are newer than the bindings -------------------------------------------------

    def slot_integer(self, slot: int, *, wide: bool = False) -> int:
        """Return an unsigned number of 32 bits, or 64, by its place in the vtable."""
        flags = number_types.Uint64Flags if wide else number_types.Uint32Flags
        try:
            tab = self._tab()
            offset = tab.Offset(slot)
            return int(tab.Get(flags, tab.Pos + offset)) if offset else 0
        except _ERRORS as error:
            raise self._error(f"field {slot}") from error

    def slot_text(self, slot: int) -> str:
        """Return a text by its place in the vtable."""
        try:
            tab = self._tab()
            offset = tab.Offset(slot)
            return self._decoded(tab.String(tab.Pos + offset) if offset else None)
        except _ERRORS as error:
            raise self._error(f"field {slot}") from error

    def slot_tables(self, slot: int) -> list[FlatTable]:
        """Return a vector of tables, which the bindings have no class for, by its place."""
        try:
            tab = self._tab()
            offset = tab.Offset(slot)
            if not offset:
                return []
            start, count = tab.Vector(offset), tab.VectorLen(offset)
            self._file.charge(4 * count)
            return [
                FlatTable(_Unnamed(tab.Bytes, tab.Indirect(start + 4 * index)), self._file)
                for index in range(count)
            ]
        except _ERRORS as error:
            raise self._error(f"field {slot}") from error

    def _tab(self) -> Any:
        return self._table._tab  # where every class of the bindings keeps its position

    def _read(self, name: str, *arguments: int) -> Any:
        try:
            return getattr(self._table, name)(*arguments)
        except _ERRORS as error:
            raise self._error(name) from error

    def _decoded(self, text: bytes | None) -> str:
        if text is None:
            return ""
        self._file.charge(len(text))
        return text.decode("utf-8", "backslashreplace")

    def _error(self, name: str) -> ParseError:
        return self._file.error(f"{type(self._table).__name__}.{name} lies outside of it")


class _Unnamed:
    """A table that the bindings have no class for."""

    def __init__(self, data: bytes, position: int) -> None:
        self._tab = Table(data, position)
