# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armnn import TensorInfo
from armnn._symbolic import Tape, concrete, differ_for_other_shapes, is_symbolic

SIZES = st.integers(1, 40)


def results(compute: Callable[..., Any], recorded: tuple[int, ...], other: tuple[int, ...]) -> Any:
    """Record a function of numbers; replay it for others."""
    tape = Tape()
    made = compute(*[tape.input(each) for each in recorded])
    numbers = tape.replay(other)
    return None if numbers is None else concrete(made, numbers)


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda n, m: (n + m, n - m, n * m, n // m, n % m, -n, abs(n - m), +m, 3 - n, 100 // m, 7 % m),
    lambda n, m: (max(n, m), min(n, 5), n if n < m else m, 1 if n == m else 2, n != m, n >= 3),
    lambda n, m: (math.floor(n / m), math.ceil(n * 0.5), round(n / 3), math.trunc(n / m)),
    lambda n, m: tuple(np.broadcast_shapes((n, 1), (1, m))),
    lambda n, m: (len(range(0, n, 2)), int(m) + 1, math.prod((n, m, 2)), sum((n, m)), bool(n - m)),
    lambda n, m: tuple(sorted((n, m, 9))),
    lambda n, m: ((np.int64(3) * n, n * np.int32(2), n + True), (m,)),
    lambda n, m: TensorInfo((n, 2, m)).num_elements,
    lambda n, m: (n, m) == (3, m) or {n: 5}.get(m, m),
    lambda n, m: n // (m - 3) if m > 3 else math.floor(n / m),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@given(recorded=st.tuples(SIZES, SIZES), other=st.tuples(SIZES, SIZES))
@settings(max_examples=60, deadline=None)
def test_a_replay_is_what_plain_numbers_give_or_refused(
    function: Callable[[Any, Any], Any], recorded: tuple[int, int], other: tuple[int, int]
) -> None:
    found = results(function, recorded, other)
    assert found is None or found == function(*other)
    assert results(function, recorded, recorded) == function(*recorded)


def test_a_replay_is_refused_only_where_a_decision_falls_otherwise() -> None:
    def half(n: int) -> int:
        return n // 2 if n % 2 == 0 else n

    assert results(half, (8,), (6,)) == 3
    assert results(half, (8,), (7,)) is None
    assert results(lambda n: [0] * n, (3,), (4,)) is None
    assert results(lambda n, m: n // m, (3, 1), (4, 0)) is None  # it cannot be computed


def test_what_is_recorded_after_a_replay_is_replayed_as_well() -> None:
    tape = Tape()
    size = tape.input(4)
    assert tape.replay((5,)) == [5]
    doubled = size * 2
    numbers = tape.replay((5,))
    assert numbers is not None
    assert concrete(doubled, numbers) == 10
    assert doubled > 9 or doubled == 8  # two decisions
    assert tape.replay((5,)) is None
    assert tape.replay((4,)) is not None


def test_it_passes_for_a_number_but_who_reads_it_as_one_decides() -> None:
    tape = Tape()
    number = tape.input(5)
    assert isinstance(number, int)
    assert not isinstance(number, float)
    assert isinstance(number / 2, float)
    assert (f"{number:03}", repr(number)) == ("005", "5")
    assert is_symbolic((1, (2, number)))
    assert not is_symbolic((1, 5))
    assert tape.replay([6]) is not None
    assert ctypes.c_int64(number).value == 5
    assert tape.replay([6]) is None
    with pytest.raises(TypeError, match="stays one"):
        number.__class__ = float
    assert number != "5"
    with pytest.raises(TypeError):
        number + "5"


def test_a_dimension_is_checked_once() -> None:
    tape = Tape()
    size = tape.input(5)
    less = size - 3
    assert (size.is_size, less.is_size) == (True, False)
    assert TensorInfo((size, less)).shape == (size, less)
    assert less.is_size
    steps = len(tape.values)
    assert TensorInfo((less, 2)).shape == (less, 2)
    assert len(tape.values) == steps
    assert tape.replay([4]) is not None
    assert tape.replay([2]) is None


def test_arrays_of_it_are_of_objects_and_become_numbers_by_a_decision() -> None:
    tape = Tape()
    number = tape.input(5)
    held = np.empty(2, object)
    held[:] = [number, 3]
    assert is_symbolic(held)
    assert held.astype(np.int64).tolist() == [5, 3]
    assert tape.replay([5]) is not None
    assert tape.replay([6]) is None


def test_whether_numbers_differ_elsewhere_decides_nothing() -> None:
    tape = Tape()
    batch, length, width = tape.input(1), tape.input(1), tape.input(8)
    assert differ_for_other_shapes(batch, 1)
    assert differ_for_other_shapes((batch, 3), (length, 3))
    assert differ_for_other_shapes((batch, 3), (batch, 3, 1))
    assert differ_for_other_shapes(batch * 4, 8 - length * 4)
    assert differ_for_other_shapes(width // 8, 1)
    assert differ_for_other_shapes(4 // (3 - batch), 2)  # which cannot be computed there
    assert not differ_for_other_shapes((batch, length), (batch, length))
    assert not differ_for_other_shapes((batch * 12 // 3, 2), (4 * batch, 2))
    assert not differ_for_other_shapes(batch // batch, 1)
    # plain ones need not be asked
    assert not differ_for_other_shapes((2, (3, None)), (4, (3, None)))
    assert tape.replay([9, 5, 30]) is not None
