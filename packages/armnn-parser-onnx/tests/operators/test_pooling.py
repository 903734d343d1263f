# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]


def compare(
    model: Model, run: Callable[..., Any], op_type: str, x: np.ndarray, **kwargs: Any
) -> None:
    opset = kwargs.pop("opset", 12)
    made = model(
        node(op_type, ["x"], ["y"], **kwargs), {"x": x}, opset=opset, output_types={"y": 1}
    )
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    (result,) = run(made, {"x": x})
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 3, 7, 6), {"kernel_shape": [3, 2]}),
        ((1, 3, 7, 6), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
        ((1, 1, 7, 7), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 1, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 1, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "VALID"}),
        ((1, 1, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        (
            (1, 1, 7, 7),
            {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
        ),
        ((2, 3, 9), {"kernel_shape": [3], "strides": [2], "pads": [0, 1]}),
        ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [1, 2, 2]}),
    ],
)
def test_poolings(
    model: Model,
    run: Callable[..., Any],
    rng: np.random.Generator,
    op_type: str,
    shape: tuple[int, ...],
    attributes: dict[str, Any],
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    compare(model, run, op_type, x, **attributes)


@pytest.mark.parametrize("included", [0, 1])
def test_padding_counts_in_the_average_as_the_node_says(
    model: Model, run: Callable[..., Any], rng: np.random.Generator, included: int
) -> None:
    x = rng.standard_normal((1, 2, 5, 5)).astype(np.float32)
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": included}
    compare(model, run, "AveragePool", x, opset=7, **attributes)


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_global_poolings(
    model: Model,
    run: Callable[..., Any],
    rng: np.random.Generator,
    op_type: str,
    shape: tuple[int, ...],
) -> None:
    compare(model, run, op_type, rng.standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("p", [1, 2])
def test_norms_of_windows(
    model: Model, run: Callable[..., Any], rng: np.random.Generator, p: int
) -> None:
    x = rng.standard_normal((1, 2, 6, 6)).astype(np.float32)
    compare(model, run, "LpPool", x, p=p, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 1])
    compare(model, run, "GlobalLpPool", x, p=p)


def test_global_pooling_needs_no_size(model: Model) -> None:
    made = model(node("GlobalAveragePool", ["x"], ["y"]), {"x": (1, ["N", 3, None, None])})
    (output,) = parse(made.SerializeToString()).outputs
    assert output.input_infos[0].shape == ("N", 3, 1, 1)


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("MaxPool", {"kernel_shape": [2]}, "a window of 1 axes cannot slide over an input of 2"),
        ("MaxPool", {"kernel_shape": [0, 2]}, "'kernel_shape' is .*each at least 1"),
        ("LpPool", {"kernel_shape": [2, 2], "p": 0}, "'p' is 0: expected at least 1"),
        ("LpPool", {"kernel_shape": [2, 2], "ceil_mode": 1}, "smaller than the others"),
        ("GlobalLpPool", {"p": -1}, "'p' is -1: expected at least 1"),
    ],
)
def test_what_no_layer_computes_is_refused(
    model: Model, op_type: str, attributes: dict[str, Any], message: str
) -> None:
    made = model(
        node(op_type, ["x"], ["y"], **attributes), {"x": np.zeros((1, 1, 4, 4), np.float32)}
    )
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())


@pytest.mark.parametrize(
    ("op_type", "shape", "attributes"),
    [("MaxPool", (2, 3), {"kernel_shape": [1]}), ("GlobalMaxPool", (3,), {})],
)
def test_inputs_that_are_no_images_are_refused(
    model: Model, op_type: str, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    made = model(node(op_type, ["x"], ["y"], **attributes), {"x": np.zeros(shape, np.float32)})
    with pytest.raises(ParseError, match="the input has rank"):
        parse(made.SerializeToString())
