# SPDX-License-Identifier: MIT
"""The state of a file, whether it has changed, and who else may write it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["FileState", "change_in", "who_else_may_write"]


class FileState(NamedTuple):
    """The facts that distinguish one state of a file from another.

    Attributes:
        device: Number of the file system.
        inode: Number of the file in it.
        size: In bytes.
        mtime_ns: When its content changed.
        ctime_ns: When anything about it changed; unlike the other it cannot be set back.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return the state that ``os.stat`` found."""
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )

    @property
    def content(self) -> tuple[int, int, int, int]:
        """Device, inode, size and modification time.

        ``ctime_ns`` is left out: a further link to the file changes it, too.
        """
        return self.device, self.inode, self.size, self.mtime_ns


def change_in(examined: Iterable[tuple[str, FileState]]) -> str:
    """Return which file has changed since it was examined, as a clause; empty if none has.

    Args:
        examined: Paths, with the states in which the files were examined.
    """
    for path, state in examined:
        try:
            if FileState.of(os.stat(path)) != state:
                return f"the file {path!r} has changed since it was examined"
        except OSError as error:
            return f"the file {path!r} cannot be read any more: {error.strerror}"
    return ""


def who_else_may_write(status: os.stat_result) -> str:
    """Return which others may change a file; empty if none.

    Others are users and groups besides the owner; a file may be a folder.

    Args:
        status: The status of the file itself, not of a link to it.
    """
    group = bool(status.st_mode & stat.S_IWGRP)
    others = bool(status.st_mode & stat.S_IWOTH)
    if group and others:
        return "its group and others"
    return "its group" if group else "others" if others else ""
