# SPDX-License-Identifier: MIT
"""Makes the folder that bad_files.toml describes."""

from __future__ import annotations

import shutil
import struct
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("bad_files.toml").read_text())[
    "file"
]

_MACHINE_OFFSET = 18  # of e_machine in the ELF header


def fill(folder: Path, compiled: Callable[..., Path]) -> None:
    """Put every file into a folder.

    Args:
        folder: Exists.
        compiled: Compiles mock_backend.c with some switches and returns the library.
    """
    folder.chmod(0o755)
    for row in FILES:
        path = folder / row["name"]
        if "text" in row:
            path.write_text(row["text"])
        else:
            shutil.copyfile(compiled(*row["switches"]), path)
        if "cut" in row:
            path.write_bytes(path.read_bytes()[: row["cut"]])
        if "machine" in row:
            content = bytearray(path.read_bytes())
            struct.pack_into("<H", content, _MACHINE_OFFSET, row["machine"])
            path.write_bytes(content)
        path.chmod(0o755)
