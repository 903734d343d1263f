# SPDX-License-Identifier: MIT
"""FlatBuffers files (https://flatbuffers.dev/internals), read within bounds.

A file is untrusted. An offset that leads out of the file ends in :class:`ParseError`, and so does a
file whose vectors, which may share their bytes, would take much more to read than the file has.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError

__all__ = ["NUMBERS", "FlatFile", "FlatTable", "Tables"]

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

_UINT32_PAIR: Final = struct.Struct("<II")
"""A struct of two numbers, which stands in the table itself."""

_UINT16: Final = NUMBERS["Uint16"]
_INT32: Final = NUMBERS["Int32"]
_UINT32: Final = NUMBERS["Uint32"]


_T = TypeVar("_T")

_ERRORS = (struct.error, ValueError)
"""The errors that are raised where an offset or a length leads out of the file."""

_WORK_PER_BYTE = 16
_LEAST_WORK = 2**16

_uint16_at = _UINT16.unpack_from

_EMPTY = struct.pack("<HHi", 4, 4, 4)
"""A table without fields, which starts at 4: reading it gives the defaults of the schema."""


class FlatFile:
    """A file's bytes, with a budget for reading vectors.

    Attributes:
        data: The content of the file.
        name: Its name in error messages.
        tables: The schema of its tables.
    """

    def __init__(self, data: bytes, name: str, tables: Tables) -> None:
        self.data = data
        self.name = name
        self.tables = tables
        self._work: float = _WORK_PER_BYTE * len(data) + _LEAST_WORK

    def charge(self, size: int) -> None:
        """Subtract a vector's bytes from the limit of the file.

        Raises:
            ParseError: Nothing is left: vectors overlap, or are longer than the file.
        """
        self._work -= size
        if self._work < 0:
            raise ParseError(
                f"the model {self.name!r} is malformed: its vectors are longer than the file"
            )

    def trust(self) -> None:
        """Allow unlimited reading; the whole file has been checked."""
        self._work = math.inf

    def error(self, what: str) -> ParseError:
        """Return the error for an unreadable part of the file."""
        return ParseError(f"the model {self.name!r} is malformed or cut short: {what}")


class FlatTable:
    """One table of a file, read by field names.

    Args:
        kind: The name of the table in the schema.
        data: The bytes that it stands in.
        position: Where in them.
        file: The file that it is part of.
    """

    def __init__(self, kind: str, data: bytes, position: int, file: FlatFile) -> None:
        self._kind = kind
        self._fields = file.tables.get(kind, {})
        self._data = data
        self._position = position
        self._file = file
        self._vtable: tuple[int, int] | None = None

    @classmethod
    def at(cls, kind: str, position: int, file: FlatFile) -> FlatTable:
        """Return the table at a position of a file."""
        return cls(kind, file.data, position, file)

    @classmethod
    def empty(cls, kind: str, file: FlatFile) -> FlatTable:
        """Return a table with the schema's default in every field."""
        return cls(kind, _EMPTY, 4, file)

    def charge(self, size: int) -> None:
        """Subtract work from the limit of the file.

        See :class:`FlatFile`.
        """
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

    def pair(self, name: str) -> tuple[int, int] | None:
        """Return a pair of numbers, None if it is absent."""
        pair: tuple[int, int] | None = self._read(
            self._fields[name][0], name, _UINT32_PAIR.unpack_from
        )
        return pair

    def text(self, name: str) -> str:
        """Return a text, "" if absent.

        Bytes that are not UTF-8 are escaped.
        """
        return self._decoded(self._read(self._fields[name][0], name, _text))

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a vector of integers, empty if there is none."""
        return tuple(self.array(name).tolist())

    def reals(self, name: str) -> tuple[float, ...]:
        """Return a vector of floating point numbers, empty if absent."""
        return tuple(self.array(name).tolist())

    def array(self, name: str, *, charged: bool = True) -> NDArray[Any]:
        """Return a vector as a view of the file.

        It holds numbers, and is empty if the field is absent.

        Args:
            name: The field.
            charged: Whether it counts as read; views that are not walked over need not.
        """
        slot, kind, _ = self._fields[name]
        array = self._read(slot, name, _VECTORS[kind])
        if array is None:
            return _NOTHING
        if charged:
            self._file.charge(array.nbytes)
        return array

    def vector_place(self, name: str) -> tuple[int, int]:
        """Return a vector's place in the file and length."""
        found = self._read(self._fields[name][0], name, _vector_place)
        return (0, 0) if found is None else found

    def table(self, name: str) -> FlatTable | None:
        """Return a table, None if it is absent."""
        slot, kind, _ = self._fields[name]
        return self._other(kind, self._read(slot, name, _target))

    def tables(self, name: str) -> list[FlatTable]:
        """Return a vector of tables."""
        slot, kind, _ = self._fields[name]
        return self._tables(slot, kind.strip("[]"), name)

    def union(self, name: str, kind: str) -> FlatTable | None:
        """Return a member of a union as a table."""
        return self._other(kind, self._read(self._fields[name][0], name, _target))

    # -- fields that are newer than the schema ---------------------------------------------------

    def slot_integer(self, slot: int, *, wide: bool = False) -> int:
        """Return an unsigned 32- or 64-bit number by vtable place."""
        number = NUMBERS["Uint64" if wide else "Uint32"]
        found = self._read(slot, f"field {slot}", number.unpack_from)
        return 0 if found is None else int(found[0])

    def slot_text(self, slot: int) -> str:
        """Return a text by its place in the vtable."""
        return self._decoded(self._read(slot, f"field {slot}", _text))

    def slot_tables(self, slot: int) -> list[FlatTable]:
        """Return a vector of tables by its vtable place.

        The schema does not know it.
        """
        return self._tables(slot, "Unknown", f"field {slot}")

    # -- inside ----------------------------------------------------------------------------------

    def _number(self, name: str) -> float:
        slot, kind, default = self._fields[name]
        found = self._read(slot, name, NUMBERS[kind].unpack_from)
        number: float = default if found is None else found[0]
        return number

    def _tables(self, slot: int, kind: str, name: str) -> list[FlatTable]:
        positions = self._read(slot, name, _targets)
        if positions is None:
            return []
        self._file.charge(4 * len(positions))
        return [FlatTable(kind, self._data, position, self._file) for position in positions]

    def _other(self, kind: str, position: int | None) -> FlatTable | None:
        """Return another table of these bytes, None if absent."""
        return None if position is None else FlatTable(kind, self._data, position, self._file)

    def _read(self, slot: int, name: str, read: Callable[[bytes, int], _T]) -> _T | None:
        """Read a field, None if it is absent.

        Raises:
            ParseError: The field is outside of the file.
        """
        try:
            start, size = self._vtable or self._find_vtable()
            # Models have thousands of fields: a call of a function counts.
            offset = _uint16_at(self._data, start + slot)[0] if slot < size else 0
            return read(self._data, self._position + offset) if offset else None
        except _ERRORS as error:
            raise self._file.error(f"{self._kind}.{name} is outside of it") from error

    def _find_vtable(self) -> tuple[int, int]:
        """Return where the vtable is, and its bytes."""
        start = self._position - _INT32.unpack_from(self._data, self._position)[0]
        if start < 0:  # from which Python would count back from the end
            raise ValueError(f"the vtable's offset is {start}")
        self._vtable = start, _uint16_at(self._data, start)[0]
        return self._vtable

    def _decoded(self, text: bytes | None) -> str:
        if text is None:
            return ""
        self._file.charge(len(text))
        return text.decode("utf-8", "backslashreplace")


def _target(data: bytes, place: int) -> int:
    """Return where the offset at a place leads to."""
    target = place + int(_UINT32.unpack_from(data, place)[0])
    if target >= len(data):
        raise ValueError(f"the offset at {place} leads to {target} of {len(data)} bytes")
    return target


def _text(data: bytes, place: int) -> bytes:
    start = _target(data, place)
    size = _UINT32.unpack_from(data, start)[0]
    return data[start + 4 : start + 4 + size]


def _vector_place(data: bytes, place: int) -> tuple[int, int]:
    start = _target(data, place)
    return start + 4, int(_UINT32.unpack_from(data, start)[0])


def _vector(dtype: np.dtype[Any], data: bytes, place: int) -> NDArray[Any]:
    """Return the elements of a vector as a view."""
    start, count = _vector_place(data, place)
    return np.frombuffer(data, dtype, count, start) if count else _NOTHING


def _targets(data: bytes, place: int) -> list[int]:
    """Return the targets of a vector's offsets.

    Each offset counts from its own place.
    """
    start = _target(data, place) + 4
    offsets = _vector(np.dtype("<u4"), data, place).tolist()
    return [start + 4 * at + offset for at, offset in enumerate(offsets)]


_NOTHING: Final[NDArray[Any]] = np.empty(0, np.uint8)

_VECTORS: Final = {
    f"[{kind}]": partial(_vector, np.dtype(number.format)) for kind, number in NUMBERS.items()
}
"""The reader of a vector of numbers of each kind."""
