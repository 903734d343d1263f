# SPDX-License-Identifier: MIT
"""A shared library of the Backend API: table and extensions.

The table is checked.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, Final

from armnn.errors import BackendError, BackendUnavailableError
from armnn_backend_api import BACKEND_API_VERSION, is_compatible
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.floating_point import keeping_floating_point
from armnn_backend_api.guarded import kept_functions
from armnn_backend_api.names import (
    ASYNC_EXECUTION,
    DEVICE_MEMORY,
    MAPPED_PROGRAMS,
    REPLANNED_PROGRAMS,
)
from armnn_backend_api.table import functions_of, read_text

_Execute: Final = ctypes.CFUNCTYPE(ctypes.c_int)
"""Without the types of the arguments: to convert them takes longer than a call."""

_DEVICE_MEMORY_SINCE: Final = (1, 2)
_OPTIONAL_OF_DEVICE_MEMORY: Final = ("device_id", "takes_host_memory", "reserved", "import_host")


class NativeLoadError(BackendUnavailableError):
    """A shared library cannot be used as a backend.

    Attributes:
        path: The file.
        stage: At which check: "linked", "dlopen", "exports", "id", "version", "factory", "table",
            "create".
        reason: Why, in one sentence without the file's name.
    """

    def __init__(self, path: str, stage: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be used as a backend ({stage}): {reason}.")
        self.path = path
        self.stage = stage
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.stage, self.reason)


class Library:
    """A file's table and its own description.

    Attributes:
        path: The canonical path of the file.
        id: What GetBackendId answers.
        version: The backend's own version.
        vendor: Who made it.
        api_version: The Backend API version that it needs.
        table: A copy of its table; functions that it lacks are NULL.
        has_ended: Whether the process is ending and nothing of it may be called any more.
        is_dropped_file: Whether it came from a scanned folder and not with a distribution.
    """

    def __init__(self, path: str) -> None:
        """Open and check a file.

        Raises:
            NativeLoadError: It cannot be used.
        """
        self.path = path
        self.has_ended = False
        self.is_dropped_file = False
        try:
            self._read()
        except LibraryError as error:
            raise NativeLoadError(path, error.stage, error.reason) from None
        self._functions = functions_of(self.table)
        self._keeping = kept_functions(self.table)

    @functools.cached_property
    def execute(self) -> Callable[..., int]:
        """``execute`` of the table, for arguments made once.

        None of them is converted. That of a file keeps the thread's floating-point environment.
        """
        function: Any = self._functions["execute"]
        execute = ctypes.cast(function, _Execute)
        return keeping_floating_point(execute) if self.is_dropped_file else execute

    @functools.cached_property
    def tasks(self) -> abi.Async | None:
        """The extension for asynchronous programs, if it has one.

        Raises:
            BackendError: Its table is not what the header describes.
        """
        table: abi.Async | None = extension_table(self, ASYNC_EXECUTION, abi.Async)
        return table

    @functools.cached_property
    def device_memory(self) -> abi.DeviceMemory | None:
        """The extension for tensors of a device, if any.

        A backend that declares less than Backend API 1.2 is not asked.

        Raises:
            BackendError: Its table is not what the header describes.
        """
        if (self.api_version.major, self.api_version.minor) < _DEVICE_MEMORY_SINCE:
            return None
        table: abi.DeviceMemory | None = extension_table(
            self, DEVICE_MEMORY, abi.DeviceMemory, optional=_OPTIONAL_OF_DEVICE_MEMORY
        )
        if table is not None and table.device_type == abi.DEVICE_CPU:
            raise BackendError(
                f"backend {self.id!r} ({self.path}) answers {DEVICE_MEMORY!r} with the device type "
                f"{abi.DEVICE_CPU} of host memory, expected that of a device"
            )
        return table

    @functools.cached_property
    def takes_any_host_memory(self) -> bool:
        """Whether programs have no wishes about the memory of tensors.

        Raises:
            BackendError: See :attr:`device_memory`.
        """
        return self.device_memory is None and self.function("io_requirement") is None

    @functools.cached_property
    def deserialize_mapped(self) -> Callable[..., int] | None:
        """The function for programs in mapped files, if any.

        Raises:
            BackendError: The extension's table is not what the header describes.
        """
        table: abi.Mapped | None = extension_table(self, MAPPED_PROGRAMS, abi.Mapped)
        return None if table is None else table.deserialize

    @functools.cached_property
    def replan(self) -> Callable[..., int] | None:
        """The function for programs of other shapes, if any.

        Raises:
            BackendError: The extension's table is not what the header describes.
        """
        table: abi.Replan | None = extension_table(self, REPLANNED_PROGRAMS, abi.Replan)
        return None if table is None else keeping_floating_point(table.replan)

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the table, None if missing."""
        return self._keeping[name]

    def required(self, name: str) -> Callable[..., Any]:
        """Return a function that every table has."""
        function = self._keeping[name]
        if function is None:
            raise NativeLoadError(self.path, "table", f"the table has NULL for {name}")
        return function

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.path!r}>"

    def _open(self) -> Exports:
        return Exports(open_library(self.path))

    def _read(self) -> None:
        """Open the file and read its description, check by check."""
        exports = self._open()
        self.id = exports.id()
        check_id(self.id)
        self.api_version = exports.version()
        if not is_compatible(self.api_version, BACKEND_API_VERSION):
            raise LibraryError(
                "version",
                f"it needs Backend API {self.api_version}, this core provides "
                f"{BACKEND_API_VERSION}",
            )
        self.table = exports.table(exports.factory(), self.id, self.api_version)
        self.version = read_text("version of the table", self.table.version)
        self.vendor = read_text("vendor of the table", self.table.vendor)


def extension_address(library: Library, name: str) -> int | None:
    """Return the address of an extension's table, None if missing."""
    get_extension = library.function("get_extension")
    address: int | None = None if get_extension is None else get_extension(name.encode())
    return address


def extension_table(
    library: Library, name: str, kind: type[Any], *, optional: Collection[str] = ()
) -> Any:
    """Return an extension's table as :func:`checked_table`, or None.

    Args:
        library: Whose it is.
        name: The extension's name and version.
        kind: The struct.
        optional: Fields that may be NULL or 0.

    Raises:
        BackendError: It is not what the header describes.
    """
    address = extension_address(library, name)
    return None if address is None else checked_table(library, name, kind, address, optional)


def checked_table(
    library: Library, name: str, kind: type[Any], address: int, optional: Collection[str] = ()
) -> Any:
    """Return the fields of an extension's table, by their names.

    A function restores the floating-point environment of the calling thread, and is None if absent.

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
    needed_fields = (field for field, *_ in kind._fields_[1:] if field not in optional)
    missing = [field for field in needed_fields if not getattr(table, field)]
    if missing:
        raise BackendError(
            f"backend {library.id!r} ({library.path}) answers {name!r} with NULL for "
            f"{', '.join(missing)}, expected a function"
        )
    values = {field: getattr(table, field) for field, *_ in kind._fields_}
    return SimpleNamespace(**{**values, **kept_functions(table)})
