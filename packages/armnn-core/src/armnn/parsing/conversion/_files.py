# SPDX-License-Identifier: MIT
"""Model files and the data files below their folders.

A model is untrusted. Without the checks here a model could name ``/etc/passwd``, or a device that
never ends, as its weights.
"""

from __future__ import annotations

import os
from pathlib import Path

from armnn.errors import ModelFileError, ModelFileNotFoundError, ParseError
from armnn.parsing._locations import is_below, resolved_below

# Never follow a link that appeared after the check, never wait for a pipe's other end.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)


def check_model_file(path: Path) -> None:
    """Check that a model is a regular file.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is something else, such as a folder.
    """
    if not path.exists():
        raise ModelFileNotFoundError(f"there is no model file {str(path)!r}")
    if not path.is_file():
        raise ModelFileError(f"the model {str(path)!r} is not a regular file")


def model_content(source: str | os.PathLike[str] | bytes) -> tuple[str, bytes, Path | None]:
    """Return the name, the content and the folder of a model.

    Args:
        source: Its file, or its content, which has the name ``<bytes>`` and no folder.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It cannot be read.
    """
    if isinstance(source, bytes):
        return "<bytes>", source, None
    path = Path(source)
    check_model_file(path)
    try:
        return str(path), path.read_bytes(), path.parent
    except OSError as error:
        raise unreadable(str(path), error) from error


def unreadable(name: str, error: OSError) -> ModelFileError:
    """Return the error for an unreadable model file."""
    return ModelFileError(f"the model {name!r} cannot be read: {error}")


def path_beside(folder: Path | None, location: str, what: str) -> Path:
    """Return a data file's path below the model's folder.

    Args:
        folder: The folder of the model; None if the model came as bytes.
        location: What the model says.
        what: How errors name the data.

    Raises:
        ParseError: There is no folder, or the location leads out of it.
    """
    if folder is None:
        raise ParseError(
            f"{what} is in the file {location!r}, but a model given as bytes has no folder: "
            "pass the model's path"
        )
    if not is_below(location):
        raise ParseError(
            f"{what} has the location {location!r}: expected a path below the model's folder"
        )
    path = resolved_below(str(folder), location)
    if not path:
        raise ParseError(
            f"{what} has the location {location!r}, which leads out of the model's folder"
        )
    return Path(path)


def open_beside(path: Path, what: str) -> int:
    """Open a data file; the caller closes the descriptor.

    Raises:
        ParseError: It cannot be opened.
    """
    try:
        return os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise ParseError(f"{what} cannot be read from {str(path)!r}: {error}") from error
