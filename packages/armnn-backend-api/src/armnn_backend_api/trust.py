# SPDX-License-Identifier: MIT
"""Tells whether others may change or replace a file."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
from typing import NamedTuple

__all__ = ["Distrust", "distrust"]


class Distrust(NamedTuple):
    """Why a file or folder is not trusted.

    Attributes:
        reason: As the rest of a sentence: "others may write it".
        remedy: The one command that repairs it.
    """

    reason: str
    remedy: str


def distrust(path: str) -> Distrust | None:
    """Return why others may change a file; None if trusted.

    It, and each folder on the way to it, must belong to this user or to root, and be writable by
    the owner only. A group without other members that has its user's name counts as the user, as
    systems with the umask 002 make them. In a folder with the sticky bit, such as ``/tmp``, others
    cannot replace it.

    Args:
        path: The canonical path.

    Raises:
        OSError: It, or a folder on the way, cannot be read.
    """
    place, what = path, "it"
    while True:
        found = _distrusted(place, what, os.stat(place))
        above = os.path.dirname(place)
        if found is not None or above == place:
            return found
        place, what = above, "its folder" if what == "it" else f"the folder {above!r}"


def _distrusted(place: str, what: str, status: os.stat_result) -> Distrust | None:
    own = os.geteuid()
    quoted = shlex.quote(place)
    if status.st_uid not in (0, own):
        subject = "it belongs" if what == "it" else f"{what} belongs"
        return Distrust(
            f"{subject} to {_user(status.st_uid)!r}, expected {_user(own)!r} or 'root'",
            f"chown {_user(own)} {quoted}",
        )
    is_shared = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
    group = bool(status.st_mode & stat.S_IWGRP) and not _is_private(status)
    others = bool(status.st_mode & stat.S_IWOTH)
    if is_shared or not (group or others):
        return None
    who = "its group and others" if group and others else "its group" if group else "others"
    return Distrust(f"{who} may write {what}", f"chmod go-w {quoted}")


def _is_private(status: os.stat_result) -> bool:
    """Return whether the group is that of the owner alone."""
    try:
        user = pwd.getpwuid(status.st_uid).pw_name
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return group.gr_name == user and not {*group.gr_mem} - {user}


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
