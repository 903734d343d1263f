# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType


@pytest.mark.parametrize("shape", [(), (0,), ("n", None, 3)])
def test_rank_is_a_number_and_shape_a_list(infer, shape):
    assert infer("Rank", [shape]) == (TensorInfo((), DataType.SIGNED32),)
    assert infer("Shape", [shape]) == (TensorInfo((len(shape),), DataType.SIGNED32),)


def test_shapes_may_be_told_in_64_bits(infer):
    assert infer("Shape", [(2,)], [DataType.SIGNED64])[0].data_type is DataType.SIGNED64


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (np.array([2, 0, 3]), (2, 0, 3)),
        (np.array([], np.int32), ()),
        (TensorInfo((2,), DataType.SIGNED32), (None, None)),
        (TensorInfo((None,), DataType.SIGNED32), None),
    ],
)
def test_fill_makes_the_shape_that_it_is_given(infer, wanted, expected):
    assert infer("Fill", [wanted]) == (TensorInfo(expected),)


def test_fill_makes_any_type(infer):
    (info,) = infer("Fill", [np.array([2])], [DataType.BOOLEAN], value=1)
    assert info == TensorInfo((2,), DataType.BOOLEAN)


@pytest.mark.parametrize(
    "wanted", [np.array([-1]), np.array([[2]]), np.array(2), np.ones(9, np.int64)]
)
def test_what_is_no_shape_is_refused(infer, wanted):
    with pytest.raises(ShapeError, match=r"the value of the input 'input' is .*expected a shape"):
        infer("Fill", [wanted])


def test_a_shape_has_rank_1(infer):
    with pytest.raises(ShapeError, match=r"'input' has shape \[\]: expected rank 1"):
        infer("Fill", [TensorInfo((), DataType.SIGNED32)])


@pytest.mark.parametrize(
    ("start", "limit", "delta", "expected"),
    [
        (0, 10, 3, 4),
        (0, 9, 3, 3),
        (10, 0, -3, 4),
        (5, 5, 1, 0),
        (5, 0, 1, 0),
        (-(2**62), 2**62, 2**60, 8),
        (0.0, 1.0, 0.1, 10),
        (1.0, 0.0, -0.25, 4),
        (0.0, 1.0, 0.3, 4),
    ],
)
def test_a_range_counts_up_to_before_its_limit(infer, start, limit, delta, expected):
    operands = [np.array(number) for number in (start, limit, delta)]
    (info,) = infer("Range", operands)
    assert info.shape == (expected,)
    assert info.data_type.numpy_dtype == operands[0].dtype


def test_a_range_of_computed_numbers_has_an_unknown_length(infer):
    scalar = TensorInfo((), DataType.SIGNED64)
    assert infer("Range", [np.array(0), scalar, np.array(1)])[0].shape == (None,)


@pytest.mark.parametrize("numbers", [(0, 1, 0), (0.0, np.inf, 1.0), (np.nan, 1.0, 1.0)])
def test_a_range_without_an_end_is_refused(infer, numbers):
    with pytest.raises(ShapeError, match=r"there is no range from .*: expected finite numbers and"):
        infer("Range", [np.array(number) for number in numbers])


def test_a_range_is_between_single_numbers(infer):
    with pytest.raises(ShapeError, match=r"'limit' has shape \[2\]: expected one number"):
        infer("Range", [np.array(0), np.array([1, 2]), np.array(1)])
