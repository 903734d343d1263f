# SPDX-License-Identifier: MIT
"""Convolutions compute what ONNX's reference does, with the windows that attributes describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.operators.convolution import Window
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]


@pytest.fixture
def compare(model: Model, run: Callable[..., Any], rng: np.random.Generator) -> Callable[..., Any]:
    """Return what compares a convolution of random numbers with onnxruntime."""

    def compare(
        op_type: str,
        x_shape: tuple[int, ...],
        w_shape: tuple[int, ...],
        *,
        bias: int = 0,
        constant: bool = True,
        opset: int = 11,
        **attributes: Any,
    ) -> None:
        x = rng.standard_normal(x_shape).astype(np.float32)
        w = rng.standard_normal(w_shape).astype(np.float32)
        weights = {"w": w}
        if bias:
            weights["b"] = rng.standard_normal(bias).astype(np.float32)
        inputs = {"x": x} if constant else {"x": x, **weights}
        made = model(
            node(op_type, ["x", *weights], ["y"], **attributes),
            inputs,
            constants=weights if constant else {},
            opset=opset,
            output_types={"y": 1},
        )
        (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, inputs)
        for value in made.graph.input:
            if value.name == "x":
                value.type.tensor_type.shape.dim[0].dim_param = "N"
        (result,) = run(made, inputs)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)

    return compare


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("x_shape", "w_shape", "attributes"),
    [
        ((2, 3, 7, 6), (4, 3, 3, 2), {}),
        ((1, 3, 7, 6), (4, 3, 3, 3), {"pads": [1, 2, 0, 1], "strides": [2, 1]}),
        ((1, 3, 9, 9), (4, 3, 3, 3), {"dilations": [2, 3]}),
        ((1, 4, 5, 5), (6, 2, 3, 3), {"group": 2}),
        ((1, 4, 5, 5), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
        ((1, 4, 5, 5), (8, 1, 3, 3), {"group": 4}),
        ((1, 1, 5, 5), (3, 1, 3, 3), {"group": 1}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((1, 3, 7, 6), (4, 3, 3, 2), {"auto_pad": "VALID", "strides": [2, 2]}),
        ((2, 3, 9), (4, 3, 3), {"strides": [2], "pads": [1, 0]}),
        ((2, 4, 9), (4, 1, 3), {"group": 4, "auto_pad": "SAME_UPPER"}),
        ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"pads": [1, 0, 1, 0, 1, 0], "strides": [1, 2, 1]}),
        ((1, 4, 4, 5, 6), (4, 2, 2, 2, 2), {"group": 2}),
    ],
)
def test_convolutions(
    compare: Callable[..., None],
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    attributes: dict[str, Any],
    constant: bool,
) -> None:
    compare("Conv", x_shape, w_shape, bias=w_shape[0], constant=constant, **attributes)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("x_shape", "w_shape", "bias", "attributes"),
    [
        ((1, 3, 4, 5), (3, 2, 3, 3), 2, {}),
        ((2, 3, 4, 5), (3, 2, 3, 2), 2, {"strides": [2, 3], "pads": [1, 0, 0, 1]}),
        ((1, 3, 4, 5), (3, 2, 3, 3), 2, {"strides": [2, 2], "output_padding": [1, 1]}),
        (
            (1, 3, 4, 5),
            (3, 2, 3, 3),
            2,
            {"strides": [2, 2], "output_padding": [1, 1], "pads": [1] * 4},
        ),
        ((1, 3, 4, 5), (3, 2, 3, 3), 2, {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 3, 4, 5), (3, 2, 3, 3), 2, {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((1, 3, 4, 5), (3, 2, 3, 3), 2, {"strides": [2, 2], "output_shape": [8, 10]}),
        ((1, 4, 4, 5), (4, 3, 3, 3), 6, {"group": 2, "strides": [2, 2]}),
        ((2, 3, 5), (3, 2, 3), 2, {"strides": [2]}),
    ],
)
def test_transposed_convolutions(
    compare: Callable[..., None],
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    bias: int,
    attributes: dict[str, Any],
    constant: bool,
) -> None:
    compare("ConvTranspose", x_shape, w_shape, bias=bias, constant=constant, **attributes)


def test_a_dilated_transposed_convolution(compare: Callable[..., None]) -> None:
    compare("ConvTranspose", (1, 3, 4, 5), (3, 2, 3, 3), dilations=[2, 3], strides=[2, 1])


def test_what_only_the_bias_reaches_has_the_bias(compare: Callable[..., None]) -> None:
    compare(
        "ConvTranspose", (1, 1, 2, 2), (1, 2, 1, 1), bias=2, strides=[3, 3], output_padding=[2, 1]
    )


def test_depthwise_weights_are_shared_by_two_nodes(model: Model) -> None:
    x, w = np.zeros((1, 4, 5, 5), np.float32), np.zeros((4, 1, 3, 3), np.float32)
    same = {"group": 4, "pads": [1, 1, 1, 1]}
    made = model(
        [node("Conv", ["x", "w"], ["a"], **same), node("Conv", ["a", "w"], ["y"], **same)],
        {"x": x},
        constants={"w": w},
    )
    network = parse(made.SerializeToString())
    types = [layer.type for layer in network.layers]
    assert types.count("DepthwiseConvolution2d") == 2
    assert types.count("Constant") == 1
    assert network.find("w/depthwise").output.info.shape == (1, 3, 3, 4)


@pytest.mark.parametrize(
    ("op_type", "w_shape", "attributes", "message"),
    [
        ("Conv", (4, 3, 3), {}, "weights have shape .* and the input has rank 4"),
        ("Conv", (4, 3, 0, 3), {}, "no empty weights"),
        ("Conv", (4, 2, 3, 3), {}, "the input has 3 channels: expected 2"),
        ("Conv", (4, 1, 3, 3), {"group": 3}, "'group' is 3: expected a divisor of the 4 outputs"),
        ("Conv", (4, 3, 3, 3), {"group": 0}, "'group' is 0: expected a divisor"),
        ("Conv", (4, 3, 3, 3), {"kernel_shape": [2, 3]}, r"is \[2, 3\], but the weights have"),
        ("Conv", (4, 3, 3, 3), {"strides": [0, 1]}, r"'strides' is \[0, 1\]: expected 2 numbers"),
        ("Conv", (4, 3, 3, 3), {"pads": [1, 1]}, r"'pads' is \[1, 1\]: expected 4 numbers"),
        ("Conv", (4, 3, 3, 3), {"pads": [-1, 0, 0, 0]}, "each at least 0"),
        ("Conv", (4, 3, 3, 3), {"dilations": [2**40, 1]}, "'dilations' is"),
        ("Conv", (4, 3, 9, 9), {}, r"node 'c' \(Conv\): .*window"),
        ("ConvTranspose", (3, 2, 3, 3), {"group": 2}, "'group' is 2: expected a divisor of the 3"),
        ("ConvTranspose", (2, 2, 3, 3), {}, "the input has 3 channels: expected 2"),
        ("ConvTranspose", (3, 2, 3, 3), {"output_shape": [5]}, "'output_shape' is .*expected 2"),
        ("ConvTranspose", (3, 2, 3, 3), {"dilations": [2**20, 1]}, "make the weights too large"),
    ],
)
def test_malformed_convolutions_are_refused(
    model: Model, op_type: str, w_shape: tuple[int, ...], attributes: dict[str, Any], message: str
) -> None:
    made = model(
        node(op_type, ["x", "w"], ["y"], name="c", **attributes),
        {"x": np.zeros((1, 3, 6, 6), np.float32)},
        constants={"w": np.zeros(w_shape, np.float32)},
    )
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())


def test_padding_that_depends_on_unknown_sizes_is_settled_when_they_are_known(
    check: Callable[..., Any], rng: np.random.Generator
) -> None:
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 3, 5, 7), (3, 3, 3, 3)))
    same = node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])
    check(same, {"x": x}, constants={"w": w}, dynamic=True)
    check(same, {"x": x, "w": w}, dynamic=True)


def test_same_padding_with_stride_1_needs_no_size(model: Model) -> None:
    weights = {"w": np.zeros((3, 3, 3, 4), np.float32)}
    made = model(
        node("Conv", ["x", "w"], ["y"], name="c", auto_pad="SAME_UPPER"),
        {"x": (1, ["N", 3, None, None])},
        constants=weights,
    )
    padding = parse(made.SerializeToString()).find("c").descriptor.padding
    assert padding == ((1, 1), (1, 2))


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 1, 3], "pads": [1, 0, 2, 1, 1, 0], "output_padding": [1, 0, 2]},
        {"dilations": [2, 1, 2], "strides": [1, 2, 1], "group": 2},
        {"pads": [2, 2, 2, 2, 2, 2], "strides": [2, 2, 2]},
    ],
)
def test_transposed_convolutions_in_three_dimensions(
    run: Callable[..., Any], model: Model, rng: np.random.Generator, attributes: dict[str, Any]
) -> None:
    x = rng.standard_normal((2, 4, 3, 4, 5)).astype(np.float32)
    constants = {
        "w": rng.standard_normal((4, 3, 2, 3, 2)).astype(np.float32),
        "b": rng.standard_normal(3 * attributes.get("group", 1)).astype(np.float32),
    }
    operator = node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)
    made = model(operator, {"x": x}, constants=constants, output_types={"y": 1})
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(run(made, {"x": x})[0], expected, rtol=1e-4, atol=1e-5)


def padding_of(model: Model, size: int, **attributes: Any) -> tuple[int, int]:
    made = model(
        helper.make_node("Conv", ["x", "w"], ["y"], name="c", **attributes),
        {"x": (1, [1, 1, 1, size])},
        constants={"w": np.zeros((1, 1, 1, 3), np.float32)},
    )
    padding: tuple[int, int] = parse(made.SerializeToString()).find("c").descriptor.padding[1]
    return padding


@pytest.mark.parametrize(
    ("size", "attributes", "upper", "lower"),
    [
        (5, {}, (1, 1), (1, 1)),
        (6, {"strides": [1, 2]}, (0, 1), (1, 0)),
        (5, {"strides": [1, 2]}, (1, 1), (1, 1)),
        (6, {"strides": [1, 3]}, (0, 0), (0, 0)),
        (7, {"strides": [1, 5]}, (0, 1), (1, 0)),
        (6, {"dilations": [1, 2]}, (2, 2), (2, 2)),
        (6, {"dilations": [1, 2], "strides": [1, 2]}, (1, 2), (2, 1)),
    ],
)
def test_same_padding(
    model: Model,
    size: int,
    attributes: dict[str, Any],
    upper: tuple[int, int],
    lower: tuple[int, int],
) -> None:
    assert padding_of(model, size, auto_pad="SAME_UPPER", **attributes) == upper
    assert padding_of(model, size, auto_pad="SAME_LOWER", **attributes) == lower
    assert padding_of(model, size, auto_pad="VALID", **attributes) == (0, 0)


def test_given_pads_are_begins_then_ends(model: Model) -> None:
    assert padding_of(model, 5, pads=[0, 1, 0, 2]) == (1, 2)


def test_new_axes_in_front_do_nothing() -> None:
    window = Window((3,), (2,), (4,), (1,), (5,))
    assert _numbers(window.padded_to(2)) == ((1, 3), (1, 2), (1, 4), (0, 1), (0, 5))
    assert _numbers(window.padded_to(1)) == _numbers(window)


def _numbers(window: Window) -> tuple[tuple[int, ...], ...]:
    return window.size, window.strides, window.dilations, window.before, window.after
