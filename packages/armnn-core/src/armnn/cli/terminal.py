# SPDX-License-Identifier: MIT
"""The width of the terminal.

``shutil`` finds it, too, but imports what reads archives: a fifteenth of ``armnn --version``.
"""

from __future__ import annotations

import os
import sys

_USUAL = 80


def columns() -> int:
    """Return the width: COLUMNS, else the terminal's, else 80."""
    try:
        given = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        given = 0
    if given > 0:
        return given
    if sys.__stdout__ is None:
        return _USUAL
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL
    except (ValueError, OSError):  # it is closed, or no terminal
        return _USUAL
