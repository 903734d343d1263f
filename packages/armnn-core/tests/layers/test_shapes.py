# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn._symbolic import Tape, concrete
from armnn.errors import ShapeError
from armnn.graph import Network
from armnn.layers._shapes import (
    broadcast,
    inferred_dimension,
    is_multiple,
    merged_shapes,
    normalized_axes,
    normalized_axis,
    product,
    window_positions,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType

if TYPE_CHECKING:
    from armnn.tensor import Dimension, Shape

SIZES = st.integers(0, 4)
SHAPES = st.lists(SIZES, max_size=5).map(tuple)


@given(SHAPES, SHAPES)
def test_broadcasting_is_numpys(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(first, second)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            broadcast(first, second)
    else:
        assert broadcast(first, second) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("n",), ("n",), ("n",)),
        (("n",), (1,), ("n",)),
        ((1,), (None,), (None,)),
        (("n",), ("m",), (None,)),
        (("n",), (5,), (5,)),
        ((None,), (0,), (0,)),
        (("n", 3), (3,), ("n", 3)),
        ((), ("n",), ("n",)),
    ],
)
def test_broadcasting_keeps_what_is_known(first: Shape, second: Shape, expected: Shape) -> None:
    assert broadcast(first, second) == expected
    assert broadcast(second, first) == expected


def test_a_dimension_beside_one_is_not_decided_about() -> None:
    tape = Tape()
    n = tape.input(3)
    shapes = [((n, 1, 4), (1, 5, 4)), ((1, 5, 4), (n, 1, 4)), ((n, 5, 4), (4,)), ((n,), (n,))]
    found = [broadcast(*pair) for pair in shapes]
    numbers = tape.replay((1,))
    assert numbers is not None
    assert [concrete(each, numbers) for each in found] == [(1, 5, 4)] * 3 + [(1,)]


def test_a_failed_broadcast_shows_both_shapes() -> None:
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[2,n,4\] do not broadcast: 3 is not 4"):
        broadcast((2, 3), (2, "n", 4))


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ((), 1),
        ((2, 3), 6),
        (("n",), "n"),
        (("n", 1), "n"),
        (("n", 2), None),
        (("n", "m"), None),
        ((None, 0), 0),
    ],
)
def test_a_product_is_known_where_it_can_be(dims: Shape, expected: Dimension) -> None:
    assert product(dims) == expected


@pytest.mark.parametrize(
    ("dims", "others", "expected"),
    [
        ((2, 3, 4), (6,), 4),
        ((2, 3), (6,), 1),
        ((0, 3), (3,), 0),
        ((), (), 1),
        (("n", 3, 4), (12,), "n"),
        (("n", 3, 4), (4,), None),
        (("n", 3, "m"), ("n", 3), "m"),
        (("n", 4), ("n", "n"), None),
        ((None, 4), (4,), None),
        (("n", "m"), (1,), None),
    ],
)
def test_what_is_left_of_a_shape_keeps_its_name(
    dims: Shape, others: Shape, expected: Dimension
) -> None:
    assert inferred_dimension(dims, others) == expected


@pytest.mark.parametrize(
    ("dims", "others", "message"),
    [
        ((2, 3), (4,), r"\[2,3\] cannot be divided by \[4\]"),
        ((0, 3), (0,), r"\[0,3\] cannot be divided by \[0\]"),
    ],
)
def test_what_cannot_be_left_is_refused(dims: Shape, others: Shape, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        inferred_dimension(dims, others)


@pytest.mark.parametrize(
    ("number", "divisor", "expected"),
    [(6, 3, True), (7, 3, False), (0, 3, True), (0, 0, True), (3, 0, False), ("n", 0, True)],
)
def test_multiples_are_recognized(number: Dimension, divisor: Dimension, expected: bool) -> None:
    assert is_multiple(number, divisor) is expected


def test_merged_shapes_prefer_numbers_to_names_to_nothing() -> None:
    assert merged_shapes([(None, "n", "m"), ("k", 3, None)]) == ("k", 3, "m")


def test_merged_shapes_may_differ_along_an_open_axis() -> None:
    assert merged_shapes([(2, 3), (2, 5)], open_axis=1) == (2, None)


def test_shapes_that_contradict_each_other_are_not_merged() -> None:
    with pytest.raises(ShapeError, match=r"inputs 0 and 1 have shapes \[2,3\] and \[2\]: expected"):
        merged_shapes([(2, 3), (2,)])
    with pytest.raises(ShapeError, match="the same in all axes but 0"):
        merged_shapes([(2, 3), (2, 4)], open_axis=0)


def test_axes_are_counted_from_the_front() -> None:
    assert normalized_axes((-1, 0), 3) == (2, 0)


@pytest.mark.parametrize(("axis", "rank"), [(3, 3), (-4, 3), (0, 0)])
def test_an_axis_that_is_not_there_is_refused(axis: int, rank: int) -> None:
    with pytest.raises(ShapeError, match=f"axis {axis} is not an axis of a tensor of rank {rank}"):
        normalized_axis(axis, rank)


def test_an_axis_may_be_named_once() -> None:
    with pytest.raises(ShapeError, match=r"axes \[1, -1\] of a tensor of rank 2 name one axis tw"):
        normalized_axes((1, -1), 2)


@given(
    size=st.integers(1, 12),
    window=st.integers(1, 5),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    round_up=st.booleans(),
)
def test_windows_are_counted_as_they_slide(
    size: int, window: int, stride: int, dilation: int, before: int, after: int, round_up: bool
) -> None:
    reach = dilation * (window - 1) + 1
    if size + before + after < reach:
        with pytest.raises(ShapeError, match=f"a window of {window} with dilation {dilation}"):
            window_positions(
                size, window, stride=stride, dilation=dilation, padding=(before, after)
            )
        return
    count, start = 0, -before
    while start + reach <= size + after:
        count, start = count + 1, start + stride
    if round_up:
        whole = start - stride + reach == size + after
        count += 0 if whole or start >= size else 1
        count = min(count, len(range(-before, size, stride)))
    assert (
        window_positions(
            size,
            window,
            stride=stride,
            dilation=dilation,
            padding=(before, after),
            round_up=round_up,
        )
        == count
    )


def test_a_window_that_moves_by_one_in_full_padding_keeps_a_name() -> None:
    assert window_positions("w", 3, dilation=2, padding=(2, 2)) == "w"
    assert window_positions("w", 3, stride=2, padding=(1, 1)) is None
    assert window_positions("w", "k", padding=(1, 1)) is None


def test_a_shape_input_that_no_tensor_can_need_is_refused_before_anything_is_made_of_it() -> None:
    network = Network()
    dims = network.add_input("dims", TensorInfo((2**40,), DataType.SIGNED64))
    with pytest.raises(
        ShapeError, match="'input' holds 1099511627776 numbers: expected at most 16"
    ):
        network.add_fill(dims)
