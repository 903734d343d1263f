# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType, PoolingAlgorithm

NHWC = DataLayout.NHWC


def test_an_image_gets_another_size(infer):
    size = {"target_width": 5, "target_height": 6}
    assert infer("Resize", [("n", 3, None, 4)], **size)[0].shape == ("n", 3, 6, 5)
    assert infer("Resize", [("n", 2, 4, 3)], data_layout=NHWC, **size)[0].shape == ("n", 6, 5, 3)


def test_the_size_may_be_computed(infer):
    operands = [(1, 3, 4, 4), np.array([7]), TensorInfo((1,), DataType.SIGNED64)]
    assert infer("Resize", operands)[0].shape == (1, 3, None, 7)


@pytest.mark.parametrize(
    ("shape", "parameters", "message"),
    [
        ((1, 3, 4, 4), {"target_width": 5}, "the target_height is 0: expected at least 1"),
        ((1, 3, 4), {"target_width": 5, "target_height": 5}, "'input' has shape .*expected rank 4"),
    ],
)
def test_a_size_is_needed(infer, shape, parameters, message):
    with pytest.raises(ShapeError, match=message):
        infer("Resize", [shape], **parameters)


def test_a_grid_tells_the_size(infer):
    assert infer("GridSample", [(None, 3, 4, 5), ("n", 7, 8, 2)])[0].shape == ("n", 3, 7, 8)
    assert infer("GridSample", [(2, 3, 4, 5, 6), (2, 7, 8, 9, 3)])[0].shape == (2, 3, 7, 8, 9)


@pytest.mark.parametrize("grid", [(2, 7, 8, 3), (3, 7, 8, 2), (2, 7, 2)])
def test_a_grid_that_does_not_fit_is_refused(infer, grid):
    with pytest.raises(ShapeError, match=r"does not fit the input of shape \[2,3,4,5\]: expected"):
        infer("GridSample", [(2, 3, 4, 5), grid])
    with pytest.raises(
        ShapeError, match=r"expected a grid \[N,...,0\] and an input \[N,C,...\] of"
    ):
        infer("GridSample", [(2, 3), (2, 0)])


def test_a_scale_is_not_negative(infer):
    with pytest.raises(InvalidArgumentError, match=r"'scale_width' is -1.0, expected at least 0"):
        infer("Resize", [(1, 1, 2, 2)], target_width=1, target_height=1, scale_width=-1.0)


def test_each_box_gets_the_same_size(infer):
    size = {"output_height": 7, "output_width": 8}
    assert infer("RoiAlign", [("n", 3, 9, 9), ("r", 4), (None,)], **size)[0].shape == ("r", 3, 7, 8)
    with pytest.raises(ShapeError, match=r"'boxes' has shape \[6,5\]: expected \[6,4\]"):
        infer("RoiAlign", [(1, 3, 9, 9), (6, 5), (6,)])
    with pytest.raises(InvalidArgumentError, match="'output_width' is 0, expected at least 1"):
        infer("RoiAlign", [(1, 3, 9, 9), (6, 4), (6,)], output_width=0)
    with pytest.raises(InvalidArgumentError, match="is L2, expected one of Average, Max"):
        infer("RoiAlign", [(1, 3, 9, 9), (6, 4), (6,)], pool_type=PoolingAlgorithm.L2)
