# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from armnn_backend_ref.ops._windows import Window, overlap, sliding

small = st.integers(0, 9)


@given(small, small, st.integers(-9, 9), st.integers(1, 4))
def test_overlap_is_every_place_that_meets_an_element(
    size: int, places: int, offset: int, stride: int
) -> None:
    met = [(p, offset + p * stride) for p in range(places) if 0 <= offset + p * stride < size]
    where, elements = overlap(size, places, offset, stride)
    pairs = zip(range(places)[where], range(size)[elements], strict=True)
    assert list(pairs) == met


def test_one_place_needs_no_stride() -> None:
    assert overlap(5, 1, 2, 0) == (slice(0, 1), slice(2, 3, 1))


def test_positions_count_places_from_the_first_one() -> None:
    window = Window(size=(2, 1), stride=(2, 1), dilation=(1, 1), before=(1, 0))
    positions = list(window.positions((6, 3), (2, 3), first=1))
    assert positions == [
        ((0, 0), (slice(0, 2), slice(0, 3)), (slice(1, 4, 2), slice(0, 3, 1))),
        ((1, 0), (slice(0, 2), slice(0, 3)), (slice(2, 5, 2), slice(0, 3, 1))),
    ]


def test_only_a_window_of_one_element_on_each_place_is_pointwise() -> None:
    assert Window((1, 1), (1, 1), (1, 1), (0, 0)).is_pointwise
    assert not Window((1, 2), (1, 1), (1, 1), (0, 0)).is_pointwise
    assert not Window((1, 1), (2, 1), (1, 1), (0, 0)).is_pointwise
    assert not Window((1, 1), (1, 1), (1, 1), (0, 1)).is_pointwise


@given(st.integers(1, 7), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_sliding_sums_what_is_in_the_window(
    length: int, size: int, stride: int, before: int
) -> None:
    x = np.arange(1, length + 1)[:, None] * np.array([1, 100])
    places = 5
    expected = [
        x[max(0, p * stride - before) : max(0, p * stride - before + size)].sum(0)
        for p in range(places)
    ]
    y = sliding(np.add, 0, x, 0, places, size, stride=stride, before=before)
    np.testing.assert_array_equal(y, expected)
