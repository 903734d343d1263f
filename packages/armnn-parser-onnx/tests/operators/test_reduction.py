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
X = np.array([[[1.5, 2], [3, 0.25]], [[5, 6], [7, 8]], [[0.5, 1], [1, 2]]], np.float32)
REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
]  # fmt: skip


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [None, [0], [-1, 0], [0, 1, 2]])
def test_axes_as_an_attribute(
    check: Callable[..., Any], op_type: str, keepdims: int, axes: list[int] | None
) -> None:
    attributes = {} if axes is None else {"axes": axes}
    made = node(op_type, ["x"], ["y"], keepdims=keepdims, **attributes)
    check(made, {"x": X}, opset=11, dynamic=True)


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[0], [-1, 0], [0, 1, 2]])
@pytest.mark.parametrize("constant", [True, False])
def test_axes_as_an_input(
    check: Callable[..., Any], op_type: str, keepdims: int, axes: list[int], constant: bool
) -> None:
    given = {"a": np.array(axes, np.int64)}
    inputs = {"x": X} if constant else {"x": X, **given}
    made = node(op_type, ["x", "a"], ["y"], keepdims=keepdims)
    check(made, inputs, constants=given if constant else {}, opset=18)


@pytest.mark.parametrize("noop", [0, 1])
@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceSumSquare"])
def test_no_axes_are_all_axes_or_none(check: Callable[..., Any], op_type: str, noop: int) -> None:
    for constants in ({}, {"a": np.zeros(0, np.int64)}):
        made = node(op_type, ["x", *constants], ["y"], noop_with_empty_axes=noop)
        check(made, {"x": X}, constants=constants, opset=18)


def test_log_sum_exp_neither_overflows_nor_loses_infinities(
    run: Callable[..., Any], model: Model
) -> None:
    x = np.array([[1000, 1000], [-np.inf, -np.inf], [np.inf, 0], [-2000, -2000]], np.float32)
    made = model(
        node("ReduceLogSumExp", ["x", "a"], ["y"], keepdims=0),
        {"x": x},
        constants={"a": np.array([1])},
        opset=18,
    )
    (y,) = run(made, {"x": x})
    np.testing.assert_allclose(y, [1000 + np.log(2), -np.inf, np.inf, -2000 + np.log(2)], rtol=1e-6)


def test_extrema_of_booleans(check: Callable[..., Any]) -> None:
    x = np.array([[True, False], [True, True]])
    axes = {"a": np.array([1])}
    for op_type in ("ReduceMax", "ReduceMin"):
        check(node(op_type, ["x", "a"], ["y"]), {"x": x}, constants=axes, opset=20)


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceL1"])
def test_integers_of_64_bits_are_exact(run: Callable[..., Any], model: Model, op_type: str) -> None:
    x = np.array([[2**60 + 1, 1], [-(2**60) - 1, -1]], np.int64)
    expected = {
        "ReduceSum": [2**60 + 2, -(2**60) - 2],
        "ReduceProd": [2**60 + 1, 2**60 + 1],
        "ReduceMax": [2**60 + 1, -1],
        "ReduceL1": [2**60 + 2, 2**60 + 2],
    }
    made = model(
        node(op_type, ["x", "a"], ["y"], keepdims=0),
        {"x": x},
        constants={"a": np.array([1])},
        opset=18,
    )
    assert run(made, {"x": x})[0].tolist() == expected[op_type]


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, -1, 1])
def test_positions_of_extrema(
    check: Callable[..., Any], op_type: str, keepdims: int, last: int, axis: int
) -> None:
    x = np.array([[3, 1, 3, 1], [2, 2, 0, 0], [3, 0, 0, 3]], np.float32)
    made = node(op_type, ["x"], ["y"], keepdims=keepdims, select_last_index=last, axis=axis)
    check(made, {"x": x}, opset=12)


@pytest.mark.parametrize(
    ("made", "shape", "message"),
    [
        (node("ReduceSum", ["x", "a"], ["y"]), [2, 2], r"axes \[0, -2\] name an axis twice"),
        (node("ReduceSum", ["x", "b"], ["y"]), [2, 2], "the axis 5 is not an axis of a tensor"),
        (node("ArgMax", ["x"], ["y"]), [], "its input is a scalar, which has no axis"),
        (node("ReduceSum", ["x"], ["y"], keepdims=3), [2], "'keepdims' is 3: expected 0 or 1"),
    ],
)
def test_what_cannot_be_reduced_is_refused(
    model: Model, made: onnx.NodeProto, shape: list[Any], message: str
) -> None:
    constants = {"a": np.array([0, -2]), "b": np.array([5])}
    with pytest.raises(ParseError, match=message):
        parse(model(made, {"x": (1, shape)}, constants=constants).SerializeToString())


def test_logarithms_of_integers_are_refused(model: Model) -> None:
    made = model(node("ReduceLogSum", ["x"], ["y"]), {"x": np.zeros(3, np.int64)})
    with pytest.raises(ParseError, match="no layer computes the logarithm of integers"):
        parse(made.SerializeToString())
