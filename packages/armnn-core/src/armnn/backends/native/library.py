# SPDX-License-Identifier: MIT
"""One shared library of the Backend API: opened once, checked, and kept until the process ends."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from os import PathLike
from typing import Any, Final, TypeAlias

from armnn.backends.native.extension_tables import extension_table
from armnn.backends.native.host import Host
from armnn.backends.native.lifetimes import shut_down_at_exit
from armnn.errors import BackendUnavailableError
from armnn_backend_api import BACKEND_API_VERSION, is_compatible
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.files import FileState
from armnn_backend_api.names import ASYNC_EXECUTION
from armnn_backend_api.table import functions_of, read_text

_Content: TypeAlias = tuple[int, int, int, int]

_Execute: Final = ctypes.CFUNCTYPE(ctypes.c_int)
"""Without the types of the arguments: to convert them takes longer than a call."""


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
        try:
            self._read()
        except LibraryError as error:
            raise NativeLoadError(path, error.stage, error.reason) from None
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
            raise NativeLoadError(self.path, "table", f"the table has NULL for {name}")
        return function

    def __repr__(self) -> str:
        return f"<NativeLibrary {self.id!r} {self.path!r}>"

    def _open(self) -> Exports:
        return Exports(open_library(self.path))

    def _read(self) -> None:
        """Open the file and read what it says of itself, check by check."""
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


class _Libraries:
    """The files that were opened in this process, each with what came of it."""

    def __init__(self) -> None:
        self._outcomes: dict[str, tuple[_Content, NativeLibrary | NativeLoadError]] = {}
        self._by_file: dict[_Content, str] = {}
        self._lock = threading.Lock()

    def open(self, path: str) -> NativeLibrary:
        with self._lock:
            content = _content_of(path)
            path = self._by_file.setdefault(content, path)  # a hard link is the same file
            if path not in self._outcomes:
                self._outcomes[path] = content, _outcome_of(path)
            opened, outcome = self._outcomes[path]
        if opened != content:
            raise NativeLoadError(
                path,
                "dlopen",
                "the file has changed since this process opened it, and the old one is still in "
                "use; start a new process",
            )
        if isinstance(outcome, NativeLoadError):
            raise NativeLoadError(outcome.path, outcome.stage, outcome.reason)
        return outcome


def _content_of(path: str) -> _Content:
    try:
        return FileState.of(os.stat(path)).content
    except OSError as error:
        raise NativeLoadError(path, "dlopen", f"{error.strerror}: {path}") from None


def _outcome_of(path: str) -> NativeLibrary | NativeLoadError:
    try:
        return NativeLibrary(path)
    except NativeLoadError as error:
        return error.with_traceback(None)


_libraries: Final = _Libraries()
