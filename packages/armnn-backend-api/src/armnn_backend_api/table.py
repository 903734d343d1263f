# SPDX-License-Identifier: MIT
"""Reads a BackendFactory's table as far as both sides know."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.memory import UnmappedError, read_memory
from armnn_backend_api.structs import copied, end_of

__all__ = [
    "REQUIRED",
    "TEXT_LIMIT",
    "TableError",
    "functions_of",
    "read_table",
    "read_text",
    "read_zero_terminated",
]

REQUIRED: Final = (
    "create",
    "destroy",
    "query",
    "compile",
    "program_destroy",
    "context_create",
    "context_destroy",
    "execute",
)
"""The functions that every backend has; any other may be missing."""

TEXT_LIMIT: Final = 256
"""Bytes of an id, a version or a vendor's name; a longer one is a stale pointer."""

_SMALLEST: Final = max(end_of(abi.BackendApi, name) for name in REQUIRED)


class TableError(ValueError):
    """A table cannot be used.

    The text says why, with what was found and what was expected.
    """


def read_table(address: int) -> abi.BackendApi:
    """Return a copy of a table; absent fields are zero.

    Raises:
        TableError: The table is not what the header describes.
    """
    alignment = ctypes.alignment(abi.BackendApi)
    if address % alignment:
        raise TableError(
            f"BackendFactory returned {address:#x}, expected a multiple of {alignment}"
        )
    try:
        header = abi.Header.from_buffer_copy(read_memory(address, ctypes.sizeof(abi.Header)))
        read_memory(address, min(header.struct_size, ctypes.sizeof(abi.BackendApi)))
    except UnmappedError as error:
        raise TableError(f"BackendFactory returned no table: {error}") from None
    expected = abi.STRUCT_IDS[abi.BackendApi]
    if header.struct_id != expected:
        raise TableError(
            f"struct_id of the table is {_four_letters(header.struct_id)}, expected "
            f"{_four_letters(expected)}"
        )
    if header.struct_size < _SMALLEST:
        raise TableError(
            f"struct_size of the table is {header.struct_size}, expected at least {_SMALLEST}"
        )
    table = copied(abi.BackendApi, address)
    missing = [name for name in REQUIRED if not getattr(table, name)]
    if missing:
        raise TableError(
            f"the table has NULL for {', '.join(missing)}, expected a function for each of "
            f"{', '.join(REQUIRED)}"
        )
    return table


def functions_of(table: ctypes.Structure) -> dict[str, Callable[..., Any] | None]:
    """Return the table's functions by name, None for absent ones."""
    fields = ((name, getattr(table, name)) for name, *_ in type(table)._fields_)
    return {name: value or None for name, value in fields if callable(value)}


def read_text(what: str, text: abi.String) -> str:
    """Return a short text of the table.

    Raises:
        TableError: It is too long, not UTF-8, or has control characters.
    """
    if not text.size:
        return ""
    if text.size > TEXT_LIMIT:
        raise TableError(f"{what} has {text.size} bytes, expected at most {TEXT_LIMIT}")
    if not text.data:
        raise TableError(f"{what} is NULL with size {text.size}, expected a text")
    try:
        raw = read_memory(text.data, text.size)
    except UnmappedError as error:
        raise TableError(f"{what} cannot be read: {error}") from None
    return _checked_text(what, raw)


def read_zero_terminated(what: str, address: int) -> str:
    """Return a short text that ends with a zero byte.

    Raises:
        TableError: It does not end within the limit, is not UTF-8, or has control characters.
    """
    for size in range(TEXT_LIMIT + 1):
        if ctypes.c_ubyte.from_address(address + size).value == 0:
            return _checked_text(what, ctypes.string_at(address, size))
    raise TableError(f"{what} has more than {TEXT_LIMIT} bytes, expected a short text")


def _checked_text(what: str, raw: bytes) -> str:
    """Return bytes as text.

    Raises:
        TableError: They are not UTF-8, or have control characters.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise TableError(f"{what} is {raw!r}, expected UTF-8") from None
    if not text.isprintable():
        raise TableError(f"{what} is {text!r}, expected printable characters")
    return text


def _four_letters(struct_id: int) -> str:
    return repr(struct_id.to_bytes(4, "little"))[1:]
