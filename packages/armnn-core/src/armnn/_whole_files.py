# SPDX-License-Identifier: MIT
"""Files that are replaced as a whole."""

from __future__ import annotations

import contextlib
import os
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
    import tempfile  # late: it takes longer to import than all else here

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
