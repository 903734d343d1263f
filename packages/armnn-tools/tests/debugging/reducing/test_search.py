# SPDX-License-Identifier: MIT
"""Delta debugging: what is kept, and after how many tries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn_tools.debugging.reducing.search import smallest


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_exactly_the_items_that_are_needed_stay(case: tuple[int, set[int]]) -> None:
    count, needed = case
    kept = smallest(range(count), lambda some: needed <= {*some})
    assert kept == (sorted(needed) or kept)
    assert len(kept) == max(1, len(needed))


@given(st.lists(st.sets(st.integers(0, 15), min_size=1), min_size=1, max_size=4))
def test_no_single_item_is_to_spare_where_sets_fail_each(wanted: list[set[int]]) -> None:
    def fails(some: Sequence[int]) -> bool:
        return any(each <= {*some} for each in wanted)

    kept = smallest(range(16), fails)
    assert fails(kept)
    assert not any(fails([*kept[:at], *kept[at + 1 :]]) for at in range(len(kept)))


@pytest.mark.parametrize(("count", "most"), [(100, 30), (1000, 45)])
def test_one_item_of_many_is_found_in_few_tries(count: int, most: int) -> None:
    tries = []

    def fails(some: Sequence[int]) -> bool:
        tries.append(some)
        return 77 in some

    assert smallest(range(count), fails) == [77]
    assert len(tries) <= most
