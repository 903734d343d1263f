# SPDX-License-Identifier: MIT
"""The C source that makes a Python backend a file."""

from __future__ import annotations

from pathlib import Path


def python_backend_source() -> str:
    """Return the path of ``python_backend.c``.

    Its first comment says how to compile it.
    """
    return str(Path(__file__).with_name("python_backend.c"))
