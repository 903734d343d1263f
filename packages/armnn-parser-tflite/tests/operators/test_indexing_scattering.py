# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


def _x(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


def test_segment_sum(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(4, 2)),
        "s": lite.constant(np.int32([0, 0, 2, 3])),
        "y": lite.Tensor(),
    }
    model = lite.build(lite.Op("SEGMENT_SUM", ["x", "s"]), tensors)  # no reference kernel has it
    results = lite.run(model, {"x": np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])})
    np.testing.assert_array_equal(results["y"], [[4, 6], [0, 0], [5, 6], [7, 8]])


@pytest.mark.parametrize("segments", [[1, 0], [-1, 0]])
def test_segments_out_of_order_are_refused(lite: Any, segments: list[int]) -> None:
    tensors = {"x": lite.Tensor(shape=(2,)), "s": lite.constant(np.int32(segments))}
    op = lite.Op("SEGMENT_SUM", ["x", "s"])
    with pytest.raises(ParseError, match="its segments are not in order"):
        parse(lite.build(op, tensors | {"y": lite.Tensor()}))


@pytest.mark.parametrize("kind", ["SUM", "PROD", "MAX", "MIN"])
@pytest.mark.parametrize("data_type", ["float32", "int32"])
def test_unsorted_segments(lite: Any, rng: np.random.Generator, kind: str, data_type: str) -> None:
    tensors = {
        "s": lite.constant(np.int32([2, 0, 2, 3, 0])),
        "n": lite.constant(np.int32([4])),
        "y": lite.Tensor(data_type),
    }
    x = (10 * _x(rng, 5, 2)).astype(data_type)
    lite.check(lite.Op(f"UNSORTED_SEGMENT_{kind}", ["x", "s", "n"]), tensors, {"x": x})


@pytest.mark.parametrize(
    ("segments", "error", "message"),
    [
        ([0, 4], ParseError, "in a segment beyond the 4"),
        ([0, -1], UnsupportedOperatorError, "some elements belong to none"),
    ],
)
def test_segments_that_are_not_there_are_refused(
    lite: Any, segments: list[int], error: type[ParseError], message: str
) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2,)),
        "s": lite.constant(np.int32(segments)),
        "n": lite.constant(np.int32([4])),
        "y": lite.Tensor(),
    }
    with pytest.raises(error, match=message):
        parse(lite.build(lite.Op("UNSORTED_SEGMENT_SUM", ["x", "s", "n"]), tensors))


def test_too_many_segments_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2,)),
        "s": lite.constant(np.int32([0, 1])),
        "n": lite.constant(np.int32([2**30])),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="it has 1073741824 segments of 1 elements"):
        parse(lite.build(lite.Op("UNSORTED_SEGMENT_SUM", ["x", "s", "n"]), tensors))


@pytest.mark.parametrize("start", [[1, 0], [0, 2], [-5, 7]])
@pytest.mark.parametrize("computed", [False, True])
def test_dynamic_update_slice(
    lite: Any, rng: np.random.Generator, start: list[int], computed: bool
) -> None:
    places = np.int32(start)
    feeds = {"x": _x(rng, 4, 5), "u": _x(rng, 2, 3)} | ({"s": places} if computed else {})
    tensors = {} if computed else {"s": lite.constant(places)}
    lite.check(lite.Op("DYNAMIC_UPDATE_SLICE", ["x", "u", "s"]), tensors, feeds)


def test_an_update_that_is_larger_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2, 2)),
        "u": lite.Tensor(shape=(3, 2)),
        "s": lite.constant(np.int32([0, 0])),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match=r"of shape \[3, 2\] does not fit into \[2, 2\]"):
        parse(lite.build(lite.Op("DYNAMIC_UPDATE_SLICE", ["x", "u", "s"]), tensors, ["x", "u"]))


@pytest.mark.parametrize(
    ("positions", "values"),
    [
        ([[0, 1], [2, 3]], [5.0, 6.0]),
        ([[0, 1], [2, 3]], 7.0),
    ],
)
def test_sparse_to_dense(lite: Any, positions: Any, values: Any) -> None:
    tensors = {
        "i": lite.constant(np.int32(positions)),
        "s": lite.constant(np.int32([3, 4])),
        "v": lite.constant(np.float32(values)),
    }
    op = lite.Op("SPARSE_TO_DENSE", ["i", "s", "v", "x"])
    lite.check(op, tensors, {"x": np.float32(-1.0)})


def test_positions_in_a_list_are_those_of_a_list(lite: Any) -> None:
    tensors = {
        "i": lite.constant(np.int32([3, 1])),
        "s": lite.constant(np.int32([5])),
        "v": lite.constant(np.float32([1, 2])),
    }
    op = lite.Op("SPARSE_TO_DENSE", ["i", "s", "v", "x"])
    results = lite.check(op, tensors, {"x": np.float32(0.5)})
    np.testing.assert_array_equal(results["y"], [0.5, 2, 0.5, 1, 0.5])
