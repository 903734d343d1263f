# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_shape_and_rank(lite: Any, kind: str) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    tensors = {"y": lite.Tensor(kind)}
    options = {"outType": 2 if kind == "int32" else 4}
    results = lite.check(lite.Op("SHAPE", ["x"], options=options), tensors, {"x": x})
    assert results["y"].tolist() == [2, 3, 4]
    results = lite.check(lite.Op("RANK", ["x"]), {"y": lite.Tensor("int32")}, {"x": x})
    assert results["y"] == 3


def test_fill_with_a_constant(lite: Any) -> None:
    tensors = {"v": lite.constant(np.int32(7)), "y": lite.Tensor("int32")}
    results = lite.check(lite.Op("FILL", ["x", "v"]), tensors, {"x": np.int32([2, 3])})
    assert results["y"].tolist() == [[7] * 3] * 2


def test_fill_with_a_computed_value(lite: Any) -> None:
    tensors = {"d": lite.constant(np.int32([2, 3]))}
    results = lite.check(lite.Op("FILL", ["d", "x"]), tensors, {"x": np.float32(1.5)})
    assert results["y"].tolist() == [[1.5] * 3] * 2


def test_a_fill_with_two_values_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor("int32", (2,)),
        "v": lite.constant(np.int32([7, 8])),
        "y": lite.Tensor("int32"),
    }
    with pytest.raises(ParseError, match="its value has 2 elements: expected one"):
        parse(lite.build(lite.Op("FILL", ["x", "v"]), tensors))


def test_zeros_like(lite: Any) -> None:
    results = lite.check(lite.Op("ZEROS_LIKE", ["x"]), {}, {"x": np.ones((2, 3), np.float32)})
    assert not results["y"].any()


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("int32", (2, 11, 3)),
        ("int32", (5, -5, -4)),
        ("float32", (0.5, 3, 0.75)),
        ("int32", (3, 0, 1)),
    ],
)
def test_range(lite: Any, kind: str, numbers: tuple[float, ...]) -> None:
    tensors = {
        name: lite.constant(np.array(n, kind)) for name, n in zip("abc", numbers, strict=True)
    }
    model = lite.build(
        lite.Op("RANGE", ["a", "b", "c"]), {**tensors, "y": lite.Tensor(kind)}, [], ["y"]
    )
    np.testing.assert_allclose(lite.run(model, {})["y"], np.arange(*numbers, dtype=kind))


def test_a_computed_range(lite: Any) -> None:
    tensors = {
        "a": lite.constant(np.int32(2)),
        "c": lite.constant(np.int32(3)),
        "y": lite.Tensor("int32"),
    }
    results = lite.check(lite.Op("RANGE", ["a", "x", "c"]), tensors, {"x": np.int32(10)})
    assert results["y"].tolist() == [2, 5, 8]


@pytest.mark.parametrize(
    ("numbers", "kind", "message"),
    [
        (([0], [5], [0]), ParseError, "must be finite and delta not 0"),
        (([0, 1], [5], [1]), ParseError, "must have one element each"),
        (([0], [2**30], [1]), UnsupportedOperatorError, "1073741824 elements are more than"),
    ],
)
def test_ranges_without_an_end_are_refused(
    lite: Any, numbers: tuple[list[int], ...], kind: type[Exception], message: str
) -> None:
    tensors = {name: lite.constant(np.int32(n)) for name, n in zip("abc", numbers, strict=True)}
    model = lite.build(
        lite.Op("RANGE", ["a", "b", "c"]), {**tensors, "y": lite.Tensor("int32")}, [], ["y"]
    )
    with pytest.raises(kind, match=message):
        parse(model)


def test_broadcast_args(lite: Any) -> None:
    tensors = {"a": lite.constant(np.int64([3, 1, 4])), "b": lite.constant(np.int64([2, 1]))}
    ops = [
        lite.Op("BROADCAST_ARGS", ["a", "b"], ["s"]),
        lite.Op("BROADCAST_TO", ["x", "s"], version=2),
    ]
    tensors["s"] = lite.Tensor("int64")
    lite.check(ops, tensors, {"x": np.float32([[1, 2, 3, 4]])})


def test_shapes_that_do_not_fit_are_refused(lite: Any) -> None:
    tensors = {"a": lite.constant(np.int64([3])), "b": lite.constant(np.int64([2]))}
    tensors |= {"y": lite.Tensor("int64")}
    with pytest.raises(ParseError, match=r"its shapes \[\[3\], \[2\]\] do not fit"):
        parse(lite.build(lite.Op("BROADCAST_ARGS", ["a", "b"]), tensors, []))
