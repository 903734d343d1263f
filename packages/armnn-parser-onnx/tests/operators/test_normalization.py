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


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (2, 3, 4), (1, 3, 2, 2, 2)])
@pytest.mark.parametrize("constant", [True, False])
def test_batch_normalization(
    run: Callable[..., Any],
    model: Model,
    rng: np.random.Generator,
    opset: int,
    shape: tuple[int, ...],
    constant: bool,
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    numbers = {name: rng.uniform(0.5, 2, 3).astype(np.float32) for name in "sbmv"}
    inputs = {"x": x} if constant else {"x": x, **numbers}
    made = model(
        node("BatchNormalization", ["x", *numbers], ["y"], epsilon=0.01),
        inputs,
        constants=numbers if constant else {},
        opset=opset,
    )
    (y,) = run(made, inputs)
    # onnx.reference forgets epsilon before opset 14, so the formula stands here.
    s, b, m, v = (data.reshape(3, *(1,) * (len(shape) - 2)) for data in numbers.values())
    np.testing.assert_allclose(y, s * (x - m) / np.sqrt(v + 0.01) + b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 7), (1, 3, 2, 3, 4)])
@pytest.mark.parametrize("uniform", [True, False])
def test_instance_normalization(
    check: Callable[..., Any], rng: np.random.Generator, shape: tuple[int, ...], uniform: bool
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    numbers = {"s": rng.uniform(0.5, 2, 3), "b": rng.uniform(0.5, 2, 3)}
    if uniform:
        numbers = {"s": np.full(3, 2.0), "b": np.full(3, -1.0)}
    numbers = {name: data.astype(np.float32) for name, data in numbers.items()}
    instance = node("InstanceNormalization", ["x", *numbers], ["y"])
    for dynamic in (False, True):
        check(instance, {"x": x}, constants=numbers, dynamic=dynamic, rtol=1e-4, atol=1e-5)


def test_group_normalization(check: Callable[..., Any], rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 6, 4, 3)).astype(np.float32)
    numbers = {name: rng.uniform(0.5, 2, 6).astype(np.float32) for name in ("s", "b")}
    group = node("GroupNormalization", ["x", *numbers], ["y"], num_groups=3)
    for dynamic in (True, False):
        check(group, {"x": x}, constants=numbers, dynamic=dynamic, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_layer_normalization(
    check: Callable[..., Any], rng: np.random.Generator, axis: int
) -> None:
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    numbers = {name: rng.uniform(0.5, 2, x.shape[axis:]).astype(np.float32) for name in ("s", "b")}
    layer = node("LayerNormalization", ["x", *numbers], ["y", "m", "i"], axis=axis)
    check(layer, {"x": x}, ["y", "m", "i"], numbers, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [1, 2])
def test_a_norm_of_zero_leaves_zero(run: Callable[..., Any], model: Model, p: int) -> None:
    x = np.array([[3, -4], [0, 0]], np.float32)
    (y,) = run(model(node("LpNormalization", ["x"], ["y"], p=p, axis=1), {"x": x}), {"x": x})
    size = {1: 7, 2: 5}[p]
    np.testing.assert_allclose(y, [[3 / size, -4 / size], [0, 0]], rtol=1e-6)


@pytest.mark.parametrize("shape", [(2, 7, 3, 3), (2, 7, 4), (1, 2, 3, 3)])
def test_local_response_normalization(
    run: Callable[..., Any], model: Model, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    made = model(node("LRN", ["x"], ["y"], size=5, alpha=0.2, beta=0.5, bias=2.0), {"x": x})
    (y,) = run(made, {"x": x})
    # onnx.reference computes as many channels as there are images, so the formula stands here.
    for channel in range(shape[1]):
        total = np.sum(x[:, max(channel - 2, 0) : channel + 3] ** 2, axis=1)
        expected = x[:, channel] / (2 + 0.2 / 5 * total) ** 0.5
        np.testing.assert_allclose(y[:, channel], expected, rtol=1e-5)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_along_an_axis(
    check: Callable[..., Any], rng: np.random.Generator, op_type: str, axis: int, dynamic: bool
) -> None:
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    check(node(op_type, ["x"], ["y"], axis=axis), {"x": x}, dynamic=dynamic)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("opset", [7, 11])
def test_old_softmax_takes_all_axes_from_one_on(
    run: Callable[..., Any],
    model: Model,
    rng: np.random.Generator,
    op_type: str,
    axis: int | None,
    dynamic: bool,
    opset: int,
) -> None:
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    shape = ["N", None, "K"] if dynamic else x.shape
    attributes = {} if axis is None else {"axis": axis}
    made = model(node(op_type, ["x"], ["y"], **attributes), {"x": (1, shape)}, opset=opset)
    first = 1 if axis is None else axis
    matrix = x.reshape(int(np.prod(x.shape[:first])), -1).astype(np.float64)
    expected = np.exp(matrix) / np.exp(matrix).sum(1, keepdims=True)
    expected = (np.log(expected) if op_type == "LogSoftmax" else expected).reshape(x.shape)
    (y,) = run(made, {"x": x})
    np.testing.assert_allclose(y, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (node("BatchNormalization", ["x", *"cccc"], ["y"], training_mode=1), "in training mode"),
        (node("InstanceNormalization", ["v", "c", "c"], ["y"]), "the input has rank 2: expected"),
        (node("LRN", ["x"], ["y"], size=4), "its window has 4 channels, expected an odd"),
        (node("LRN", ["x"], ["y"], size=0), "'size' is 0: expected at least 1"),
        (node("LRN", ["v"], ["y"], size=3), "the input has rank 2: expected"),
        (node("LpNormalization", ["x"], ["y"], p=3), "'p' is 3: expected 1 or 2"),
        (node("LayerNormalization", ["x", "c"], ["y"], stash_type=11), "another type than float32"),
        (node("GroupNormalization", ["x", "c", "c"], ["y"], num_groups=0), "'num_groups' is 0"),
        (node("Softmax", ["x"], ["y"], axis=4), "the axis 4 is not an axis of a tensor of rank 4"),
    ],
)
def test_what_cannot_be_computed_is_refused(
    model: Model, made: onnx.NodeProto, message: str
) -> None:
    given = {"x": np.zeros((1, 3, 2, 2), np.float32), "v": np.zeros((1, 3), np.float32)}
    with pytest.raises(ParseError, match=message):
        parse(model(made, given, constants={"c": np.ones(3, np.float32)}).SerializeToString())


def test_statistics_per_element_are_refused(model: Model) -> None:
    made = node("BatchNormalization", ["x", *"cccc"], ["y"], spatial=0)
    given = {"x": np.zeros((1, 3, 2, 2), np.float32)}
    with pytest.raises(ParseError, match=r"statistics per element \(spatial=0\)"):
        parse(
            model(made, given, constants={"c": np.ones(3, np.float32)}, opset=7).SerializeToString()
        )
