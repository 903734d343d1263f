# SPDX-License-Identifier: MIT
"""The work of products is counted as tiles do it."""

from __future__ import annotations

import pytest

from armnn_backend_neon.measuring import Shape, measure
from armnn_backend_neon.tuning import lanes

UNITS = ("multiply_add", "half_multiply_add", "broadcast", "tile", "stored", "wait")

pytestmark = pytest.mark.skipif(lanes() != 16, reason="narrower registers have other tails")


def counted(depth: int, columns: int) -> tuple[int, ...]:
    """Return the units of 28 rows, which are two tiles."""
    (row,) = measure([Shape((7, 4), depth, columns, (1, 1))], ["plain"], rounds=1)
    return tuple(round(row.work.get(unit, 0)) for unit in UNITS)


def test_half_a_register_is_counted_apart() -> None:
    """24 columns are 1.5 registers."""
    steps = 28 * 33
    assert counted(33, 24) == (steps * 16, steps * 8, steps, 2, 2 * 28, 0)


def test_a_tail_in_pairs_is_counted_as_half_of_the_steps() -> None:
    """Beside a whole register it takes another broadcast."""
    steps = 28 * 32
    assert counted(32, 24) == (steps * (16 + 8), 0, steps * 3 // 2, 2, 2 * 28, 0)
    assert counted(32, 8) == (steps * 8, 0, steps // 2, 2, 28, 0)
