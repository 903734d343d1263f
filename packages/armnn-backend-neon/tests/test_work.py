# SPDX-License-Identifier: MIT
"""The work of products is counted as tiles do it."""

from __future__ import annotations

import pytest

from armnn_backend_neon.measuring import Shape, measure
from armnn_backend_neon.tuning import lanes

ROW_STEP = 0.25
"""Multiply-adds of a register that a number of a row takes beside those of its products."""

needs_wide_registers = pytest.mark.skipif(
    lanes() != 16, reason="narrower registers have other tails"
)


def counted(depth: int, columns: int) -> tuple[float, float]:
    """Return the multiply-adds and calls of 28 rows, which are two tiles."""
    (row,) = measure([Shape((7, 4), depth, columns, (1, 1))], ["plain"], rounds=1)
    return row.work["multiply_add"], row.work["tile"]


@needs_wide_registers
def test_half_a_register_takes_what_a_whole_one_does() -> None:
    """24 columns of an odd depth are two registers."""
    assert counted(33, 24) == (28 * 33 * (2 + ROW_STEP) * 16, 2)


@needs_wide_registers
def test_a_tail_in_pairs_is_counted_as_half_of_the_steps() -> None:
    """Beside a whole register it takes half a step more."""
    assert counted(32, 24) == (28 * 32 * (1.5 + 1.5 * ROW_STEP) * 16, 2)
    assert counted(32, 8) == (28 * 32 * (0.5 + 0.5 * ROW_STEP) * 16, 2)


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
    products = row.work["multiply_add"] / (28 * depth * registers * lanes())
    assert row.kernel == kernel
    # One instruction adds four products, or else numbers of 16 bits are multiplied.
    assert min(abs(products - 1 / 3), abs(products - 0.75)) < 1e-3
    assert row.work["element"] == 32 * 28 * registers
    assert row.predicted_ns > 0


def test_depthwise_products_of_bytes_are_counted() -> None:
    """Lines are multiplied four at a time, neighbors not."""
    shape = Shape((7, 4), 64, 64, (3, 3), is_depthwise=True, is_of_bytes=True)
    (row,) = measure([shape], rounds=1)
    taps = {"bytes by lines": 12, "bytes by neighbors": 9}[row.kernel]
    each = {"bytes by lines": 2 / 3, "bytes by neighbors": 3}[row.kernel]
    assert row.work["multiply_add"] == pytest.approx(28 * 64 * taps * each)
    assert row.work["element"] == 32 * 28 * 64 / lanes()
