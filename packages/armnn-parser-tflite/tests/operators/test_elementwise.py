# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic on each element agree with LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize(
    "name",
    ["ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE", "FLOOR_DIV"],
)
def test_arithmetic_broadcasts_as_in_litert(lite: Any, rng: np.random.Generator, name: str) -> None:
    x = rng.uniform(0.5, 4, (2, 3, 1)).astype(np.float32)
    other = rng.uniform(0.5, 4, (3, 4)).astype(np.float32)
    lite.check(lite.Op(name, ["x", "o"]), {"o": lite.constant(other)}, {"x": x})


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "MAXIMUM", "FLOOR_DIV", "FLOOR_MOD", "DIV"])
def test_integers_stay_integers(lite: Any, name: str) -> None:
    x = np.array([7, -7, 8, -8], np.int32)
    lite.check(
        lite.Op(name, ["x", "o"]),
        {"o": lite.constant(np.int32([3, 3, -3, -3])), "y": lite.Tensor("int32")},
        {"x": x},
    )


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize(("kind", "zeros"), [("int8", (3, -7, 11)), ("int16", (0, 0, 0))])
def test_quantized_arithmetic_is_within_a_step_of_litert(
    lite: Any, rng: np.random.Generator, name: str, kind: str, zeros: tuple[int, int, int]
) -> None:
    limits = np.iinfo(kind)
    x, other = (rng.integers(limits.min, limits.max, (4, 64)).astype(kind) for _ in range(2))
    scales = (0.02, 0.02, 0.02) if name in ("MAXIMUM", "MINIMUM") else (0.02, 0.05, 0.07)
    if name in ("MAXIMUM", "MINIMUM"):
        zeros = (0, 0, 0)
    if kind == "int16":
        scales = (1e-4, 1e-4, 1e-4) if name in ("MAXIMUM", "MINIMUM") else (1e-4, 1e-4, 3e-4)
    tensors = {
        label: lite.Tensor(kind, x.shape, scale=scale, zero_point=zero)
        for label, scale, zero in zip(("x", "o", "y"), scales, zeros, strict=True)
    }
    version = 1 if name == "SUB" and kind == "int8" else 2
    if kind == "int16":
        version = {"SUB": 5, "MUL": 4}.get(name, 2)
    lite.check(lite.Op(name, ["x", "o"], version=version), tensors, {"x": x, "o": other})


@pytest.mark.parametrize(
    "name", ["ABS", "COS", "EXP", "LOG", "NEG", "RSQRT", "SIN", "SQRT", "FLOOR", "SIGN"]
)
def test_functions_of_one_element_are_those_of_litert(
    lite: Any, rng: np.random.Generator, name: str
) -> None:
    x = rng.uniform(0.1, 4, (2, 5)).astype(np.float32)
    x = x if name in ("LOG", "RSQRT", "SQRT") else x - 2
    lite.check(lite.Op(name, ["x"]), {}, {"x": x}, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"), [("CEIL", [-1, 0, 1, 2, 3]), ("ROUND", [-2, 0, 0, 2, 2])]
)
def test_rounding(lite: Any, name: str, expected: list[float]) -> None:
    x = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    tensors = {"x": lite.Tensor(shape=(5,)), "y": lite.Tensor(shape=(5,))}
    results = lite.run(lite.build(lite.Op(name, ["x"]), tensors), {"x": x})
    np.testing.assert_array_equal(results["y"], expected)


@pytest.mark.parametrize(
    "name", ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"]
)
@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_comparisons_are_those_of_litert(lite: Any, name: str, kind: str) -> None:
    x = np.array([[1], [2], [3]], kind)
    lite.check(
        lite.Op(name, ["x", "o"]),
        {"o": lite.constant(np.array([1, 2, 3], kind)), "y": lite.Tensor("bool")},
        {"x": x},
    )


@pytest.mark.parametrize("name", ["LOGICAL_AND", "LOGICAL_OR"])
def test_logic_is_that_of_litert(lite: Any, name: str) -> None:
    x, other = np.array([[True], [False]]), np.array([True, False])
    tensors = {"o": lite.constant(other), "y": lite.Tensor("bool")}
    lite.check(lite.Op(name, ["x", "o"]), tensors, {"x": x})


def test_logical_not(lite: Any) -> None:
    results = lite.check(
        lite.Op("LOGICAL_NOT", ["x"]), {"y": lite.Tensor("bool")}, {"x": np.array([True, False])}
    )
    assert results["y"].tolist() == [False, True]


def test_add_n_adds_all(lite: Any, rng: np.random.Generator) -> None:
    feeds = {name: rng.normal(size=(2, 3)).astype(np.float32) for name in "abc"}
    results = lite.check(lite.Op("ADD_N", ["a", "b", "c"]), {}, feeds)
    np.testing.assert_allclose(results["y"], sum(feeds.values()), 1e-5)


def test_bits(lite: Any) -> None:
    x, tensors = np.array([12, -8], np.int32), {"y": lite.Tensor("int32")}
    other = {"o": lite.constant(np.int32([10, 2])), **tensors}
    assert lite.check(lite.Op("BITWISE_XOR", ["x", "o"]), other, {"x": x})["y"].tolist() == [6, -6]
    other["o"] = lite.constant(np.int32([1, 2]))
    assert lite.check(lite.Op("RIGHT_SHIFT", ["x", "o"]), other, {"x": x})["y"].tolist() == [6, -2]


def test_select_v2_broadcasts(lite: Any, rng: np.random.Generator) -> None:
    lite.check(
        lite.Op("SELECT_V2", ["c", "x", "o"]),
        {"o": lite.constant(np.float32([9]))},
        {"c": np.array([[True], [False]]), "x": rng.normal(size=(2, 3)).astype(np.float32)},
    )


def test_select_chooses_along_the_first_axis(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3)).astype(np.float32)
    lite.check(
        lite.Op("SELECT", ["c", "x", "o"]),
        {"o": lite.constant(-x)},
        {"c": np.array([True, False]), "x": x},
    )


def test_the_angle_of_a_point(lite: Any) -> None:
    y, x = (grid.astype(np.float32) for grid in np.mgrid[-2:3, -2:3])
    lite.check(lite.Op("ATAN2", ["x", "z"]), {}, {"x": y, "z": x})


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_bucketize(lite: Any, kind: str) -> None:
    x = np.array([[-1, 0, 3], [10, 11, 100]], kind)
    op = lite.Op("BUCKETIZE", ["x"], options={"boundaries": [0.0, 10.0, 100.0]})
    lite.check(op, {"y": lite.Tensor("int32")}, {"x": x})


def test_boundaries_out_of_order_are_refused(lite: Any) -> None:
    op = lite.Op("BUCKETIZE", ["x"], options={"boundaries": [1.0, 0.0]})
    with pytest.raises(ParseError, match="its boundaries are not in order"):
        parse(lite.build(op, {"x": lite.Tensor(shape=(2,)), "y": lite.Tensor("int32")}))


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
    [((), "a scalar or quantized"), ((5000,), "5000 rows or columns: more than 4096")],
)
def test_matrices_without_a_known_size_are_refused(
    lite: Any, shape: tuple[int, ...], message: str
) -> None:
    tensors = {"x": lite.Tensor(shape=shape), "y": lite.Tensor()}
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(lite.build(lite.Op("MATRIX_DIAG", ["x"]), tensors))
