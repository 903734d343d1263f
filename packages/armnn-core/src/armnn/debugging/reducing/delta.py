# SPDX-License-Identifier: MIT
"""Counter-based delta debugging over a set.

The sets that are tried get smaller by a fixed factor per round, whatever was found before: as good
as estimating each item's probability (arXiv 2408.04735), and nothing has to be estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_FACTOR: Final = 1 - 1 / math.e
"""How much smaller the sets of a round are than those of the round before."""


def smallest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a smallest set of items that fails.

    Args:
        items: They fail together; neighbours are tried together.
        fails: Returns whether some of them, in their order, still fail.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while True:
        before = len(kept)
        kept = _without_runs(kept, size, fails)
        if size == 1 and len(kept) == before:
            return kept
        size = max(1, min(int(size * _FACTOR), len(kept) // 2))


def _without_runs(items: list[T], size: int, fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return the items without runs of one size."""
    kept, at = items, 0
    while at < len(kept):
        rest = [*kept[:at], *kept[at + size :]]
        if rest and fails(rest):
            kept = rest
        else:
            at += size
    return kept
