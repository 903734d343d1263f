# SPDX-License-Identifier: MIT
from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_tflite.parser import parse

SAME, VALID = 0, 1


def _strides(height: int, width: int, dilation: int = 1) -> dict[str, int]:
    return {
        "strideH": height,
        "strideW": width,
        "dilationHFactor": dilation,
        "dilationWFactor": dilation,
    }


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize(("strides", "dilation"), [((1, 1), 1), ((2, 3), 1), ((1, 1), 2)])
@pytest.mark.parametrize("activation", [0, 3])
def test_convolution(
    lite: Any,
    rng: np.random.Generator,
    padding: int,
    strides: tuple[int, int],
    dilation: int,
    activation: int,
) -> None:
    x = rng.normal(size=(2, 8, 9, 3)).astype(np.float32)
    options = {**_strides(*strides, dilation), "padding": padding}
    lite.check(
        lite.Op(
            "CONV_2D",
            ["x", "w", "b"],
            options={**options, "fusedActivationFunction": activation},
        ),
        {
            "w": lite.constant(rng.normal(size=(4, 3, 2, 3)).astype(np.float32)),
            "b": lite.constant(rng.normal(size=4).astype(np.float32)),
        },
        {"x": x},
        atol=1e-4,
    )


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolution(
    lite: Any, rng: np.random.Generator, padding: int, multiplier: int
) -> None:
    x = rng.normal(size=(1, 7, 6, 3)).astype(np.float32)
    channels = 3 * multiplier
    lite.check(
        lite.Op(
            "DEPTHWISE_CONV_2D",
            ["x", "w", "b"],
            options={**_strides(2, 2), "padding": padding, "depthMultiplier": multiplier},
        ),
        {
            "w": lite.constant(rng.normal(size=(1, 3, 3, channels)).astype(np.float32)),
            "b": lite.constant(rng.normal(size=channels).astype(np.float32)),
        },
        {"x": x},
        atol=1e-4,
    )


def test_an_absent_bias_is_none(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 4, 4, 2)).astype(np.float32)
    weights = rng.normal(size=(3, 1, 1, 2)).astype(np.float32)
    for inputs in (["x", "w"], ["x", "w", None]):
        model = lite.build(
            lite.Op("CONV_2D", inputs, options=_strides(1, 1)),
            {"x": lite.Tensor(shape=x.shape), "w": lite.constant(weights), "y": lite.Tensor()},
        )
        expected = x @ weights.reshape(3, 2).T
        np.testing.assert_allclose(lite.run(model, {"x": x})["y"], expected, 1e-4, 1e-5)


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_quantized_with_a_scale_per_channel(
    lite: Any, rng: np.random.Generator, name: str, kind: str
) -> None:
    depthwise = name == "DEPTHWISE_CONV_2D"
    limits = np.iinfo(kind)
    x = rng.integers(limits.min // 2, limits.max // 2, (1, 6, 6, 4)).astype(kind)
    scales = [0.01, 0.02, 0.005, 0.013]
    shape = (1, 3, 3, 4) if depthwise else (4, 3, 3, 4)
    step = 0.05 if kind == "int8" else 0.0002
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-500, 500, 4).astype(np.int32 if kind == "int8" else np.int64)
    zeros = (-3, 5) if kind == "int8" else (0, 0)
    options = {**_strides(1, 1), "depthMultiplier": 1} if depthwise else _strides(1, 1)
    lite.check(
        lite.Op(name, ["x", "w", "b"], options=options, version=3 if kind == "int8" else 5),
        {
            "x": lite.Tensor(kind, x.shape, scale=step, zero_point=zeros[0]),
            "w": lite.constant(weights, scale=scales, axis=3 if depthwise else 0),
            "b": lite.constant(bias, scale=[step * scale for scale in scales]),
            "y": lite.Tensor(kind, (1, 6, 6, 4), scale=step * 3, zero_point=zeros[1]),
        },
        {"x": x},
    )


def test_uint8_has_one_scale(lite: Any, rng: np.random.Generator) -> None:
    x = rng.integers(0, 256, (1, 5, 5, 2)).astype(np.uint8)
    lite.check(
        lite.Op("CONV_2D", ["x", "w", "b"], options=_strides(2, 2)),
        {
            "x": lite.Tensor("uint8", x.shape, scale=0.02, zero_point=120),
            "w": lite.constant(
                rng.integers(0, 256, (3, 3, 3, 2)).astype(np.uint8), scale=0.01, zero_point=130
            ),
            "b": lite.constant(np.int32([5, -9, 100]), scale=0.0002),
            "y": lite.Tensor("uint8", (1, 3, 3, 3), scale=0.05, zero_point=100),
        },
        {"x": x},
    )


def test_int8_weights_under_float_activations_are_real(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 4, 4, 2)).astype(np.float32)
    stored = rng.integers(-127, 128, (3, 1, 1, 2)).astype(np.int8)
    scales = np.float32([0.01, 0.02, 0.03])
    model = lite.build(
        lite.Op("CONV_2D", ["x", "w", "b"], options=_strides(1, 1), version=5),
        {
            "x": lite.Tensor(shape=x.shape),
            "w": lite.constant(stored, scale=scales.tolist()),
            "b": lite.constant(np.zeros(3, np.float32)),
            "y": lite.Tensor(),
        },
    )
    weights = stored.reshape(3, 2) * scales[:, None]
    np.testing.assert_allclose(lite.run(model, {"x": x})["y"], x @ weights.T, 1e-4, 1e-5)
    # LiteRT rounds the activations to 8 bits too, so it is only near.
    theirs = lite.run_litert(model, {"x": x})["y"]
    np.testing.assert_allclose(theirs, x @ weights.T, atol=0.05)


def test_float16_weights_behind_dequantize_are_folded(lite: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 4, 4, 2)).astype(np.float32)
    lite.check(
        [
            lite.Op("DEQUANTIZE", ["h"], ["w"], version=3),
            lite.Op("CONV_2D", ["x", "w", "b"], options=_strides(1, 1)),
        ],
        {
            "b": lite.constant(np.float32([1, 2, 3])),
            "h": lite.constant(rng.normal(size=(3, 2, 2, 2)).astype(np.float16)),
            "w": lite.Tensor("float32", (3, 2, 2, 2)),
        },
        {"x": x},
        atol=1e-5,
    )


@pytest.mark.parametrize("padding", [SAME, VALID])
def test_convolution_3d(lite: Any, rng: np.random.Generator, padding: int) -> None:
    x = rng.normal(size=(1, 4, 5, 6, 2)).astype(np.float32)
    options = {f"stride{axis}": 2 for axis in "DHW"} | {
        f"dilation{axis}Factor": 1 for axis in "DHW"
    }
    lite.check(
        lite.Op("CONV_3D", ["x", "w", "b"], options={**options, "padding": padding}),
        {
            "w": lite.constant(rng.normal(size=(2, 3, 3, 2, 4)).astype(np.float32)),
            "b": lite.constant(rng.normal(size=4).astype(np.float32)),
        },
        {"x": x},
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("padding", "stride", "output"), [(SAME, 2, (8, 10)), (VALID, 2, (9, 11)), (SAME, 1, (4, 5))]
)
@pytest.mark.parametrize("activation", [0, 1])
def test_transpose_convolution(
    lite: Any,
    rng: np.random.Generator,
    padding: int,
    stride: int,
    output: tuple[int, int],
    activation: int,
) -> None:
    x = rng.normal(size=(1, 4, 5, 3)).astype(np.float32)
    lite.check(
        lite.Op(
            "TRANSPOSE_CONV",
            ["s", "w", "x", "b"],
            version=4,
            options={
                "strideH": stride,
                "strideW": stride,
                "padding": padding,
                "fusedActivationFunction": activation,
            },
        ),
        {
            "s": lite.constant(np.int32([1, *output, 2])),
            "w": lite.constant(rng.normal(size=(2, 3, 3, 3)).astype(np.float32)),
            "b": lite.constant(np.float32([0.5, -1])),
        },
        {"x": x},
        atol=1e-4,
    )


def test_int8_transpose_convolution(lite: Any, rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (1, 3, 3, 2)).astype(np.int8)
    lite.check(
        lite.Op("TRANSPOSE_CONV", ["s", "w", "x"], version=2, options={"strideH": 2, "strideW": 2}),
        {
            "s": lite.constant(np.int32([1, 6, 6, 2])),
            "w": lite.constant(
                rng.integers(-127, 128, (2, 3, 3, 2)).astype(np.int8), scale=[0.01, 0.02]
            ),
            "x": lite.Tensor("int8", x.shape, scale=0.05, zero_point=4),
            "y": lite.Tensor("int8", (1, 6, 6, 2), scale=0.1, zero_point=-6),
        },
        {"x": x},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strideH": -1}, r"CONV_2D \(operator 0\): StrideH is -1: expected 1 to"),
        ({"padding": 7}, r"the padding is 7: expected SAME \(0\) or VALID \(1\)"),
    ],
)
def test_malformed_options_are_refused(lite: Any, options: dict[str, int], message: str) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 4, 4, 2)),
        "w": lite.constant(np.zeros((3, 2, 2, 2), np.float32)),
        "y": lite.Tensor(),
    }
    op = lite.Op("CONV_2D", ["x", "w"], options={**_strides(1, 1), **options})
    with pytest.raises(ParseError, match=message):
        parse(lite.build(op, tensors))


@pytest.mark.parametrize("shape", [(3, 2, 2), (0, 2, 2, 2)])
def test_weights_of_a_wrong_shape_are_refused(lite: Any, shape: tuple[int, ...]) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 4, 4, 2)),
        "w": lite.constant(np.zeros(shape, np.float32)),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="expected rank 4, and no empty axis"):
        parse(lite.build(lite.Op("CONV_2D", ["x", "w"], options=_strides(1, 1)), tensors))


def test_images_of_another_rank_are_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor(shape=(4, 4, 2)),
        "w": lite.constant(np.zeros((3, 2, 2, 2), np.float32)),
        "y": lite.Tensor(),
    }
    with pytest.raises(ParseError, match="its input 0 has rank 3: expected 4"):
        parse(lite.build(lite.Op("CONV_2D", ["x", "w"], options=_strides(1, 1)), tensors))


@pytest.mark.parametrize("rows", [1, 4, 5])
def test_strided_same_padding_waits_for_the_size(
    lite: Any, rng: np.random.Generator, rows: int
) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 1, 4, 2), signature=(1, -1, 4, 2)),
        "w": lite.constant(rng.normal(size=(3, 3, 2, 2)).astype(np.float32)),
        "b": lite.constant(np.float32([1, 2, 3])),
        "z": lite.Tensor(),
    }
    convolution = lite.Op("CONV_2D", ["x", "w", "b"], ["z"], options=_strides(2, 2))
    pooling = {"filterHeight": 2, "filterWidth": 2, "strideH": 2, "strideW": 2}
    ops = [convolution, lite.Op("MAX_POOL_2D", ["z"], options=pooling)]
    x = rng.normal(size=(1, rows, 4, 2)).astype(np.float32)
    lite.check(ops, tensors, {"x": x}, atol=1e-5)


def test_a_wide_bias_that_does_not_fit_is_refused(lite: Any) -> None:
    tensors = {
        "x": lite.Tensor("int16", (1, 4, 4, 2), scale=0.01),
        "w": lite.constant(np.zeros((1, 2, 2, 2), np.int8), scale=0.01),
        "b": lite.constant(np.int64([2**40])),
        "y": lite.Tensor("int16", (1, 4, 4, 1), scale=0.01),
    }
    op = lite.Op("CONV_2D", ["x", "w", "b"], options=_strides(1, 1))
    with pytest.raises(UnsupportedOperatorError, match="64-bit bias does not fit into 32 bits"):
        parse(lite.build(op, tensors))


def test_weights_of_unknown_shape_are_waited_for(lite: Any, rng: np.random.Generator) -> None:
    tensors = {
        "x": lite.Tensor(shape=(1, 4, 4, 2)),
        "w": lite.Tensor(shape=(1, 2, 2, 2), signature=(-1, 2, 2, 2)),
        "b": lite.constant(np.float32([1, 2, 3])),
    }
    op = lite.Op("CONV_2D", ["x", "w", "b"], options=_strides(1, 1))
    shapes = {"x": (1, 4, 4, 2), "w": (3, 2, 2, 2)}
    feeds = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    lite.check(op, tensors, feeds, atol=1e-5)


def _transposed(lite: Any, target: Any, output: Any) -> bytes:
    data: bytes = lite.build(
        lite.Op("TRANSPOSE_CONV", ["s", "w", "x"], options={"strideH": 2, "strideW": 2}),
        {
            "s": target,
            "w": lite.constant(np.ones((1, 2, 2, 1), np.float32)),
            "x": lite.Tensor(shape=(1, 2, 2, 1), signature=(-1, 2, 2, 1)),
            "y": output,
        },
        ["x"] if target.data is not None else ["x", "s"],
    )
    return data


def test_the_output_tensor_says_the_size_where_the_input_is_computed(lite: Any) -> None:
    output = lite.Tensor(shape=(1, 4, 4, 1), signature=(-1, 4, 4, 1))
    data = _transposed(lite, lite.Tensor("int32", (4,)), output)
    feeds = {"x": np.ones((3, 2, 2, 1), np.float32), "s": np.int32([3, 4, 4, 1])}
    np.testing.assert_array_equal(lite.run(data, feeds)["y"], np.ones((3, 4, 4, 1)))


def test_a_transposed_convolution_of_unknown_size_is_refused(lite: Any) -> None:
    data = _transposed(lite, lite.Tensor("int32", (4,)), lite.Tensor())
    with pytest.raises(UnsupportedOperatorError, match="height and width of its output are not kn"):
        parse(data)


def test_another_batch_than_that_of_the_input_is_refused(lite: Any) -> None:
    tensors = {
        "s": lite.constant(np.int32([5, 4, 4, 1])),
        "w": lite.constant(np.ones((1, 2, 2, 1), np.float32)),
        "x": lite.Tensor(shape=(1, 2, 2, 1)),
        "y": lite.Tensor(),
    }
    op = lite.Op("TRANSPOSE_CONV", ["s", "w", "x"], options={"strideH": 2, "strideW": 2})
    with pytest.raises(ParseError, match="its output is to have 5 images, but there are 1"):
        parse(lite.build(op, tensors))


def bias_options(kind: int, width: int, height: int) -> bytes:
    return struct.pack("<3i", kind, width, height)


@pytest.mark.parametrize("kernel", [(2, 2), (3, 4)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_mediapipes_transposed_convolution_is_the_builtin_one_with_another_order(
    lite, rng, kernel, padding
):
    kind = 1 if padding == "SAME" else 2
    stride_height, stride_width = 2, 1
    rows, columns = 4 * stride_height, 5 * stride_width
    if padding == "VALID":
        rows, columns = 3 * stride_height + kernel[0], 4 * stride_width + kernel[1]
    x = rng.standard_normal((1, 4, 5, 3), np.float32)
    tensors = {
        "x": lite.Tensor("float32", x.shape),
        "w": lite.constant(rng.standard_normal((2, *kernel, 3), np.float32)),
        "b": lite.constant(rng.standard_normal(2, np.float32)),
        "size": lite.constant(np.array([1, rows, columns, 2], np.int32)),
        "y": lite.Tensor(),
    }
    custom = lite.Op(
        "Convolution2DTransposeBias",
        ["x", "w", "b"],
        custom_options=bias_options(kind, stride_width, stride_height),
    )
    options = {"padding": kind - 1, "strideH": stride_height, "strideW": stride_width}
    builtin = lite.Op("TRANSPOSE_CONV", ["size", "w", "x", "b"], options=options, version=3)
    (ours,) = lite.run(lite.build(custom, tensors), {"x": x}).values()
    (theirs,) = lite.run_litert(lite.build(builtin, tensors), {"x": x}).values()
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("options", "size", "message"),
    [
        (b"\1\0\0\0", 2, "its options have 4 bytes: expected 12"),
        (bias_options(3, 1, 1), 2, "the padding is 3: expected SAME"),
        (bias_options(1, 0, 1), 2, r"the strides are \[1, 0\]: expected 1 to"),
        (bias_options(1, 3, 3), 2, "its kernel is smaller than its stride"),
    ],
)
def test_mediapipes_transposed_convolution_with_other_options_is_refused(
    lite, options, size, message
):
    tensors = {
        "x": lite.Tensor("float32", (1, 4, 4, 1)),
        "w": lite.constant(np.ones((1, size, size, 1), np.float32)),
        "y": lite.Tensor(),
    }
    op = lite.Op("Convolution2DTransposeBias", ["x", "w"], custom_options=options)
    with pytest.raises(ParseError, match=message):
        parse(lite.build(op, tensors))
