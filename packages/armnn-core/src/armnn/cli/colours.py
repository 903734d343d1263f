# SPDX-License-Identifier: MIT
"""Colours of tables: one per backend, red for faults."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn.cli.tables import Paint

_RESET, _DIM, _RED = "\x1b[0m", "\x1b[2m", "\x1b[31m"
_TONES = cycle(f"\x1b[{code}m" for code in (36, 33, 35, 34, 32))
"""Of backends, in the order in which they appear: red is left to faults."""
_BACKEND_COLUMNS = frozenset({"backend", "id", "refused by"})
_STATE_COLUMNS = frozenset({"state", "verdict"})
_FAULTS = frozenset({"failed", "incompatible", "blocked", "wrong", "differs"})
_ID = re.compile(r"\w+")

_tone_of: dict[str, str] = {}


def has_colours() -> bool:
    """Return whether stdout is a terminal that shows colours.

    NO_COLOR, whatever its value, says no (no-color.org).
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and not is_plain


def paint_for(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Paint:
    """Return the colours of a table's cells.

    Backends keep their colours from table to table, and have them in other cells too.

    Args:
        columns: The headings.
        rows: One cell per column; those of backends are learnt from.
    """
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column in _BACKEND_COLUMNS:
                for name in _ID.findall(cell):
                    _tone_of.setdefault(name, next(_TONES))

    def paint(column: str, text: str) -> str:
        if not column:
            return f"{_DIM}{text}{_RESET}"
        if column in _STATE_COLUMNS and _FAULTS.intersection(text.split()):
            return f"{_RED}{text}{_RESET}"
        return _ID.sub(_named, text)

    return paint


def _named(match: re.Match[str]) -> str:
    name = match[0]
    return f"{_tone_of[name]}{name}{_RESET}" if name in _tone_of else name
