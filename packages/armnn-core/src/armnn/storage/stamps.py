# SPDX-License-Identifier: MIT
"""The identity of files: digests, known until these change.

Hashing a model of 100 MB takes longer than everything else that loading it from a cache takes, and
brings all of it into memory. So the digest of a file is kept with its stamp: device, inode, size,
and the times of the last change of content (mtime) and of anything (ctime), in nanoseconds. No
program can set the ctime, so a file with another content has another stamp, but where two changes
fall into one tick of the file system's clock: a digest that was computed so soon after a change is
computed again the next time.
"""

from __future__ import annotations

import contextlib
import os
import time
from os import PathLike
from typing import Final, TypeAlias
from zlib import crc32

from armnn._files import file_sha256
from armnn._load_times import stage

Stamp: TypeAlias = tuple[int, ...]
"""What changes with a file; empty without one."""

SUFFIX: Final = ".armnn-stamp"

_TICK_NS: Final = 50_000_000
_COARSE_TICK_NS: Final = 2_000_000_000
"""Of file systems that keep whole seconds, FAT even two of them."""


def stamp_of(path: str | PathLike[str]) -> Stamp:
    """Return the stamp of a file; empty without one."""
    try:
        return stamp_in(os.stat(path))
    except OSError:
        return ()


def stamp_in(status: os.stat_result) -> Stamp:
    """Return the stamp in a file's status."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def is_settled(stamp: Stamp, now_ns: int) -> bool:
    """Return whether a change after ``now_ns`` changes the stamp."""
    changed = max(stamp[-2:])
    tick = _TICK_NS if changed % 1_000_000_000 else _COARSE_TICK_NS
    return now_ns - changed > tick


class KnownDigests:
    """The digests that a folder keeps, one small file each."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        """Keep digests in a folder of its owner's."""
        self._folder = os.fspath(folder)

    def of(self, path: str | PathLike[str]) -> str:
        """Return the sha256 of a file, known or computed.

        Raises:
            OSError: It cannot be read.
        """
        known = self.known(path)
        if known:
            return known
        now, stamp = time.time_ns(), stamp_of(path)
        with stage("verify"):
            digest = file_sha256(path)
        self.keep(path, stamp, digest, now)
        return digest

    def known(self, path: str | PathLike[str]) -> str:
        """Return the sha256 of an unchanged file, else ""."""
        try:
            with open(self._record(path), "rb") as file:
                stored = file.read().decode("ascii").split(maxsplit=6)
            *numbers, digest, name = stored
        except (OSError, ValueError):
            return ""
        is_same = name == ascii(str(path)) and [str(each) for each in stamp_of(path)] == numbers
        return digest if is_same else ""

    def keep(self, path: str | PathLike[str], stamp: Stamp, digest: str, now_ns: int) -> None:
        """Keep a digest computed after ``now_ns``, if it is certain."""
        if stamp_of(path) != stamp or not stamp or not is_settled(stamp, now_ns):
            return
        record = self._record(path)
        folder, name = os.path.split(record)
        written = os.path.join(folder, f".{name}.{os.getpid()}")
        text = " ".join([*map(str, stamp), digest, ascii(str(path))])
        try:
            with open(written, "wb") as file:
                file.write(text.encode("ascii"))
            os.replace(written, record)
        except OSError:  # a full disk or a read-only folder: it is computed again
            with contextlib.suppress(OSError):
                os.unlink(written)

    def touch(self, path: str | PathLike[str]) -> None:
        """Note that a file of known digest is used."""
        with contextlib.suppress(OSError):  # a read-only folder
            os.utime(self._record(path))

    def used_ns(self, path: str | PathLike[str]) -> int:
        """Return when a file was last used, 0 if unknown."""
        try:
            return os.stat(self._record(path)).st_mtime_ns
        except OSError:
            return 0

    def forget(self, path: str | PathLike[str]) -> None:
        """Drop the digest of a file that is gone."""
        with contextlib.suppress(OSError):
            os.unlink(self._record(path))

    def _record(self, path: str | PathLike[str]) -> str:
        return os.path.join(self._folder, f"{file_name(str(path))}{SUFFIX}")


def file_name(text: str) -> str:
    """Return a file name for a text.

    It is a checksum, as importing OpenSSL takes longer than reading a small model: what is in the
    file says whose it is.
    """
    data = text.encode("utf-8", "surrogateescape")
    return f"{crc32(data):08x}{crc32(data[::-1]):08x}{len(data):04x}"
