# SPDX-License-Identifier: MIT
"""The work of products is counted as tiles do it."""

from __future__ import annotations

import pytest

from armnn_backend_neon.measuring import Shape, measure
from armnn_backend_neon.tuning import lanes

UNITS = ("multiply_add", "half_multiply_add", "broadcast", "tile", "stored", "wait")

needs_wide_registers = pytest.mark.skipif(
    lanes() != 16, reason="narrower registers have other tails"
)


def counted(depth: int, columns: int) -> tuple[int, ...]:
    """Return the units of 28 rows, which are two tiles."""
    (row,) = measure([Shape((7, 4), depth, columns, (1, 1))], ["plain"], rounds=1)
    return tuple(round(row.work.get(unit, 0)) for unit in UNITS)


@needs_wide_registers
def test_half_a_register_is_counted_apart() -> None:
    """24 columns are 1.5 registers."""
    steps = 28 * 33
    assert counted(33, 24) == (steps * 16, steps * 8, steps, 2, 2 * 28, 0)


@needs_wide_registers
def test_a_tail_in_pairs_is_counted_as_half_of_the_steps() -> None:
    """Beside a whole register it takes another broadcast."""
    steps = 28 * 32
    assert counted(32, 24) == (steps * (16 + 8), 0, steps * 3 // 2, 2, 2 * 28, 0)
    assert counted(32, 8) == (steps * 8, 0, steps // 2, 2, 28, 0)


@pytest.mark.parametrize(
    ("kernel", "channels", "window", "depth"),
    [
        ("bytes", 30, (1, 1), 32),
        ("bytes", 70, (3, 3), 9 * 72),
        ("direct bytes", 30, (3, 3), 3 * 92),  # a row of the window is read at once
    ],
)
def test_products_of_bytes_fill_fours_and_registers(
    kernel: str, channels: int, window: tuple[int, int], depth: int
) -> None:
    """33 columns take whole registers."""
    (row,) = measure([Shape((7, 4), channels, 33, window, is_of_bytes=True)], rounds=1)
    registers = -(-33 // lanes())
    products = sum(count for unit, count in row.work.items() if unit.endswith("multiply_add"))
    assert row.kernel == kernel
    assert products == 28 * depth * registers * lanes()
    assert row.work["byte_weight"] == 33 * depth
    assert row.work["byte_stored"] == 28 * registers * lanes()
    assert row.predicted_ns > 0


def test_depthwise_products_of_bytes_are_counted() -> None:
    """Lines are multiplied four at a time, neighbours not."""
    shape = Shape((7, 4), 64, 64, (3, 3), is_depthwise=True, is_of_bytes=True)
    (row,) = measure([shape], rounds=1)
    taps = {"bytes by lines": 12, "bytes by neighbours": 9}[row.kernel]
    (products,) = (count for unit, count in row.work.items() if unit.endswith("multiply_add"))
    assert products == 28 * 64 * taps
    assert row.work["byte_stored"] == 28 * 64
