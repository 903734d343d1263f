# SPDX-License-Identifier: MIT
"""The folder of a cache: one file per key."""

from __future__ import annotations

import logging
import mmap
import os
import stat
import time
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from armnn._digest import sha256
from armnn.backends.cache import ProgramCache
from armnn.errors import InvalidArgumentError
from armnn.storage.container import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from armnn.backends import ProfilingSink
    from armnn.backends.cache import Block, Entry

SUFFIX: Final = ".armnn-program"

_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class CacheFolder(ProgramCache):
    """The folder of ``load_model(cache_dir=...)``; several processes may share it.

    Attributes:
        folder: Where it is.
        notes: What came of each program, in words, in the order in which they were asked for.
    """

    def __init__(self, folder: str | PathLike[str], profiler: ProfilingSink | None = None) -> None:
        """Use a folder, which is made if it is missing.

        Args:
            folder: Programs in it are handed to native code, so only its owner may write to it.
            profiler: Gets an event per program.

        Raises:
            InvalidArgumentError: It cannot be made, or others may write to it.
        """
        self.folder = Path(folder).absolute()
        self.notes: list[str] = []
        self._profiler = profiler
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = self.folder.stat().st_mode
        except OSError as error:
            raise InvalidArgumentError(
                f"{str(self.folder)!r} cannot be a cache folder: {error.strerror}"
            ) from error
        if mode & _OTHERS_MAY_WRITE:
            raise InvalidArgumentError(
                f"{str(self.folder)!r} cannot be a cache folder: others may write to it (mode "
                f"{stat.S_IMODE(mode):o}), expected its owner only; chmod go-w mends that"
            )

    def read(self, *key: str) -> Entry | None:
        """Return the entry under a key; see :meth:`ProgramCache.read`."""
        data = self._bytes(key)
        return None if data is None else unpack(data)

    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Store an entry under a key; see :meth:`ProgramCache.write`."""
        import tempfile  # imported late: with what it imports it takes longer than a read

        path = self._path(key)
        try:
            descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=self.folder)
        except OSError as error:
            _log.warning("a compiled program cannot be stored: %s", error)
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(pack(header, blocks))
            os.replace(name, path)
        except OSError as error:
            Path(name).unlink(missing_ok=True)
            _log.warning("a compiled program cannot be stored: %s", error)

    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record an outcome; see :meth:`ProgramCache.note`."""
        text = f"{backend_id}: {layers}: {outcome}"
        self.notes.append(text)
        _log.info("%s", text)
        if self._profiler is not None:
            end = time.perf_counter_ns()
            self._profiler.event(
                "cache", start_ns, end, category="cache", backend=backend_id, outcome=outcome
            )

    def _bytes(self, key: tuple[str, ...]) -> memoryview | None:
        try:
            with self._path(key).open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            return None
        except ValueError:  # mmap refuses an empty file
            return memoryview(b"")
        except OSError as error:
            _log.warning("a compiled program cannot be read: %s", error)
            return None

    def _path(self, key: tuple[str, ...]) -> Path:
        digest = sha256("\0".join(key).encode()).hexdigest()
        return self.folder / f"{digest[:40]}{SUFFIX}"
