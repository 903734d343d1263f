# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError
from armnn_parser_tflite.parser import parse


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenation(lite: Any, rng: np.random.Generator, axis: int) -> None:
    feeds = {name: rng.normal(size=(2, 2, 2)).astype(np.float32) for name in "ab"}
    lite.check(lite.Op("CONCATENATION", ["a", "b"], options={"axis": axis}), {}, feeds)


def test_uint8_parts_may_have_other_steps(lite: Any, rng: np.random.Generator) -> None:
    feeds = {name: rng.integers(0, 256, (2, 3)).astype(np.uint8) for name in "ab"}
    lite.check(
        lite.Op("CONCATENATION", ["a", "b"], options={"axis": 1}),
        {
            "a": lite.Tensor("uint8", (2, 3), scale=0.1, zero_point=10),
            "b": lite.Tensor("uint8", (2, 3), scale=0.03, zero_point=120),
            "y": lite.Tensor("uint8", (2, 6), scale=0.1, zero_point=10),
        },
        feeds,
    )


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_pack(lite: Any, rng: np.random.Generator, axis: int) -> None:
    feeds = {name: rng.normal(size=(2, 3)).astype(np.float32) for name in "ab"}
    options = {"axis": axis, "valuesCount": 2}
    lite.check(lite.Op("PACK", ["a", "b"], options=options), {}, feeds)


@pytest.mark.parametrize("axis", [0, -1])
def test_unpack(lite: Any, rng: np.random.Generator, axis: int) -> None:
    lite.check(
        lite.Op("UNPACK", ["x"], ["p", "q"], options={"axis": axis, "num": 2}),
        {},
        {"x": rng.normal(size=(2, 3, 2)).astype(np.float32)},
        ["p", "q"],
    )


def test_unpacked_parts_have_the_steps_that_the_file_says(lite: Any) -> None:
    model = lite.build(
        lite.Op("UNPACK", ["x"], ["p", "q"], options={"num": 2}),
        {
            "x": lite.Tensor("uint8", (2, 2), scale=1.0),
            "p": lite.Tensor("uint8", (2,), scale=0.5),
            "q": lite.Tensor("uint8", (2,), scale=0.25),
        },
        outputs=["p", "q"],
    )
    results = lite.run(model, {"x": np.uint8([[1, 2], [3, 4]])})
    assert [results["p"].tolist(), results["q"].tolist()] == [[2, 4], [12, 16]]


@pytest.mark.parametrize("axis", [0, -1])
def test_split(lite: Any, rng: np.random.Generator, axis: int) -> None:
    lite.check(
        lite.Op("SPLIT", ["a", "x"], ["p", "q"], options={"numSplits": 2}),
        {"a": lite.constant(np.int32(axis))},
        {"x": rng.normal(size=(4, 3, 2)).astype(np.float32)},
        ["p", "q"],
    )


@pytest.mark.parametrize("sizes", [[1, 3], [3, -1]])
def test_split_v(lite: Any, rng: np.random.Generator, sizes: list[int]) -> None:
    lite.check(
        lite.Op("SPLIT_V", ["x", "s", "a"], ["p", "q"], options={"numSplits": 2}),
        {"s": lite.constant(np.int32(sizes)), "a": lite.constant(np.int32(1))},
        {"x": rng.normal(size=(2, 4)).astype(np.float32)},
        ["p", "q"],
    )


def test_unequal_parts_are_refused(lite: Any) -> None:
    tensors = {
        "a": lite.constant(np.int32(0)),
        "x": lite.Tensor(shape=(3,)),
        "p": lite.Tensor(),
        "q": lite.Tensor(),
    }
    model = lite.build(lite.Op("SPLIT", ["a", "x"], ["p", "q"]), tensors, outputs=["p"])
    with pytest.raises(ParseError, match="an axis of 3 elements cannot become 2 equal parts"):
        parse(model)


@pytest.mark.parametrize("name", ["SPLIT", "SPLIT_V"])
def test_parts_wait_for_the_size_of_the_axis(lite: Any, name: str) -> None:
    tensors = {
        "a": lite.constant(np.int32(0)),
        "s": lite.constant(np.int32([1, -1])),
        "x": lite.Tensor(shape=(1,), signature=(-1,)),
    }
    inputs = ["a", "x"] if name == "SPLIT" else ["x", "s", "a"]
    x = np.arange(6, dtype=np.float32)
    op = lite.Op(name, inputs, ["p", "q"], options={"numSplits": 2})
    lite.check(op, tensors, {"x": x}, ["p", "q"])


def test_parts_below_zero_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(3,)),
        "s": lite.constant(np.int32([5, -2])),
        "a": lite.constant(np.int32(0)),
        "p": lite.Tensor(),
        "q": lite.Tensor(),
    }
    model = lite.build(lite.Op("SPLIT_V", ["x", "s", "a"], ["p", "q"]), tensors, outputs=["p"])
    with pytest.raises(ParseError, match=r"it splits into parts of \[5, -2\] elements"):
        parse(model)
