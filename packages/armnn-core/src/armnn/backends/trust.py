# SPDX-License-Identifier: MIT
"""Who may change a file: what is loaded or believed must be nobody else's to write."""

from __future__ import annotations

import os
import stat


def who_else_may_write(status: os.stat_result) -> str:
    """Return who besides the owner may change a file or folder; empty if nobody.

    Args:
        status: Of the file itself, not of a link to it.
    """
    group = bool(status.st_mode & stat.S_IWGRP)
    others = bool(status.st_mode & stat.S_IWOTH)
    if group and others:
        return "its group and others"
    return "its group" if group else "others" if others else ""
