# SPDX-License-Identifier: MIT
"""The compiler, as a function."""

from __future__ import annotations

import subprocess
from pathlib import Path


def gcc(*arguments: str | Path) -> None:
    """Link a shared library."""
    command = ["gcc", "-fPIC", "-shared", "-w", "-std=gnu11", *arguments]
    subprocess.run(command, check=True, capture_output=True)
