# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.cli.inputs import Feed
from armnn.cli.open_shapes import explaining_open_shapes
from armnn.errors import ShapeError
from armnn.tensor import TensorInfo

PICTURE = Feed("x", TensorInfo((1, 3, "h", "w")), np.zeros((1, 3, 5, 7)), "photo.PNG")
ARRAY = Feed("a", TensorInfo((None,)), np.zeros(4), "a.npy")
MADE_UP = Feed("r", TensorInfo((None,)), np.zeros(1), "random")
FIXED = Feed("f", TensorInfo((2,)), np.zeros(2), "f.npy")


def explained(*feeds: Feed) -> str:
    with pytest.raises(ShapeError) as raised, explaining_open_shapes(feeds):
        raise ShapeError("layer 'join' (Concat): they differ")
    return str(raised.value)


def test_a_picture_is_named_with_its_shape_and_may_be_resized() -> None:
    assert explained(PICTURE) == (
        "layer 'join' (Concat): they differ; the input 'x' has the shape [1,3,5,7] of 'photo.PNG': "
        "--resize WIDTHxHEIGHT gives the picture another size"
    )


def test_each_input_with_an_open_shape_is_named() -> None:
    assert explained(FIXED, ARRAY, MADE_UP) == (
        "layer 'join' (Concat): they differ; the input 'a' has the shape [4] of 'a.npy': the model "
        "leaves [?] open, but not for any size; the input 'r' was taken as [1]: --shape says "
        "otherwise"
    )


def test_without_an_open_shape_nothing_is_added() -> None:
    assert explained(FIXED) == "layer 'join' (Concat): they differ"
