# SPDX-License-Identifier: MIT
"""Reductions of the last axis, of rows of every length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Sum": np.sum,
    "Max": np.max,
    "Min": np.min,
    "Prod": np.prod,
    "Mean": np.mean,
}
COUNTS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 130, 300]
ROWS = 19


def reduced(
    run_network: Callable[..., NDArray[Any]], operation: str, x: NDArray[Any]
) -> NDArray[Any]:
    """Return what CpuAcc makes of the last axis."""
    net = Network("rows")
    given = net.add_input("x", TensorInfo(x.shape))
    if operation == "Mean":
        made = net.add_mean(given, axis=[1])
    else:
        made = net.add_reduce(given, axis=[1], reduce_operation=operation)
    net.add_output("y", made)
    return run_network(net, x=x)


@pytest.mark.parametrize("operation", FUNCTIONS)
def test_rows_of_every_length_are_reduced(
    run_network: Callable[..., NDArray[Any]], operation: str
) -> None:
    for count in COUNTS:
        x = np.random.default_rng(count).uniform(0.5, 1.5, (ROWS, count)).astype(np.float32)
        x[::2] *= -1
        expected = FUNCTIONS[operation](x.astype(np.float64), axis=1)
        np.testing.assert_allclose(reduced(run_network, operation, x), expected, rtol=2e-5)


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operation", FUNCTIONS)
def test_a_strange_number_reaches_its_own_row_at_every_place(
    run_network: Callable[..., NDArray[Any]], operation: str, strange: float
) -> None:
    for count in (1, 2, 3, 9, 70):
        x = np.ones((count + 1, count), np.float32)
        np.fill_diagonal(x, strange)  # the last row has none
        expected = FUNCTIONS[operation](x.astype(np.float64), axis=1)
        np.testing.assert_array_equal(reduced(run_network, operation, x), expected)


def test_a_mean_whose_sum_overflows_is_computed_in_double(
    run_network: Callable[..., NDArray[Any]],
) -> None:
    for count in (2, 3, 9, 70):
        x = np.full((3, count), 3e38, np.float32)
        np.testing.assert_allclose(reduced(run_network, "Mean", x), np.float32(3e38), rtol=1e-6)


def test_empty_rows_have_the_neutral_number(run_network: Callable[..., NDArray[Any]]) -> None:
    x = np.ones((3, 0), np.float32)
    assert reduced(run_network, "Sum", x).tolist() == [0, 0, 0]
    assert reduced(run_network, "Prod", x).tolist() == [1, 1, 1]
