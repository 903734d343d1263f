# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.arange(12, dtype=np.float32).reshape(2, 6)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dynamic", [True, False])
def test_concat(check: Callable[..., Any], axis: int, dynamic: bool) -> None:
    other = X[:, :2] if axis else X[:1]
    made = node("Concat", ["a", "b", "a"], ["y"], axis=axis)
    check(made, {"a": X, "b": other}, dynamic=dynamic)


def test_concat_of_one_is_no_layer(model: Model) -> None:
    made = model(node("Concat", ["x"], ["y"], axis=0), {"x": X})
    assert [layer.type for layer in parse(made.SerializeToString()).layers] == ["Input", "Output"]


@pytest.mark.parametrize("opset", [7, 13, 18])
@pytest.mark.parametrize("sizes", [None, [1, 2, 3], [0, 6, 0]])
def test_split(check: Callable[..., Any], opset: int, sizes: list[int] | None) -> None:
    outputs, constants, attributes = ["a", "b", "c"], {}, {"axis": 1}
    if sizes is not None and opset == 7:
        attributes["split"] = sizes
    elif sizes is not None:
        constants["s"] = np.array(sizes, np.int64)
    elif opset == 18:
        attributes["num_outputs"] = 3
    made = node("Split", ["x", *constants], outputs, **attributes)
    check(made, {"x": X}, outputs, constants, opset=opset)
    if sizes is not None:
        check(made, {"x": X}, outputs, constants, opset=opset, dynamic=True)


def test_the_last_part_may_be_smaller(check: Callable[..., Any]) -> None:
    outputs = ["a", "b", "c", "d"]
    check(node("Split", ["x"], outputs, num_outputs=4, axis=-1), {"x": X[:, :5]}, outputs)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            node("Concat", ["x", "y"], ["a"], axis=2),
            "the axis 2 is not an axis of a tensor of rank",
        ),
        (node("Concat", ["x", "y"], ["a"], axis=1), r"\(Concat\): .*\[2,6\]"),
        (node("Split", ["x"], ["a", "b"], num_outputs=3), "'num_outputs' is 3, but there are 2"),
        (node("Split", ["x", "s"], ["a", "b"]), r"\(Split\): .*add up to 6, but"),
        (node("Split", ["x", "s"], ["a", "b", "c"], axis=1), "are not as many as the outputs, 3"),
    ],
)
def test_what_does_not_fit_is_refused(model: Model, made: onnx.NodeProto, message: str) -> None:
    given = {"x": X, "y": X[:1], "x2": np.array([1, 5]), "u": (1, [None, 6])}
    constants = {"s": np.array([2, 4])}
    with pytest.raises(ParseError, match=message):
        parse(model(made, given, ["a"], constants).SerializeToString())


def test_unequal_parts_are_refused_before_opset_18(model: Model) -> None:
    made = model(node("Split", ["x"], ["a", "b", "c", "d"], axis=1), {"x": X}, ["a"], opset=13)
    with pytest.raises(ParseError, match="6 elements cannot be split into 4 equal parts"):
        parse(made.SerializeToString())
