# SPDX-License-Identifier: MIT
"""Opens a shared library and calls its three exports, checked."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from armnn_backend_api.floating_point import keeping_floating_point, kept_floating_point
from armnn_backend_api.linker import LinkError, namesake_in_process
from armnn_backend_api.memory import printable
from armnn_backend_api.names import EXPORTS, fault_of_id
from armnn_backend_api.table import (
    TableError,
    read_table,
    read_text,
    read_zero_terminated,
)
from armnn_backend_api.version import BackendVersion

if TYPE_CHECKING:
    from armnn_backend_api.ctypes_mirror import BackendApi

__all__ = ["Exports", "LibraryError", "check_id", "open_library"]


_LINKER_LIMIT: Final = 1000
"""Characters of the dynamic linker's messages; they have paths and names of symbols."""


class LibraryError(Exception):
    """A shared library cannot be used as a backend.

    Attributes:
        stage: At which check: "linked", "dlopen", "exports", "id", "version", "factory" or "table".
        reason: Why, as a clause without the file's name.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(stage, reason)
        self.stage = stage
        self.reason = reason


def open_library(path: str) -> ctypes.CDLL:
    """Open a shared library, which runs its code.

    It stays open.

    Raises:
        LibraryError: The dynamic linker refuses it, or would give it another library of the process
            than the one that it is linked with.
    """
    _check_namesakes(path)
    mode = os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE
    try:
        with kept_floating_point():
            return ctypes.CDLL(path, mode=mode)
    except OSError as error:
        raise LibraryError("dlopen", printable(str(error), _LINKER_LIMIT)) from None
    except UnicodeDecodeError as error:  # the linker quotes what is not UTF-8
        reason = printable(os.fsdecode(error.object), _LINKER_LIMIT)
        raise LibraryError("dlopen", reason) from None


def _check_namesakes(path: str) -> None:
    """Refuse a file that would get another library than its own, which nothing else reports.

    Raises:
        LibraryError: It would.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        namesake = namesake_in_process(path)
    except (LinkError, OSError):  # the linker reports it, or the file is only untrusted
        return
    if namesake is not None:
        raise LibraryError(
            "linked",
            f"it is linked with {namesake.expected!r}, but the process has already mapped "
            f"{namesake.got!r} under the same name {namesake.name!r}, and maps one only: isolate "
            "one of the two that use them, give one library another name (-Wl,-soname), or link "
            "it statically",
        )


class Exports:
    """The three exports of a library, with checked answers."""

    def __init__(self, library: object) -> None:
        """Look them up.

        Args:
            library: The object that has them as attributes, such as a result of
                :func:`open_library`.

        Raises:
            LibraryError: One is missing.
        """
        missing = [name for name in EXPORTS if not _has(library, name)]
        if missing:
            raise LibraryError("exports", f"it does not export {', '.join(missing)}")
        self._get_id, self._get_version, self._factory = (getattr(library, n) for n in EXPORTS)

    def id(self) -> str:
        """Return the answer of GetBackendId.

        :func:`check_id` says whether it is an id.

        Raises:
            LibraryError: It is not a short printable text.
        """
        address = _typed(self._get_id, ctypes.c_void_p)()
        with _stage("id"):
            if address is None:
                raise TableError("GetBackendId answers NULL, expected letters and digits")
            return read_zero_terminated("GetBackendId", address)

    def version(self) -> BackendVersion:
        """Return the Backend API version that the library needs."""
        number = ctypes.POINTER(ctypes.c_uint32)
        major, minor = ctypes.c_uint32(), ctypes.c_uint32()
        _typed(self._get_version, None, number, number)(major, minor)
        return BackendVersion(major.value, minor.value)

    def factory(self) -> int:
        """Return the address of the table that BackendFactory returns.

        Raises:
            LibraryError: It is NULL.
        """
        address: int | None = _typed(self._factory, ctypes.c_void_p)()
        if address is None:
            reason = "BackendFactory returned NULL, expected the backend's table"
            raise LibraryError("factory", reason)
        return address

    @staticmethod
    def table(address: int, id: str, version: BackendVersion) -> BackendApi:
        """Return a copy of a table; absent fields are zero.

        Args:
            address: The address that :meth:`factory` returned.
            id: The id that GetBackendId returned.
            version: The version that GetVersion returned.

        Raises:
            LibraryError: It is not what the header describes, or contradicts the exports.
        """
        with _stage("table"):
            table: BackendApi = read_table(address)
            found = read_text("id of the table", table.id)
            for field in ("version", "vendor"):
                read_text(f"{field} of the table", getattr(table, field))
            if found != id:
                raise TableError(
                    f"id of the table is {found!r}, expected {id!r} as GetBackendId answers"
                )
            needed = BackendVersion(table.api_major, table.api_minor)
            if needed != version:
                raise TableError(
                    f"the table says Backend API {needed}, expected {version} as GetVersion answers"
                )
        return table


def check_id(backend_id: str) -> None:
    """Check the answer of GetBackendId.

    Raises:
        LibraryError: It has other characters than letters and digits, or names no backend.
    """
    fault = fault_of_id(backend_id)
    if fault:
        raise LibraryError("id", f"GetBackendId answers {backend_id!r}, {fault}")


def _has(library: object, name: str) -> bool:
    """Return whether a library exports a name."""
    try:
        getattr(library, name)
    except (AttributeError, UnicodeDecodeError):  # the latter where its path is not UTF-8
        return False
    return True


def _typed(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype, function.argtypes = result, arguments
    return keeping_floating_point(function)


@contextlib.contextmanager
def _stage(name: str) -> Iterator[None]:
    try:
        yield
    except TableError as error:
        raise LibraryError(name, str(error)) from None
