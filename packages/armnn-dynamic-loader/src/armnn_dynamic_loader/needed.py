# SPDX-License-Identifier: MIT
"""The libraries mapped with a file, each trusted and in a known state."""

from __future__ import annotations

import os
from typing import NamedTuple

from armnn_backend_api.files import FileState
from armnn_backend_api.linker import LinkError, is_in_system_folder, walk
from armnn_backend_api.trust import distrust


class NeededFile(NamedTuple):
    """A library that is mapped with a file.

    Attributes:
        name: By which it is linked.
        path: Its canonical path.
        state: The state in which it was found.
        sha256: "" as long as nothing asked for it.
    """

    name: str
    path: str
    state: FileState
    sha256: str = ""


def needed_files(path: str) -> tuple[NeededFile, ...]:
    """Return the libraries mapped with a file, in order.

    Those in the folders of the system belong to its administrator, and are left out: the process
    has mapped many of them already. What is nowhere is left to the dynamic linker, which names it.

    Raises:
        LinkError: A folder of RPATH or a library is not trusted.
        OSError: A library cannot be read.
    """
    found: dict[str, NeededFile] = {}
    for user, link in walk(path, check=_check_folder, is_settled=lambda link: link.is_system):
        for place in link.places:
            if not is_in_system_folder(place) and place != os.path.realpath(user):
                found[place] = _checked(link.name, place)
    return tuple(found.values())


def _check_folder(folder: str, written: str) -> None:
    """Refuse a folder of an RPATH that others may write.

    Raises:
        LinkError: They may.
    """
    if os.path.isdir(folder):
        why = distrust(os.path.realpath(folder))
        if why is not None:
            reason = f"has the folder {written!r} in its RPATH, but {why.reason}"
            raise LinkError(reason.replace("write it", "write that"), why.remedy)


def _checked(name: str, place: str) -> NeededFile:
    why = distrust(place)
    if why is not None:
        raise LinkError(f"is linked with {place!r}, but {why.reason}", why.remedy)
    return NeededFile(name, place, FileState.of(os.stat(place)))
