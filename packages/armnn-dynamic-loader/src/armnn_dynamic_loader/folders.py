# SPDX-License-Identifier: MIT
"""The folders that are scanned for dynamic backends, and why other folders are not."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Iterator
from dataclasses import replace

from armnn.backends import CreationOptions
from armnn.backends.sources import (
    PATH_VARIABLE,
    SearchedFolder,
    declared_folders,
    environment,
)
from armnn_backend_api.trust import distrust

_log = logging.getLogger(__name__)


def search_path(options: CreationOptions) -> tuple[SearchedFolder, ...]:
    """Return the folders in the order of scanning, each once.

    With ``dynamic_backends_path`` it is this folder only, even if it is invalid. Otherwise the
    folders of the environment variable come first, then those of installed distributions.

    Args:
        options: The options of the user; nothing is returned if dynamic backends are off.
    """
    if not options.enable_dynamic_backends:
        return ()
    if options.dynamic_backends_path is not None:
        return (_judged(SearchedFolder(options.dynamic_backends_path, "dynamic_backends_path")),)
    distinct: dict[str, SearchedFolder] = {}
    for folder in _configured_folders():
        distinct.setdefault(folder.path, folder)
    return tuple(_judged(folder) for folder in distinct.values())


def warn_of(folders: tuple[SearchedFolder, ...]) -> None:
    """Log each folder that is not scanned."""
    for folder in folders:
        if folder.problem:
            _log.warning(
                "The folder %r of dynamic backends (%s) %s; it is not scanned.",
                folder.path,
                folder.origin,
                folder.problem,
            )


def _configured_folders() -> Iterator[SearchedFolder]:
    variable = environment(PATH_VARIABLE)
    if variable is not None:
        for path in variable.split(":"):
            yield SearchedFolder(path, PATH_VARIABLE)
    yield from declared_folders()


def _judged(folder: SearchedFolder) -> SearchedFolder:
    return folder if folder.problem else replace(folder, problem=_problem(folder.path))


def _problem(path: str) -> str:
    """Return why a folder cannot be scanned, as the rest of a sentence; "" if it can be."""
    if platform.system() != "Linux":
        return f"cannot be used: dynamic backends need Linux, this is {platform.system()}"
    if not path:
        return "is empty: expected the absolute path of a folder"
    if "\0" in path:
        return "has a NUL character in its path"
    if not os.path.isabs(path):
        return "is not absolute: a backend must not depend on where a program is started"
    try:
        os.stat(path)
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not os.path.isdir(path):
        return "is a file, expected the folder that holds it"
    why = distrust(os.path.realpath(path))
    if why is not None:
        return f"is not trusted: {why.reason}; fix: {why.remedy}"
    if not os.access(path, os.R_OK | os.X_OK):
        return "cannot be read: permission denied"
    return ""
