# SPDX-License-Identifier: MIT
"""Arithmetic without special kernels: limits, rare functions, broadcasting.

The limits are those of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import BinaryOperation, Network, UnaryOperation
from armnn.tensor import info_of

Array = NDArray[Any]
B, U = BinaryOperation, UnaryOperation
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def run(add: Callable[..., Any], *operands: Array) -> Array:
    """Compute a layer of these operands on CpuAcc."""
    network = Network()
    feeds = {f"input {i}": operand for i, operand in enumerate(operands)}
    values = [network.add_input(name, info_of(operand)) for name, operand in feeds.items()]
    network.add_output("y", add(network, *values))
    (result,) = armnn.load_model(network, backends=["CpuAcc"]).run(feeds).values()
    return np.array(result)


def binary(operation: BinaryOperation) -> Callable[..., Any]:
    return lambda network, x, y: network.add_elementwise_binary(x, y, operation=operation)


def unary(operation: UnaryOperation) -> Callable[..., Any]:
    return lambda network, x: network.add_elementwise_unary(x, operation=operation)


def truncated(x: int, y: int) -> int:
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def shifted(x: int, by: int, bits: int, left: bool) -> int:
    if not 0 <= by < bits:
        return 0 if left or x >= 0 else -1
    return x << by if left else x >> by


def powered(x: int, y: int) -> int:
    if y >= 0:
        return int(pow(x, y, 2**64)) if x >= 0 else x**y
    return {1: 1, -1: 1 - y % 2 * 2}.get(x, 0)


EXACT: dict[BinaryOperation, Callable[[int, int, int], int]] = {
    B.ADD: lambda x, y, _: x + y,
    B.SUB: lambda x, y, _: x - y,
    B.MUL: lambda x, y, _: x * y,
    B.SQ_DIFF: lambda x, y, _: (x - y) ** 2,
    B.MAXIMUM: lambda x, y, _: max(x, y),
    B.MINIMUM: lambda x, y, _: min(x, y),
    B.DIV: lambda x, y, _: truncated(x, y),
    B.FLOOR_DIV: lambda x, y, _: 0 if y == 0 else x // y,
    B.MOD: lambda x, y, _: 0 if y == 0 else x % y,
    B.FMOD: lambda x, y, _: 0 if y == 0 else x - y * truncated(x, y),
    B.POWER: lambda x, y, _: powered(x, y),
    B.BITWISE_AND: lambda x, y, _: x & y,
    B.BITWISE_OR: lambda x, y, _: x | y,
    B.BITWISE_XOR: lambda x, y, _: x ^ y,
    B.SHIFT_LEFT: lambda x, y, bits: shifted(x, y, bits, True),
    B.SHIFT_RIGHT: lambda x, y, bits: shifted(x, y, bits, False),
}


def wrapped(value: int, dtype: Any) -> int:
    limits = np.iinfo(dtype)
    return (value - int(limits.min)) % 2**limits.bits + int(limits.min)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("operation", EXACT)
def test_integers_keep_their_arithmetic_at_their_limits(
    operation: BinaryOperation, dtype: Any
) -> None:
    limits = np.iinfo(dtype)
    pool = [0, 1, 2, 3, 5, 7, 8, int(limits.max), int(limits.max) - 1, int(limits.min)]
    numbers = [*pool, *([-1, -2, -3, -8] if limits.min < 0 else [])]
    powers = operation is B.POWER
    others = [0, 1, 2, 3, 5, *([-1, -2, -3] if limits.min < 0 else [])] if powers else numbers
    x = np.array(numbers, dtype)[:, None]
    y = np.array(others, dtype)[None, :]
    function = EXACT[operation]
    expected = np.array(
        [[wrapped(function(a, b, limits.bits), dtype) for b in others] for a in numbers], dtype
    )
    assert np.array_equal(run(binary(operation), x, y), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("operation", "function"),
    [(B.POWER, np.power), (B.MOD, np.mod), (B.FMOD, np.fmod), (B.MAXIMUM, np.maximum)],
)
def test_rare_functions_of_pairs(operation: BinaryOperation, function: Any, dtype: Any) -> None:
    pool = [0.0, 1.0, -1.5, 2.25, -3.0, 7.5, 0.1, np.inf, -np.inf, np.nan]
    x, y = np.array(pool, dtype)[:, None], np.array(pool, dtype)
    with np.errstate(all="ignore"):
        expected = function(x, y)
    np.testing.assert_allclose(run(binary(operation), x, y), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("operation", "function"),
    [
        (U.SIN, np.sin),
        (U.COS, np.cos),
        (U.TAN, np.tan),
        (U.ASIN, np.arcsin),
        (U.ACOS, np.arccos),
        (U.ATAN, np.arctan),
        (U.SINH, np.sinh),
        (U.COSH, np.cosh),
        (U.ASINH, np.arcsinh),
        (U.ACOSH, np.arccosh),
        (U.ATANH, np.arctanh),
    ],
)
def test_functions_of_angles_are_off_by_two_units_at_most(
    operation: UnaryOperation, function: Any, dtype: Any
) -> None:
    x = np.concatenate([np.linspace(-40, 40, 4001), np.linspace(-1, 1, 999)]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.longdouble))
    actual = run(unary(operation), x)
    assert np.array_equal(np.isnan(actual), np.isnan(expected))
    finite = np.isfinite(expected)
    off = np.abs(actual[finite] - expected[finite])
    assert (off <= 2 * np.spacing(np.abs(actual[finite]))).all()


def test_operands_broadcast_from_any_side() -> None:
    rng = np.random.default_rng(1)
    for shapes in [((2, 1, 3), (4, 1)), ((1,), (5, 2)), ((), (3,)), ((7, 5000), (7, 1))]:
        x, y = (rng.integers(-9, 9, shape, np.int64) for shape in shapes)
        assert np.array_equal(run(binary(B.ADD), x, y), x + y)


def test_a_choice_takes_each_operand_where_it_is_asked_for() -> None:
    rng = np.random.default_rng(2)
    condition = rng.integers(0, 2, (3, 1, 4)).astype(np.bool_)
    x, y = rng.standard_normal((2, 1), np.float32), np.array(math.inf, np.float32)
    actual = run(lambda n, c, a, b: n.add_where(c, a, b), condition, x, y)
    assert np.array_equal(actual, np.where(condition, x, y))
