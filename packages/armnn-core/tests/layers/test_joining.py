# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_inputs_follow_each_other_along_an_axis(infer, axis):
    arrays = [np.empty((2, 2, 2)), np.empty((2, 2, 2)), np.empty((2, 2, 2))]
    expected = np.concatenate(arrays, axis=axis).shape
    assert infer("Concat", [a.shape for a in arrays], axis=axis)[0].shape == expected


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([("n", 3), (None, 4)], ("n", 7)),
        ([("n", 3), (2, 4)], (2, 7)),
        ([("n", 3), ("n", "m")], ("n", None)),
        ([("n", "m"), ("n", 0)], ("n", "m")),
        ([("n", "m")], ("n", "m")),
        ([(2, 0), (2, 0)], (2, 0)),
    ],
)
def test_names_stay_where_they_can(infer, shapes, expected):
    assert infer("Concat", shapes, axis=1)[0].shape == expected


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([], "has no inputs: expected at least one"),
        ([(2, 3), (4, 3)], r"inputs 0 and 1 have shapes \[2,3\] and \[4,3\]: expected the same in"),
        ([(2, 3), (2,)], r"inputs 0 and 1 have shapes \[2,3\] and \[2\]"),
        ([(), ()], "axis 1 is not an axis of a tensor of rank 0"),
    ],
)
def test_inputs_that_do_not_join_are_refused(infer, shapes, message):
    with pytest.raises(ShapeError, match=message):
        infer("Concat", shapes, axis=1)


def test_what_is_joined_has_the_type_of_the_first_input(infer):
    whole = TensorInfo((2,), DataType.SIGNED64)
    assert infer("Concat", [whole, whole]) == (TensorInfo((4,), DataType.SIGNED64),)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_inputs_are_stacked_along_a_new_axis(infer, axis):
    arrays = [np.empty((4, 5)), np.empty((4, 5)), np.empty((4, 5))]
    expected = np.stack(arrays, axis=axis).shape
    assert infer("Stack", [a.shape for a in arrays], axis=axis)[0].shape == expected


def test_stacked_scalars_make_a_list(infer):
    assert infer("Stack", [(), ()])[0].shape == (2,)


@pytest.mark.parametrize(
    ("shapes", "axis", "message"),
    [
        ([(2, 3), (2, 4)], 0, r"\[2,3\] and \[2,4\]: expected the same$"),
        ([(2, 3)], 3, "axis 3 is not an axis of a tensor of rank 3"),
        ([], 0, "has no inputs"),
    ],
)
def test_inputs_that_do_not_stack_are_refused(infer, shapes, axis, message):
    with pytest.raises(ShapeError, match=message):
        infer("Stack", shapes, axis=axis)


def test_an_input_is_cut_into_parts(infer):
    infos = infer("Splitter", [("n", 7)], axis=-1, sizes=(3, 0, 4))
    assert [info.shape for info in infos] == [("n", 3), ("n", 0), ("n", 4)]


def test_an_axis_that_is_not_known_may_be_cut(infer):
    infos = infer("Splitter", [("n",)], sizes=(1, 2))
    assert [info.shape for info in infos] == [(1,), (2,)]


def test_the_parts_make_up_the_whole(infer):
    with pytest.raises(ShapeError, match=r"sizes \[3, 3\] add up to 6, but the axis 1 .* has 7"):
        infer("Splitter", [(2, 7)], axis=1, sizes=(3, 3))
