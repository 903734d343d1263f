# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse

REDUCTIONS = ["SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axes", [[1], [-1], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(
    lite: Any, rng: np.random.Generator, name: str, axes: list[int], keep: bool
) -> None:
    lite.check(
        lite.Op(name, ["x", "a"], options={"keepDims": keep}),
        {"a": lite.constant(np.int32(axes))},
        {"x": rng.normal(size=(2, 3, 4)).astype(np.float32)},
        atol=1e-5,
    )


@pytest.mark.parametrize("name", ["SUM", "MEAN"])
def test_no_axis_reduces_nothing(lite: Any, rng: np.random.Generator, name: str) -> None:
    x = rng.normal(size=(2, 3)).astype(np.float32)
    results = lite.check(
        lite.Op(name, ["x", "a"]), {"a": lite.constant(np.empty(0, np.int32))}, {"x": x}
    )
    np.testing.assert_array_equal(results["y"], x)


@pytest.mark.parametrize("name", ["MEAN", "REDUCE_MAX"])
def test_int8_reductions(lite: Any, rng: np.random.Generator, name: str) -> None:
    x = rng.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)
    info = {"scale": 0.1, "zero_point": 3}
    other = info if name == "REDUCE_MAX" else {"scale": 0.4, "zero_point": -20}
    lite.check(
        lite.Op(name, ["x", "a"], version=2),
        {
            "x": lite.Tensor("int8", x.shape, **info),
            "a": lite.constant(np.int32([1, 2])),
            "y": lite.Tensor("int8", (1, 3), **other),
        },
        {"x": x},
    )


def test_an_int8_sum_saturates(lite: Any) -> None:
    x = np.int8([[10, 20], [100, 120], [-3, 3]])
    model = lite.build(
        lite.Op("SUM", ["x", "a"]),
        {
            "x": lite.Tensor("int8", x.shape, scale=0.1),
            "a": lite.constant(np.int32([1])),
            "y": lite.Tensor("int8", (3,), scale=0.1, zero_point=5),
        },
    )
    assert lite.run(model, {"x": x})["y"].tolist() == [35, 127, 5]


@pytest.mark.parametrize("name", ["REDUCE_ANY", "REDUCE_ALL"])
def test_truth_values(lite: Any, name: str) -> None:
    x = np.array([[True, False], [True, True], [False, False]])
    tensors = {"a": lite.constant(np.int32([1])), "y": lite.Tensor("bool")}
    results = lite.check(lite.Op(name, ["x", "a"]), tensors, {"x": x})
    expected = [True, True, False] if name == "REDUCE_ANY" else [False, True, False]
    assert results["y"].tolist() == expected


@pytest.mark.parametrize("name", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_arg_min_max(lite: Any, rng: np.random.Generator, name: str, kind: str) -> None:
    options = {"outputType": 2 if kind == "int32" else 4}
    lite.check(
        lite.Op(name, ["x", "a"], options=options),
        {"a": lite.constant(np.array([-1], np.int32)), "y": lite.Tensor(kind)},
        {"x": rng.normal(size=(3, 5)).astype(np.float32)},
    )


def test_an_axis_that_is_none_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2, 3)),
        "a": lite.constant(np.int32([2])),
        "y": lite.Tensor("int32"),
    }
    with pytest.raises(ParseError, match="the axis 2 is not an axis of a tensor of rank 2"):
        parse(lite.build(lite.Op("ARG_MAX", ["x", "a"]), tensors))
    tensors["a"] = lite.constant(np.int32([0, 1]))
    with pytest.raises(ParseError, match="its input 1 has 2 elements: expected one"):
        parse(lite.build(lite.Op("ARG_MAX", ["x", "a"]), tensors))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_computed_axis_is_waited_for(lite: Any, rng: np.random.Generator, axis: int) -> None:
    tensors = {"y": lite.Tensor("int32")}
    feeds = {"x": rng.normal(size=(2, 3)).astype(np.float32), "a": np.int32([axis])}
    op = lite.Op("ARG_MAX", ["x", "a"], options={"outputType": 2})
    lite.check(op, tensors, feeds)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sum(
    lite: Any, rng: np.random.Generator, exclusive: bool, reverse: bool
) -> None:
    lite.check(
        lite.Op("CUMSUM", ["x", "a"], options={"exclusive": exclusive, "reverse": reverse}),
        {"a": lite.constant(np.int32(1))},
        {"x": rng.normal(size=(2, 5)).astype(np.float32)},
    )
