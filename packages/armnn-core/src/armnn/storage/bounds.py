# SPDX-License-Identifier: MIT
"""The size of a cache folder; which entries go first.

An entry counts as used when it is written and when it is read, which its stamp's file remembers:
the entry's own times are those of its content, and few file systems keep times of reads.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from armnn.errors import InvalidArgumentError
from armnn.storage.container import SUFFIX, WRITING
from armnn.storage.stamps import KnownDigests

DEFAULT_LIMIT: Final = 4 << 30
"""Bytes of a folder that has no limit of its own."""

ABANDONED_NS: Final = 3600 * 10**9
"""Age of a file that is being written from which on its process is taken for dead."""

_LIMIT: Final = "armnn-cache-limit"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A prepared model, or a program, in a cache folder.

    Attributes:
        path: Its file.
        size: In bytes.
        used_ns: When it was last written or read, in nanoseconds since 1970.
    """

    path: Path
    size: int
    used_ns: int

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as JSON can hold it."""
        return {"file": self.path.name, "bytes": self.size, "used": self.used_ns / 1e9}


def limit_of(folder: Path) -> int:
    """Return the bytes that a cache folder may have."""
    try:
        return int((folder / _LIMIT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return DEFAULT_LIMIT


def set_limit(folder: Path, limit: int) -> None:
    """Set the bytes that a cache folder may have.

    Raises:
        InvalidArgumentError: The limit is negative.
        OSError: It cannot be stored.
    """
    if limit < 0:
        raise InvalidArgumentError(f"the limit of a cache is {limit} bytes: expected 0 or more")
    (folder / _LIMIT).write_text(f"{limit}\n", encoding="ascii")


def entries_of(folder: Path, digests: KnownDigests) -> list[CacheEntry]:
    """Return the entries of a folder, least recently used first.

    Raises:
        OSError: It cannot be listed.
    """
    found = []
    for path in folder.iterdir():
        if path.suffix == SUFFIX:
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                status = path.stat()
                used = max(status.st_mtime_ns, digests.used_ns(path))
                found.append(CacheEntry(path, status.st_size, used))
    return sorted(found, key=lambda each: (each.used_ns, each.path))


def trim(
    folder: Path, digests: KnownDigests, limit: int | None = None, written: Path | None = None
) -> list[CacheEntry]:
    """Remove the entries used least recently, until the rest fits.

    Processes that have one mapped keep it. Files that a dead process was writing go, too.

    Args:
        folder: The folder of a cache.
        digests: Those of its files.
        limit: The bytes that it may have; by default :func:`limit_of`.
        written: An entry that stays.

    Returns:
        The entries that were removed.

    Raises:
        OSError: An entry cannot be removed.
    """
    limit = limit_of(folder) if limit is None else limit
    _remove_abandoned(folder)
    entries = entries_of(folder, digests)
    excess = sum(each.size for each in entries) - limit
    removed = []
    for each in entries:
        if excess <= 0:
            break
        if each.path != written:
            each.path.unlink(missing_ok=True)
            digests.forget(each.path)
            removed.append(each)
            excess -= each.size
    return removed


def _remove_abandoned(folder: Path) -> None:
    latest = time.time_ns() - ABANDONED_NS
    for path in folder.glob(f"{WRITING}*"):
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(path).st_mtime_ns < latest:
                path.unlink()
