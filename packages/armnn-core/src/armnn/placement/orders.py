# SPDX-License-Identifier: MIT
"""The orders of preference that are worth measuring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Final

MOST_PERMUTED: Final = 5
"""Backends whose orders are all looked at; further ones are tried alone."""


def orders_of(
    backend_ids: Sequence[str], answers: Mapping[str, Sequence[bool]]
) -> list[tuple[str, ...]]:
    """Return the orders that place the layers differently.

    A backend that an order gives no layer is left out of it. Of orders with the same backend for
    each layer, the first is kept. Short orders come first, then those of preferred backends.

    Args:
        backend_ids: In the order of preference.
        answers: For each of them whether it runs each layer; nothing if that is not known, then
            each backend is tried before all others.
    """
    if not all(answers[each] for each in backend_ids):
        return [(each, *(other for other in backend_ids if other != each)) for each in backend_ids]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    alone = [(each,) for each in backend_ids]
    for order in (*alone, *permutations(backend_ids[:MOST_PERMUTED])):
        runs = list(zip(*(answers[each] for each in order), strict=True))
        if all(map(any, runs)):
            placed = tuple(order[list(row).index(True)] for row in runs)
            used = tuple(each for each in order if each in placed)
            found.setdefault(placed, used or order)
    return sorted(found.values(), key=len)
