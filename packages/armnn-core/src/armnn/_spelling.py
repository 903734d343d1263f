# SPDX-License-Identifier: MIT
"""The known name that is closest to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, known: Iterable[str], likeness: float = 0.7) -> str | None:
    """Return the most similar known name, None without any.

    Args:
        name: What was written; capital and small letters count as the same.
        known: What exists; the first of two that are equally like is taken.
        likeness: How alike the two must be, from 0 to 1.
    """
    import difflib  # imported late: for a message only

    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.casefold(), each)
    found = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return folded[found[0]] if found else None
