# SPDX-License-Identifier: MIT
"""Files: replaced as a whole, and their digest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from os import PathLike
from pathlib import Path


def write_whole(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file; no reader sees a part of it.

    Args:
        path: The file; its folder is made if it is not there.
        text: The content, written as UTF-8.
        mode: The permissions of the file.

    Raises:
        OSError: It cannot be written; the old file is unchanged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def file_sha256(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
