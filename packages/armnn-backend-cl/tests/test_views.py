# SPDX-License-Identifier: MIT
"""Views beside NumPy's, and the axes that kernels walk."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn_backend_cl.launches import Refused
from armnn_backend_cl.views import View, walked

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def elements(view: View) -> np.ndarray:
    """Return where each element of a view lies."""
    places = np.full(view.shape, view.start)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        places += (np.arange(size) * stride).reshape(-1, *[1] * (len(view.shape) - 1 - axis))
    return places


@given(SHAPES, st.data())
def test_views_are_those_of_numpy(shape: list[int], data: st.DataObject) -> None:
    array, view = np.arange(math.prod(shape)).reshape(shape), View.of(shape)
    order = data.draw(st.permutations(range(len(shape))))
    array, view = array.transpose(order), view.transposed(order)
    axis = data.draw(st.integers(0, len(shape) - 1))
    first = data.draw(st.integers(0, array.shape[axis] - 1))
    index = (slice(None),) * axis + (slice(first, None),)
    array, view = array[index], view.part(axis, first, array.shape[axis] - first)
    np.testing.assert_array_equal(elements(view), array)
    wide = (2, *array.shape)
    np.testing.assert_array_equal(elements(view.broadcast(wide)), np.broadcast_to(array, wide))
    split = view.split(axis, 1, view.shape[axis])
    np.testing.assert_array_equal(elements(split), np.expand_dims(array, axis))
    np.testing.assert_array_equal(elements(split.without(axis)), array)


@given(SHAPES, st.data())
def test_walks_reach_all_elements_in_order(shape: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    source = View.of([shape[axis] for axis in np.argsort(order)]).transposed(order)
    sizes, strides = walked(source, View.of(shape))
    for view, steps in zip((source, View.of(shape)), strides, strict=True):
        walk = [
            view.start + sum(at * step for at, step in zip(reversed(places), steps, strict=True))
            for places in itertools.product(*map(range, reversed(sizes)))
        ]
        assert walk == elements(view).ravel().tolist()


def test_neighboring_axes_become_one() -> None:
    assert walked(View.of((2, 3, 1, 5)))[0] == [30, 1, 1, 1, 1, 1, 1, 1]


def test_more_axes_than_kernels_walk_are_refused() -> None:
    scattered = View((2,) * 9, tuple(3**axis for axis in range(9)))
    with pytest.raises(Refused, match="along 9 axes that cannot be walked as fewer, expected at"):
        walked(scattered)
