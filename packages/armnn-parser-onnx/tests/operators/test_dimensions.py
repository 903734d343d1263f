# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.zeros((2, 3, 5), np.float32)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("attributes", [{}, {"start": 1}, {"end": -1}, {"start": -2, "end": 9}])
def test_shapes(check: Callable[..., Any], attributes: dict[str, int], dynamic: bool) -> None:
    check(node("Shape", ["x"], ["y"], **attributes), {"x": X}, opset=15, dynamic=dynamic)


def test_an_empty_part_of_a_shape(check: Callable[..., Any]) -> None:
    check(node("Shape", ["x"], ["y"], start=2, end=1), {"x": X})


@pytest.mark.parametrize("shape", [(2, 3, 5), (), (0, 4)])
def test_sizes(check: Callable[..., Any], shape: tuple[int, ...]) -> None:
    check(node("Size", ["x"], ["y"]), {"x": np.zeros(shape, np.float32)})


@pytest.mark.parametrize("value", [None, np.float32(1.5), np.int64(2**53 + 1), np.bool_(True)])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [[2, 3], [], [0, 2]])
def test_constants_of_a_shape(
    check: Callable[..., Any], value: Any, constant: bool, shape: list[int]
) -> None:
    attributes = {}
    if value is not None:
        attributes["value"] = numpy_helper.from_array(np.array([value]))
    given = {"s": np.array(shape, np.int64)}
    made = node("ConstantOfShape", ["s"], ["y"], **attributes)
    check(made, {} if constant else given, constants=given if constant else {})


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ((0, 5, 2), np.int64),
        ((5, 0, -2), np.int32),
        ((3, 3, 1), np.int64),
        ((0, 4, -1), np.int64),
        ((0.5, 2, 0.5), np.float32),
    ],
)
def test_constant_ranges(check: Callable[..., Any], numbers: tuple[Any, ...], dtype: type) -> None:
    constants = dict(zip("bed", (np.array(number, dtype) for number in numbers), strict=True))
    check(node("Range", ["b", "e", "d"], ["y"]), {}, constants=constants)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (node("ConstantOfShape", ["m"], ["y"]), r"has shape \[1,1\]: expected up to 8 numbers"),
        (
            node("ConstantOfShape", ["n"], ["y"]),
            r"\(ConstantOfShape\): .*is \[-1\]: expected a shape",
        ),
        (
            node("ConstantOfShape", ["n"], ["y"], value=numpy_helper.from_array(np.zeros(2))),
            "the attribute 'value' has 2 elements, expected one",
        ),
        (node("Range", ["two", "one", "one"], ["y"]), "must have one element each"),
        (node("Range", ["one", "one", "zero"], ["y"]), "must be finite and delta not 0"),
        (node("Range", ["zero", "big", "one"], ["y"]), "its 1099511627776 elements are more than"),
    ],
)
def test_what_makes_no_tensor_is_refused(model: Model, made: onnx.NodeProto, message: str) -> None:
    constants = {
        "m": np.array([[1]]),
        "n": np.array([-1]),
        "zero": np.array(0),
        "one": np.array(1),
        "two": np.array([1, 2]),
        "big": np.array(2**40),
    }
    with pytest.raises(ParseError, match=message):
        parse(model(made, {"x": np.array(1)}, constants=constants).SerializeToString())
