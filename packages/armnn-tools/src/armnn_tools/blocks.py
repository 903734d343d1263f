# SPDX-License-Identifier: MIT
"""Blocks of layers that repeat, as those of a decoder: their names differ in numbers only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

LEAST_REPEATS: Final = 3
"""How often a block is there at least."""

_LEAST_LAYERS = 4
"""Layers of a block at least: fewer say more than their number."""

_NUMBER = re.compile(r"\d+")


def without_numbers(text: str) -> str:
    """Return a name as all repeats of a block have it."""
    return _NUMBER.sub("#", text)


def repeated_blocks(kinds: Sequence[object]) -> Iterator[tuple[int, int, int]]:
    """Yield the index of a block, its number of layers, and how often it repeats.

    Args:
        kinds: The common facts of layers that repeat each other, in order.
    """
    at = 0
    while at < len(kinds):
        size = _period(kinds, at)
        if size < _LEAST_LAYERS:
            at += 1
            continue
        end = at + size
        while kinds[end : end + size] == kinds[at : at + size]:
            end += size
        yield at, size, (end - at) // size
        at = end


def _period(kinds: Sequence[object], at: int) -> int:
    """Return after how many rows those from one on are there again, and again; 0 if never."""
    for size in range(1, (len(kinds) - at) // LEAST_REPEATS + 1):
        if kinds[at + size] != kinds[at]:
            continue
        block = kinds[at : at + size]
        others = range(at + size, at + size * LEAST_REPEATS, size)
        if all(kinds[other : other + size] == block for other in others):
            return size
    return 0
