# SPDX-License-Identifier: MIT
"""One shared library of the Backend API: opened once, checked, and kept until the process ends."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from os import PathLike
from typing import Any, Final, NamedTuple

from armnn.backends.extensions import ASYNC_EXECUTION
from armnn.backends.loading import VALID_ID
from armnn.backends.native.extension_tables import extension_table
from armnn.backends.native.host import Host
from armnn.backends.native.lifetimes import shut_down_at_exit
from armnn.backends.native.table import (
    TableError,
    functions_of,
    read_table,
    read_text,
    read_zero_terminated,
)
from armnn.errors import BackendUnavailableError
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn_backend_api import ctypes_mirror as abi

UNDEFINED_ID: Final = "Unknown"
"""Arm NN's word for "no backend"; none may be called like that."""

_Execute: Final = ctypes.CFUNCTYPE(ctypes.c_int)
"""Without the types of the arguments: to convert them takes longer than a call."""

_EXPORTS: Final = ("GetBackendId", "GetVersion", "BackendFactory")


class NativeLoadError(BackendUnavailableError):
    """A shared library cannot be used as a backend.

    Attributes:
        path: The file.
        stage: At which check: "dlopen", "exports", "id", "version", "factory", "table", "create".
        reason: Why, in one sentence without the file's name.
    """

    def __init__(self, path: str, stage: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be used as a backend ({stage}): {reason}.")
        self.path = path
        self.stage = stage
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.stage, self.reason)


class _FileState(NamedTuple):
    """What tells one state of a file from another."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class NativeLibrary:
    """A shared library with the three exports of the Backend API.

    Make it with :meth:`open`. The mapping is never closed, since code and static data of it may be
    referred to until the process ends; so any number of runtimes share one object per file.

    Attributes:
        path: The canonical path of the file.
        id: What GetBackendId answers.
        version: The backend's own version.
        vendor: Who made it.
        api_version: The Backend API version that it needs.
        table: A copy of its table; functions that it lacks are NULL.
        host: What the host does for its backends.
        has_ended: Whether the process is ending and nothing of it may be called any more.
    """

    def __init__(self, path: str) -> None:
        """Open and check a file; :meth:`open` calls this once per file.

        Raises:
            NativeLoadError: It cannot be used.
        """
        self.path = path
        self.has_ended = False
        self._exports = self._open()
        try:
            self._stage = "id"
            self.id = self._read_id()
            self._stage = "version"
            self.api_version = self._read_version()
            self._stage = "factory"
            address = self._read_factory()
            self._stage = "table"
            self.table: abi.BackendApi = read_table(address)
            self.version = read_text("version of the table", self.table.version)
            self.vendor = read_text("vendor of the table", self.table.vendor)
            self._check_table()
        except TableError as error:
            raise self._error(str(error)) from None
        self._functions = functions_of(self.table)
        self.host = Host(self.id)
        shut_down_at_exit(self)

    @classmethod
    def open(cls, path: str | PathLike[str], *, id: str | None = None) -> NativeLibrary:
        """Return the library of a file; the same object each time.

        The exports are called the first time only, one file at a time. Their outcome is kept, a
        failure as well. The caller has said that it trusts the file: opening runs its code.

        Args:
            path: The file. It is not searched for.
            id: What GetBackendId must answer, if that is known.

        Raises:
            NativeLoadError: The file cannot be used; ``stage`` and ``reason`` say why.
        """
        library = _libraries.open(os.path.realpath(path))
        if id is not None and library.id != id:
            raise NativeLoadError(
                library.path, "id", f"GetBackendId answers {library.id!r}, expected {id!r}"
            )
        return library

    @functools.cached_property
    def execute(self) -> Callable[..., int]:
        """``execute`` of its table, for arguments that are made once: none is converted."""
        function: Any = self.required("execute")
        return ctypes.cast(function, _Execute)

    @functools.cached_property
    def tasks(self) -> abi.Async | None:
        """The extension by which its programs run beside their caller, if it has that.

        Raises:
            BackendError: Its table is not what the header describes.
        """
        table: abi.Async | None = extension_table(self, ASYNC_EXECUTION, abi.Async)
        return table

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the table, None if the backend lacks it."""
        return self._functions[name]

    def required(self, name: str) -> Callable[..., Any]:
        """Return a function that every table has."""
        function = self._functions[name]
        if function is None:
            raise self._error(f"the table has NULL for {name}")
        return function

    def __repr__(self) -> str:
        return f"<NativeLibrary {self.id!r} {self.path!r}>"

    # -- the checks, in order -------------------------------------------------------------------

    def _open(self) -> dict[str, Any]:
        self._stage = "dlopen"
        try:
            # CDLL adds RTLD_NOW and RTLD_LOCAL, and never closes what it opened.
            library = ctypes.CDLL(self.path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)
        except OSError as error:
            raise self._error(str(error)) from None
        self._stage = "exports"
        missing = [name for name in _EXPORTS if not hasattr(library, name)]
        if missing:
            raise self._error(f"it does not export {', '.join(missing)}")
        return {name: getattr(library, name) for name in _EXPORTS}

    def _read_id(self) -> str:
        get_id = self._exports["GetBackendId"]
        get_id.restype, get_id.argtypes = ctypes.c_void_p, ()
        address = get_id()
        if address is None:
            raise TableError("GetBackendId answers NULL, expected letters and digits")
        backend_id = read_zero_terminated("GetBackendId", address)
        if not VALID_ID.fullmatch(backend_id):
            raise TableError(f"GetBackendId answers {backend_id!r}, expected letters and digits")
        if backend_id == UNDEFINED_ID:
            raise TableError(f"GetBackendId answers {backend_id!r}, which stands for no backend")
        return backend_id

    def _read_version(self) -> BackendVersion:
        get_version = self._exports["GetVersion"]
        number = ctypes.POINTER(ctypes.c_uint32)
        get_version.restype, get_version.argtypes = None, (number, number)
        major, minor = ctypes.c_uint32(), ctypes.c_uint32()
        get_version(major, minor)
        needed = BackendVersion(major.value, minor.value)
        if not is_compatible(needed, BACKEND_API_VERSION):
            raise TableError(
                f"it needs Backend API {needed}, this core provides {BACKEND_API_VERSION}"
            )
        return needed

    def _read_factory(self) -> int:
        factory = self._exports["BackendFactory"]
        factory.restype, factory.argtypes = ctypes.c_void_p, ()
        address: int | None = factory()
        if address is None:
            raise TableError("BackendFactory returned NULL, expected the backend's table")
        return address

    def _check_table(self) -> None:
        backend_id = read_text("id of the table", self.table.id)
        if backend_id != self.id:
            raise TableError(
                f"id of the table is {backend_id!r}, expected {self.id!r} as GetBackendId answers"
            )
        version = BackendVersion(self.table.api_major, self.table.api_minor)
        if version != self.api_version:
            raise TableError(
                f"the table says Backend API {version}, expected {self.api_version} as GetVersion "
                "answers"
            )

    def _error(self, reason: str) -> NativeLoadError:
        return NativeLoadError(self.path, self._stage, reason)


class _Libraries:
    """The files that were opened in this process, each with what came of it."""

    def __init__(self) -> None:
        self._outcomes: dict[str, tuple[_FileState, NativeLibrary | NativeLoadError]] = {}
        self._by_file: dict[_FileState, str] = {}
        self._lock = threading.Lock()

    def open(self, path: str) -> NativeLibrary:
        with self._lock:
            state = _state_of(path)
            path = self._by_file.setdefault(state, path)  # a hard link is the same file
            if path not in self._outcomes:
                self._outcomes[path] = state, _outcome_of(path)
            opened, outcome = self._outcomes[path]
        if opened != state:
            raise NativeLoadError(
                path,
                "dlopen",
                "the file has changed since this process opened it, and the old one is still in "
                "use; start a new process",
            )
        if isinstance(outcome, NativeLoadError):
            raise NativeLoadError(outcome.path, outcome.stage, outcome.reason)
        return outcome


def _state_of(path: str) -> _FileState:
    try:
        status = os.stat(path)
    except OSError as error:
        raise NativeLoadError(path, "dlopen", f"{error.strerror}: {path}") from None
    return _FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _outcome_of(path: str) -> NativeLibrary | NativeLoadError:
    try:
        return NativeLibrary(path)
    except NativeLoadError as error:
        return error.with_traceback(None)


_libraries: Final = _Libraries()
