# SPDX-License-Identifier: MIT
"""The folder of a cache: one mapped file per key."""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from armnn._load_times import stage
from armnn.backends import ProfilingSink
from armnn.backends.cache import Block, Entry, GrowingBlock, ProgramCache, StaleEntryError
from armnn.errors import InvalidArgumentError
from armnn.storage.container import SUFFIX, WRITING, digest_of, pack, unpack
from armnn.storage.stamps import KnownDigests, file_name, stamp_of

_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class CacheFolder(ProgramCache):
    """The folder of ``load_model(cache_dir=...)``; several processes may share it.

    Attributes:
        digests: Those of the files in it, and of models.
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
        given = os.fspath(folder)
        self._folder = given if os.path.isabs(given) else os.path.join(os.getcwd(), given)
        self.digests = KnownDigests(self._folder)
        self.notes: list[str] = []
        self._profiler = profiler
        try:
            mode = _made(self._folder).st_mode
        except OSError as error:
            raise InvalidArgumentError(
                f"{self._folder!r} cannot be a cache folder: {error.strerror}"
            ) from error
        if mode & _OTHERS_MAY_WRITE:
            raise InvalidArgumentError(
                f"{self._folder!r} cannot be a cache folder: others may write to it (mode "
                f"{stat.S_IMODE(mode):o}), expected its owner only; chmod go-w mends that"
            )

    @property
    def folder(self) -> Path:
        """Where it is."""
        return Path(self._folder)

    def read(self, *key: str) -> Entry | None:
        """Return the entry under a key; see :meth:`ProgramCache.read`.

        Its sha256 is checked when the file is read for the first time since it changed.
        """
        with stage("read"):
            return self._read(key)

    def _read(self, key: tuple[str, ...]) -> Entry | None:
        path = self._path(key)
        now, stamp = time.time_ns(), stamp_of(path)
        data = self._bytes(path)
        if data is None:
            return None
        is_known = bool(data) and self.digests.known(path) == digest_of(data)
        header, blocks = unpack(data, is_known=is_known)
        if header.pop("key", None) != list(key):
            raise StaleEntryError("it is the entry of another key")
        if is_known:
            self.digests.touch(path)
        else:
            self.digests.keep(path, stamp, digest_of(data), now)
        return header, blocks

    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Store an entry under a key; see :meth:`ProgramCache.write`."""
        try:
            path = self._path(key)
            write_file(path, pack({**header, "key": key}, blocks))
            self._trim(path)
        except OSError as error:
            _log.warning("a prepared model cannot be stored: %s", error)

    def block(self) -> GrowingBlock:
        """Return a block; see :meth:`ProgramCache.block`."""
        from armnn.storage.file_block import FileBlock  # late: a load from the cache has none

        return FileBlock(self._folder)  # other folders may be in memory

    def _trim(self, written: str) -> None:
        from armnn.storage.bounds import trim  # late: a load from the cache writes nothing

        for each in trim(self.folder, self.digests, written=Path(written)):
            _log.info("%s goes from the cache: %d bytes", each.path.name, each.size)

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

    def _bytes(self, path: str) -> memoryview | None:
        try:
            return mapped(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            _log.warning("a prepared model cannot be read: %s", error)
            return None

    def _path(self, key: tuple[str, ...]) -> str:
        return os.path.join(self._folder, file_name("\0".join(key)) + SUFFIX)


def _made(folder: str) -> os.stat_result:
    """Return the status of a folder, made if missing."""
    try:
        return os.stat(folder)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.stat(folder)


def mapped(path: str | PathLike[str]) -> memoryview:
    """Map a file; only what is read comes into memory.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:  # mmap refuses an empty file
            return memoryview(b"")


def write_file(path: str | PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file completely or not at all.

    It is on the disk before it has its name, as nothing checks all of it when it is read again.

    Raises:
        OSError: It cannot be written; nothing of it is left, as of other errors.
    """
    descriptor, name = tempfile.mkstemp(prefix=WRITING, dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
