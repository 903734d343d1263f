# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("name", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize(("corners", "centers"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("size", [(8, 10), (3, 4), (5, 5), (1, 1)])
def test_resize(
    lite: Any,
    rng: np.random.Generator,
    name: str,
    corners: bool,
    centers: bool,
    size: tuple[int, int],
) -> None:
    lite.check(
        lite.Op(
            name,
            ["x", "s"],
            version=3,
            options={"alignCorners": corners, "halfPixelCenters": centers},
        ),
        {"s": lite.constant(np.int32(size))},
        {"x": rng.normal(size=(1, 5, 6, 2)).astype(np.float32)},
        atol=1e-5,
    )


def test_int8_resize(lite: Any, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)
    info = {"scale": 0.1, "zero_point": 3}
    lite.check(
        lite.Op("RESIZE_BILINEAR", ["x", "s"], version=3, options={"halfPixelCenters": True}),
        {
            "s": lite.constant(np.int32([8, 8])),
            "x": lite.Tensor("int8", x.shape, **info),
            "y": lite.Tensor("int8", (1, 8, 8, 3), **info),
        },
        {"x": x},
    )


def test_a_computed_size(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 2, 3, 1)).astype(np.float32)
    lite.check(
        [
            lite.Op("SHAPE", ["o"], ["d"], {"outType": 2}),
            lite.Op("RESIZE_NEAREST_NEIGHBOR", ["x", "d"]),
        ],
        {"d": lite.Tensor("int32", (2,))},
        {"x": x, "o": np.zeros((4, 6), np.float32)},
    )


def test_a_size_of_one_number_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 2, 3, 1)),
        "s": lite.constant(np.int32([4])),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="the new size is not a list of height and width"):
        parse(lite.build(lite.Op("RESIZE_BILINEAR", ["x", "s"]), tensors))
