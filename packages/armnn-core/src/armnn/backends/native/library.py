# SPDX-License-Identifier: MIT
"""Shared libraries as backends, opened once and kept.

They are kept until the process ends.
"""

from __future__ import annotations

import os
import threading
from os import PathLike
from typing import Final, TypeAlias

from armnn.backends.ffi.library import Library, NativeLoadError
from armnn.backends.native.host import Host
from armnn.backends.native.lifetimes import shut_down_at_exit

_Content: TypeAlias = "tuple[int, int, int, int]"
"""Device, inode, size and modification time; a further link to the file changes none of them."""


class NativeLibrary(Library):
    """A shared library with the Backend API's three exports.

    Make it with :meth:`open`. The mapping is never closed, since code and static data of it may be
    referred to until the process ends; so any number of runtimes share one object per file.

    Attributes:
        host: What the host does for its backends.
    """

    def __init__(self, path: str) -> None:
        """Open and check a file, called once by :meth:`open`.

        Raises:
            NativeLoadError: It cannot be used.
        """
        super().__init__(path)
        self.host = Host(self.id)
        shut_down_at_exit(self)

    @classmethod
    def open(cls, path: str | PathLike[str], *, id: str | None = None) -> NativeLibrary:
        """Return a file's library, the same object each time.

        The exports are called the first time only, one file at a time. Their outcome is kept, a
        failure as well. The caller trusts the file: opening runs its code.

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


class _Libraries:
    """The files opened in this process, with their outcomes."""

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
        status = os.stat(path)
    except OSError as error:
        raise NativeLoadError(path, "dlopen", f"{error.strerror}: {path}") from None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _outcome_of(path: str) -> NativeLibrary | NativeLoadError:
    try:
        return NativeLibrary(path)
    except NativeLoadError as error:
        return error.with_traceback(None)


_libraries: Final = _Libraries()
