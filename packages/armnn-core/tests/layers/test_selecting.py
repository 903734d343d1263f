# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType


def test_as_many_elements_as_asked_for_are_chosen_along_the_axis(infer):
    values, indices = infer("TopK", [("n", 5, 4)], k=3, axis=1)
    assert values.shape == indices.shape == ("n", 3, 4)
    assert (values.data_type, indices.data_type) == (DataType.FLOAT32, DataType.SIGNED64)
    assert infer("TopK", [("n", 5), np.array([2])])[0].shape == ("n", 2)
    computed = TensorInfo((1,), DataType.SIGNED64)
    assert infer("TopK", [("n", 5), computed])[0].shape == ("n", None)


def test_more_elements_than_there_are_are_refused(infer):
    with pytest.raises(ShapeError, match=r"k is 6 along an axis of 5 elements: expected"):
        infer("TopK", [(2, 5)], k=6)
    with pytest.raises(InvalidArgumentError, match="'k' is -1, expected at least 0"):
        infer("TopK", [(2, 5)], k=-1)


@pytest.mark.parametrize(("axis", "shape"), [(0, (4, "n", 3)), (1, ("n", 4, 3)), (-1, ("n", 3, 4))])
def test_one_hot_makes_an_axis(infer, axis, shape):
    indices = TensorInfo(("n", 3), DataType.SIGNED64)
    assert infer("OneHot", [indices, (2,)], depth=4, axis=axis)[0].shape == shape


def test_one_hot_has_the_type_of_its_two_values(infer):
    indices = TensorInfo((), DataType.SIGNED64)
    (info,) = infer("OneHot", [indices, TensorInfo((2,), DataType.BOOLEAN)], depth=4)
    assert info == TensorInfo((4,), DataType.BOOLEAN)
    with pytest.raises(ShapeError, match=r"'values' has shape \[3\]: expected \[2\]"):
        infer("OneHot", [indices, (3,)], depth=4)
    with pytest.raises(ShapeError, match="axis 1 is not an axis of a tensor of rank 1"):
        infer("OneHot", [indices, (2,)], depth=4, axis=1)
    with pytest.raises(InvalidArgumentError, match="'depth' is -1, expected at least 0"):
        infer("OneHot", [indices, (2,)], depth=-1)


def test_a_triangle_is_that_of_matrices(infer):
    assert infer("Trilu", [("n", 3, None)])[0].shape == ("n", 3, None)
    with pytest.raises(ShapeError, match=r"shape \[3\]: expected rank 2 or more"):
        infer("Trilu", [(3,)])


@pytest.mark.parametrize("indices", [(2, 3), (2, 9), (1, 0), ("n", "m")])
def test_gathered_elements_have_the_shape_of_their_indices(infer, indices):
    assert infer("GatherElements", [(2, 3), indices], axis=1)[0].shape == indices


@pytest.mark.parametrize("indices", [(3, 3), (2,), (2, 3, 1)])
def test_indices_reach_outside_along_no_other_axis(infer, indices):
    message = r"the indices have shape .*: expected that of the input, \[2,3\], or a smaller one"
    with pytest.raises(ShapeError, match=message):
        infer("GatherElements", [(2, 3), indices], axis=1)
    with pytest.raises(ShapeError, match=message):
        infer("ScatterElements", [(2, 3), indices, indices], axis=1)


def test_each_scattered_element_has_an_update(infer):
    assert infer("ScatterElements", [("n", 3), (1, 2), (1, 2)])[0].shape == ("n", 3)
    with pytest.raises(ShapeError, match=r"'updates' has shape \[2,1\]: expected \[1,2\]"):
        infer("ScatterElements", [("n", 3), (1, 2), (2, 1)])


def test_how_many_slices_stay_is_not_known(infer):
    condition = TensorInfo((3,), DataType.BOOLEAN)
    assert infer("Compress", [("n", 3), condition], axis=-1)[0].shape == ("n", None)
    with pytest.raises(ShapeError, match="condition has 3 elements: expected at most 2, the size"):
        infer("Compress", [(2, 3), condition])
    with pytest.raises(ShapeError, match=r"'condition' has shape \[1,1\]: expected rank 1"):
        infer("Compress", [(2, 3), TensorInfo((1, 1), DataType.BOOLEAN)])


def test_how_many_slices_differ_is_not_known_before(infer):
    values, indices, inverse, counts = infer("Unique", [("n", 3)], axis=-1)
    assert values.shape == ("n", None)
    assert (indices.shape, inverse.shape, counts.shape) == ((None,), (3,), (None,))
    with pytest.raises(ShapeError, match="axis 0 is not an axis of a tensor of rank 0"):
        infer("Unique", [()])
