# SPDX-License-Identifier: MIT
"""The C source that makes a file of a backend in Python, and where it is."""

from __future__ import annotations

from pathlib import Path


def python_backend_source() -> str:
    """Return the path of ``python_backend.c``; its first comment says how to compile it."""
    return str(Path(__file__).with_name("python_backend.c"))
