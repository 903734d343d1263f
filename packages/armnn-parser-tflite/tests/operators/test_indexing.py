# SPDX-License-Identifier: MIT
"""Elements are chosen and scattered by position as LiteRT does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse


def _x(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_gather(lite: Any, rng: np.random.Generator, axis: int, kind: str) -> None:
    tensors = {"i": lite.constant(np.array([[0, 2], [1, 1]], kind))}
    lite.check(
        lite.Op("GATHER", ["x", "i"], options={"axis": axis}), tensors, {"x": _x(rng, 3, 3, 4)}
    )


@pytest.mark.parametrize(
    ("axis", "batches", "places"),
    [
        (1, 1, (2, 4)),
        (1, 1, (2,)),
        (2, 1, (2, 2, 2)),
        (2, 2, (2, 3, 5)),
        (3, 1, (2, 2)),
        (1, -1, (2, 3)),
    ],
)
def test_gather_by_batches(
    lite: Any, rng: np.random.Generator, axis: int, batches: int, places: tuple[int, ...]
) -> None:
    x = _x(rng, 2, 3, 4, 5)
    tensors = {"i": lite.constant(rng.integers(0, x.shape[axis], places).astype(np.int32))}
    op = lite.Op("GATHER", ["x", "i"], options={"axis": axis, "batchDims": batches}, version=5)
    lite.check(op, tensors, {"x": x})


@pytest.mark.parametrize(
    ("axis", "batches", "places"), [(0, 1, (2, 1)), (1, 1, (3, 1)), (1, 2, (2,))]
)
def test_gather_by_batches_that_do_not_fit_is_refused(
    lite: Any, axis: int, batches: int, places: tuple[int, ...]
) -> None:
    tensors = {
        "x": lite.Tensor(shape=(2, 3)),
        "i": lite.constant(np.zeros(places, np.int32)),
        "y": lite.Tensor(),
    }
    op = lite.Op("GATHER", ["x", "i"], options={"axis": axis, "batchDims": batches})
    with pytest.raises(ParseError, match=r"batch axes do not fit the shapes \[2, 3\]"):
        parse(lite.build(op, tensors))


def test_gather_by_batches_waits_for_their_number(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"x": lite.Tensor(shape=(1, 3), signature=(-1, 3))}
    tensors["i"] = lite.Tensor("int32", (1, 2), signature=(-1, 2))
    op = lite.Op("GATHER", ["x", "i"], options={"axis": 1, "batchDims": 1}, version=5)
    feeds = {"x": _x(rng, 4, 3), "i": rng.integers(0, 3, (4, 2)).astype(np.int32)}
    lite.check(op, tensors, feeds)


def test_embedding_lookup(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"v": lite.constant(_x(rng, 5, 3))}
    lite.check(lite.Op("EMBEDDING_LOOKUP", ["x", "v"]), tensors, {"x": np.int32([4, 0])})


def test_int8_embeddings_are_real(lite: Any) -> None:
    tensors = {"v": lite.constant(np.int8([[1, 2], [3, 4]]), scale=0.5)}
    op = lite.Op("EMBEDDING_LOOKUP", ["x", "v"], version=2)
    results = lite.check(op, tensors, {"x": np.int32([1])})
    assert results["y"].tolist() == [[1.5, 2.0]]


def test_gather_nd(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"i": lite.constant(np.int32([[0, 1], [2, 0]]))}
    lite.check(lite.Op("GATHER_ND", ["x", "i"]), tensors, {"x": _x(rng, 3, 2, 4)})


def test_scattered_updates_add_up(lite: Any) -> None:
    tensors = {
        "i": lite.constant(np.int32([[0], [2], [0]])),
        "s": lite.constant(np.int32([4])),
    }
    op = lite.Op("SCATTER_ND", ["i", "x", "s"])
    results = lite.check(op, tensors, {"x": np.float32([1, 2, 3])})
    assert results["y"].tolist() == [4, 0, 2, 0]


def test_slice(lite: Any, rng: np.random.Generator) -> None:
    tensors = {"b": lite.constant(np.int32([1, 0])), "s": lite.constant(np.int32([-1, 2]))}
    lite.check(lite.Op("SLICE", ["x", "b", "s"]), tensors, {"x": _x(rng, 3, 4)})


@pytest.mark.parametrize(
    ("begin", "end", "stride", "masks"),
    [
        ((0, 1), (2, 4), (1, 2), {}),
        ((-1, -1), (-4, -5), (-1, -2), {}),
        ((1, 1), (2, 2), (1, 1), {"beginMask": 1, "endMask": 2}),
        ((1, 1), (2, 3), (1, 1), {"shrinkAxisMask": 1}),
        ((0, 1, 0), (0, 3, 0), (1, 1, 1), {"newAxisMask": 1, "beginMask": 4, "endMask": 4}),
        ((0, 1), (0, 3), (1, 1), {"ellipsisMask": 1}),
    ],
)
def test_strided_slice(
    lite: Any,
    rng: np.random.Generator,
    begin: tuple[int, ...],
    end: tuple[int, ...],
    stride: tuple[int, ...],
    masks: dict[str, int],
) -> None:
    tensors = {
        name: lite.constant(np.int32(numbers))
        for name, numbers in zip("bes", (begin, end, stride), strict=True)
    }
    op = lite.Op("STRIDED_SLICE", ["x", "b", "e", "s"], options=masks)
    lite.check(op, tensors, {"x": _x(rng, 3, 4)})


def test_an_end_may_be_counted_from_the_begin(lite: Any, rng: np.random.Generator) -> None:
    tensors = {
        "b": lite.constant(np.int32([1])),
        "e": lite.constant(np.int32([2])),
        "s": lite.constant(np.int32([1])),
    }
    op = lite.Op("STRIDED_SLICE", ["x", "b", "e", "s"], options={"offset": True}, version=4)
    x = _x(rng, 5)
    np.testing.assert_array_equal(lite.check(op, tensors, {"x": x})["y"], x[1:3])


def test_where_finds_rows_of_indices(lite: Any) -> None:
    x = np.array([[True, False, True], [False, False, True]])
    results = lite.check(lite.Op("WHERE", ["x"]), {"y": lite.Tensor("int64")}, {"x": x})
    assert results["y"].tolist() == [[0, 0], [0, 2], [1, 2]]


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(lite: Any, axis: int) -> None:
    tensors = {
        "d": lite.constant(np.int32(4)),
        "on": lite.constant(np.float32(5)),
        "off": lite.constant(np.float32(-1)),
    }
    op = lite.Op("ONE_HOT", ["x", "d", "on", "off"], options={"axis": axis})
    lite.check(op, tensors, {"x": np.int32([[0, 3], [7, -1]])})


@pytest.mark.parametrize("k", [1, 3])
def test_top_k(lite: Any, rng: np.random.Generator, k: int) -> None:
    tensors = {"k": lite.constant(np.int32(k)), "i": lite.Tensor("int32")}
    op = lite.Op("TOPK_V2", ["x", "k"], ["y", "i"])
    lite.check(op, tensors, {"x": _x(rng, 2, 7)}, ["y", "i"])


@pytest.mark.parametrize("kind", ["float32", "int32"])
@pytest.mark.parametrize("places", ["int32", "int64"])
def test_unique(lite: Any, kind: str, places: str) -> None:
    number = {"int32": 2, "int64": 4}[places]
    op = lite.Op("UNIQUE", ["x"], ["y", "z"], options={"idxOutType": number})
    tensors = {"y": lite.Tensor(kind), "z": lite.Tensor(places)}
    lite.check(op, tensors, {"x": np.array([3, 1, 3, 2, 1, 7], kind)}, ["y", "z"])


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
        ([0, 4], ParseError, "a segment number is not below 4"),
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
