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
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
END = np.iinfo(np.int64).max
BEGIN = np.iinfo(np.int64).min


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [1, [0, -1], [[0], [1]], np.zeros((0,), np.int64)])
@pytest.mark.parametrize("constant", [True, False])
def test_gather(check: Callable[..., Any], axis: int, indices: Any, constant: bool) -> None:
    given = {"i": np.asarray(indices, np.int64)}
    inputs = {"x": X} if constant else {"x": X, **given}
    made = node("Gather", ["x", "i"], ["y"], axis=axis)
    check(made, inputs, constants=given if constant else {}, dynamic=constant)


def test_gather_nd(check: Callable[..., Any]) -> None:
    for indices in ([[0, 1], [1, -1]], [[1]], [[[0, 0, 3]], [[1, 2, 0]]]):
        check(node("GatherND", ["x", "i"], ["y"]), {"x": X, "i": np.array(indices)})


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd(check: Callable[..., Any], reduction: str) -> None:
    updates = np.full((2, 4), 5.0, np.float32)
    inputs = {"x": X, "i": np.array([[0, 1], [1, 2]]), "u": updates}
    check(node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction), inputs, opset=18)


def test_non_zero_elements_are_found(run: Callable[..., Any], model: Model) -> None:
    x = np.array([[1, 0], [np.nan, 2]], np.float32)
    (y,) = run(model(node("NonZero", ["x"], ["y"]), {"x": x}), {"x": x})
    assert y.tolist() == [[0, 1, 1], [0, 0, 1]]


SLICES = [
    ([0, 1], [1, 3], [0, 1], [1, 1]),
    ([-1], [END], [2], [1]),
    ([1], [-1], [1], [1]),
    ([5], [9], [0], [1]),
    ([-100], [100], [2], [2]),
    ([-1], [BEGIN], [2], [-1]),
    ([-1, END], [-4, 0], [-1, 1], [-2, -1]),
    ([1], [2**31 - 1], [0], [1]),
    ([0, 0, 0], [1, 2, 3], [2, 0, 1], [1, 1, 1]),
]


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
@pytest.mark.parametrize("dynamic", [True, False])
def test_slices_by_inputs(
    check: Callable[..., Any], starts: Any, ends: Any, axes: Any, steps: Any, dynamic: bool
) -> None:
    names = {"b": starts, "e": ends, "a": axes, "s": steps}
    constants = {name: np.array(data, np.int64) for name, data in names.items()}
    check(node("Slice", ["x", *constants], ["y"]), {"x": X}, constants=constants, dynamic=dynamic)


@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
def test_slices_between_computed_positions(
    check: Callable[..., Any], starts: Any, ends: Any, axes: Any, steps: Any
) -> None:
    inputs = {"x": X, "b": np.array(starts, np.int64), "e": np.array(ends, np.int64)}
    constants = {"a": np.array(axes, np.int64), "s": np.array(steps, np.int64)}
    check(node("Slice", ["x", "b", "e", "a", "s"], ["y"]), inputs, constants=constants)


@pytest.mark.parametrize("constant", [True, False])
def test_slices_without_axes(check: Callable[..., Any], constant: bool) -> None:
    given = {"b": np.array([0, 1, 1], np.int32), "e": np.array([2, 3, -1], np.int32)}
    inputs = {"x": X} if constant else {"x": X, **given}
    check(node("Slice", ["x", "b", "e"], ["y"]), inputs, constants=given if constant else {})


@pytest.mark.parametrize("axes", [None, [1, -1]])
def test_slices_by_attributes(
    run: Callable[..., Any], model: Model, axes: list[int] | None
) -> None:
    attributes = {} if axes is None else {"axes": axes}
    made = node("Slice", ["x"], ["y"], starts=[0, -2], ends=[END, -1], **attributes)
    (y,) = run(model(made, {"x": X}, opset=9), {"x": X})
    np.testing.assert_array_equal(y, X[:, -2:-1] if axes is None else X[:, :, -2:-1])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_one_hot(check: Callable[..., Any], axis: int, dtype: type) -> None:
    constants = {"d": np.array(3), "v": np.array([-1, 2], np.float32)}
    x = np.array([[0, 2], [-1, 5]], dtype)
    check(node("OneHot", ["x", "d", "v"], ["y"], axis=axis), {"x": x}, constants=constants)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            node("Gather", ["x", "i"], ["y"], axis=3),
            "the axis 3 is not an axis of a tensor of rank 3",
        ),
        (node("GatherND", ["x", "i"], ["y"], batch_dims=1), "'batch_dims' is 1: expected less"),
        (
            node("ScatterND", ["x", "i", "x"], ["y"], reduction="or"),
            "'reduction' is 'or': expected",
        ),
        (node("Slice", ["x", "i", "two"], ["y"]), "got 1 starts, 2 ends, 1 axes and 1 steps"),
        (node("Slice", ["x", "two", "two", "zz"], ["y"]), r"the axes \[0, 0\] name an axis twice"),
        (node("Slice", ["x", "i", "i", "i", "z"], ["y"]), r"\(Slice\): .*'stride'.*expected no 0"),
        (node("Slice", ["x", "g", "i", "i", "two"], ["y"]), "got 2 steps for 1 axes"),
        (
            node("OneHot", ["i", "two", "v"], ["y"]),
            "the input 'depth' has 2 elements: expected one",
        ),
        (node("OneHot", ["i", "big", "v"], ["y"]), "the depth is 1073741824: expected 0 to"),
    ],
)
def test_what_cannot_be_indexed_is_refused(
    model: Model, made: onnx.NodeProto, message: str
) -> None:
    constants = {
        "i": np.array([1]),
        "two": np.array([0, 1]),
        "z": np.array([0]),
        "zz": np.array([0, 0]),
        "big": np.array(2**30),
        "v": np.array([0, 1]),
    }
    given = {"x": X, "g": np.array([1]), "h": (onnx.TensorProto.INT64, [None])}
    with pytest.raises(ParseError, match=message):
        parse(model(made, given, constants=constants).SerializeToString())
