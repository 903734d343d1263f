# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_pooling(
    lite: Any, rng: np.random.Generator, name: str, padding: int, activation: int
) -> None:
    options = {"filterHeight": 3, "filterWidth": 2, "strideH": 2, "strideW": 3}
    lite.check(
        lite.Op(
            name,
            ["x"],
            options={**options, "padding": padding, "fusedActivationFunction": activation},
        ),
        {},
        {"x": rng.normal(size=(2, 7, 8, 3)).astype(np.float32)},
        atol=1e-5,
    )


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_int8_pooling(lite: Any, rng: np.random.Generator, name: str) -> None:
    x = rng.integers(-128, 128, (1, 6, 6, 3)).astype(np.int8)
    info = {"scale": 0.1, "zero_point": -11}
    lite.check(
        lite.Op(
            name,
            ["x"],
            version=2,
            options={"filterHeight": 3, "filterWidth": 3, "strideH": 2, "strideW": 2},
        ),
        {
            "x": lite.Tensor("int8", x.shape, **info),
            "y": lite.Tensor("int8", (1, 3, 3, 3), **info),
        },
        {"x": x},
    )
