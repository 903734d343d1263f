# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 1)])
def test_matrix_diag(lite: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = rng.normal(size=shape).astype(np.float32)
    lite.check(lite.Op("MATRIX_DIAG", ["x"]), {}, {"x": x})


def test_what_is_beside_the_diagonal_is_zero_where_an_element_is_infinite(lite: Any) -> None:
    results = lite.check(lite.Op("MATRIX_DIAG", ["x"]), {}, {"x": np.float32([np.inf, 1])})
    np.testing.assert_array_equal(results["y"], [[np.inf, 0], [0, 1]])


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 5), (2, 5, 3)])
def test_matrix_set_diag(lite: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x, d = (rng.normal(size=size).astype(np.float32) for size in (shape, (*shape[:-2], 3)))
    lite.check(lite.Op("MATRIX_SET_DIAG", ["x", "d"]), {}, {"x": x, "d": d})


def test_a_diagonal_of_another_rank_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2, 2)),
        "d": lite.Tensor(shape=(2, 2)),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="are not matrices and their diagonals"):
        parse(lite.build(lite.Op("MATRIX_SET_DIAG", ["x", "d"]), tensors, ["x", "d"]))


@pytest.mark.parametrize(
    ("shape", "message"),
    [((), "a scalar or quantised"), ((5000,), "5000 rows or columns: more than 4096")],
)
def test_matrices_without_a_known_size_are_refused(
    lite: Any, shape: tuple[int, ...], message: str
) -> None:
    tensors = {"x": lite.Tensor(shape=shape), "y": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(lite.build(lite.Op("MATRIX_DIAG", ["x"]), tensors))
