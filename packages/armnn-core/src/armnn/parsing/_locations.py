# SPDX-License-Identifier: MIT
"""Locations of data files, which are below a folder.

A load from the cache checks them, too, and imports no ``pathlib``.
"""

from __future__ import annotations

import os.path


def is_below(location: str) -> bool:
    """Return whether a location is a path below its folder.

    Rules of Windows count everywhere, so that a file means the same, or nothing, on every platform.
    """
    parts = location.replace("\\", "/").split("/")
    has_drive = location[1:2] == ":"
    return bool(parts[0]) and not (has_drive or ".." in parts or "\0" in location)


def resolved_below(folder: str, location: str) -> str:
    """Return a location's path; empty if links lead out."""
    folder = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(folder, location))
    return path if os.path.commonpath([folder, path]) == folder else ""
