# SPDX-License-Identifier: MIT
"""Reads the tables that a file's ``get_extension`` returns."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from armnn.errors import BackendError
from armnn_backend_api import ctypes_mirror as abi

if TYPE_CHECKING:
    from armnn.backends.native.library import NativeLibrary


def extension_address(library: NativeLibrary, name: str) -> int | None:
    """Return where the table of an extension is, None if the backend lacks it."""
    get_extension = library.function("get_extension")
    address: int | None = None if get_extension is None else get_extension(name.encode())
    return address


def extension_table(library: NativeLibrary, name: str, kind: type[Any]) -> Any:
    """Return a copy of the table of an extension, None if the backend lacks it.

    Raises:
        BackendError: It is not what the header describes.
    """
    address = extension_address(library, name)
    return None if address is None else checked_table(library, name, kind, address)


def checked_table(library: NativeLibrary, name: str, kind: type[Any], address: int) -> Any:
    """Return a copy of the table of an extension.

    Raises:
        BackendError: It is not what the header describes.
    """
    header = abi.Header.from_address(address)
    needed, struct_id = ctypes.sizeof(kind), abi.STRUCT_IDS[kind]
    if header.struct_id != struct_id or header.struct_size < needed:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) answers {name!r} with a table of id "
            f"{header.struct_id:#x} and {header.struct_size} bytes, expected id {struct_id:#x} and "
            f"at least {needed}"
        )
    table = kind()
    ctypes.memmove(ctypes.addressof(table), address, needed)
    missing = [field for field, *_ in kind._fields_[1:] if not getattr(table, field)]
    if missing:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) answers {name!r} with NULL for "
            f"{', '.join(missing)}, expected a function"
        )
    return table
