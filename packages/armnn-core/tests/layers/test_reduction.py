# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType


@pytest.mark.parametrize("name", ["Mean", "Reduce"])
@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axis", [(), (0,), (-1,), (2, 0), (0, 1, 2)])
def test_reductions_have_the_shape_of_numpys(infer, name, keep_dims, axis):
    array = np.ones((2, 3, 4))
    expected = array.sum(axis=axis or None, keepdims=keep_dims).shape
    assert infer(name, [array.shape], axis=axis, keep_dims=keep_dims)[0].shape == expected


def test_a_scalar_reduces_to_a_scalar(infer):
    assert infer("Reduce", [()])[0].shape == ()


def test_axes_that_are_not_reduced_keep_their_names(infer):
    assert infer("Mean", [("n", "h", "w", 3)], axis=(1, 2))[0].shape == ("n", 3)


@pytest.mark.parametrize(
    ("axes", "keep_dims", "expected"),
    [
        ((2,), False, (None,)),
        ((2,), True, (None, 1, None)),
        ((0,), False, ()),
        ((None,), False, None),
        ((None,), True, (None, 1, None)),
    ],
)
def test_axes_that_are_not_known_leave_the_rank_if_their_number_is(
    infer, axes, keep_dims, expected
):
    operands = [(2, 1, "n"), TensorInfo(axes, DataType.SIGNED64)]
    assert infer("Reduce", operands, keep_dims=keep_dims)[0].shape == expected


def test_axes_that_are_known_are_used(infer):
    assert infer("Mean", [(2, 3, 4), np.array([1, -1])])[0].shape == (2,)


@pytest.mark.parametrize(
    ("axis", "message"), [((3,), "axis 3 is not an axis"), ((0, -3), "name one axis twice")]
)
def test_wrong_axes_are_refused(infer, axis, message):
    with pytest.raises(ShapeError, match=message):
        infer("Mean", [(2, 3, 4)], axis=axis)


def test_more_axes_than_there_are_cannot_be_reduced(infer):
    operands = [(2, 3), TensorInfo((3,), DataType.SIGNED64)]
    with pytest.raises(
        ShapeError, match=r"3 axes are to be reduced: expected at most 2, .* \[2,3\]"
    ):
        infer("Mean", operands)


def test_a_list_of_axes_has_rank_1(infer):
    with pytest.raises(ShapeError, match=r"'axis' has shape \[1,1\]: expected rank 1"):
        infer("Mean", [(2, 3), TensorInfo((1, 1), DataType.SIGNED64)])


@pytest.mark.parametrize(("axis", "expected"), [(-1, ("n", 3)), (0, (3, 4)), (1, ("n", 4))])
def test_the_axis_of_arg_min_max_goes(infer, axis, expected):
    assert infer("ArgMinMax", [("n", 3, 4)], axis=axis)[0].shape == expected


def test_arg_min_max_counts_in_32_bits_unless_asked_otherwise(infer):
    assert infer("ArgMinMax", [(3,)]) == (TensorInfo((), DataType.SIGNED32),)
    assert infer("ArgMinMax", [(3,)], [DataType.SIGNED64])[0].data_type is DataType.SIGNED64
    with pytest.raises(ShapeError, match="cannot be Float32: expected one of Signed32, Signed64"):
        infer("ArgMinMax", [(3,)], [DataType.FLOAT32])


@pytest.mark.parametrize(
    ("shape", "message"),
    [((), "axis -1 is not an axis"), ((2, 0), r"\[2,0\] has no element to choose from")],
)
def test_arg_min_max_needs_something_to_choose_from(infer, shape, message):
    with pytest.raises(ShapeError, match=message):
        infer("ArgMinMax", [shape])


def test_running_sums_keep_the_shape(infer):
    assert infer("CumSum", [("n", 3)], axis=-2)[0].shape == ("n", 3)
    assert infer("CumSum", [("n", 3), TensorInfo((), DataType.SIGNED32)])[0].shape == ("n", 3)
    with pytest.raises(ShapeError, match="axis 2 is not an axis of a tensor of rank 2"):
        infer("CumSum", [("n", 3)], axis=2)
    with pytest.raises(ShapeError, match="axis -3 is not an axis of a tensor of rank 2"):
        infer("CumProd", [("n", 3)], axis=-3)
