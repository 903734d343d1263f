# SPDX-License-Identifier: MIT
"""Convolutions agree with sums written out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType
from armnn_backend_ref.ops import convolution
from armnn_backend_ref.ops._windows import Window
from armnn_backend_ref.ops.convolution import sum_across_channels, sum_along_planes

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]
Padding = Sequence[tuple[int, int]]

LAST = {DataLayout.NHWC, DataLayout.NDHWC}


def correlation(
    x: Array,
    weights: Array,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Padding,
) -> Array:
    """Correlate [N,C,*S] with [O,I,*K] in float64, place by place."""
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *padding])
    groups = x.shape[1] // weights.shape[1]
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, weights.shape[2:], strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, strides, strict=True)]
    y = np.zeros((x.shape[0], weights.shape[0], *sizes))
    for place in np.ndindex(*sizes):
        window = padded[
            :,
            :,
            *(
                slice(p * s, p * s + r, d)
                for p, s, r, d in zip(place, strides, reach, dilations, strict=True)
            ),
        ]
        for o in range(weights.shape[0]):
            group = o // (weights.shape[0] // groups)
            read = window[:, group * weights.shape[1] : (group + 1) * weights.shape[1]]
            y[:, o, *place] = (read * weights[o]).sum(tuple(range(1, x.ndim)))
    return y


def scattering(x: Array, weights: Array, strides: Sequence[int], padding: Padding) -> Array:
    """Convolve [N,C,H,W] transposed with [O,I,KH,KW], pixel by pixel."""
    count, per_group, height, width = weights.shape
    groups = x.shape[1] // per_group
    sizes = [s * (n - 1) + k for s, n, k in zip(strides, x.shape[2:], (height, width), strict=True)]
    y = np.zeros((x.shape[0], count, *sizes))
    for row, column in np.ndindex(*x.shape[2:]):
        top, left = row * strides[0], column * strides[1]
        for o, i in itertools.product(range(count), range(per_group)):
            channel = (o // (count // groups)) * per_group + i
            pixel = x[:, channel, row, column].astype(np.float64)
            y[:, o, top : top + height, left : left + width] += pixel[:, None, None] * weights[o, i]
    (top, bottom), (left, right) = padding
    return y[:, :, top : sizes[0] - bottom, left : sizes[1] - right]


def laid_out(array: Array, layout: DataLayout) -> Array:
    """Turn [N,C,*S] into what the layout says."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if layout in LAST else array


def planar(**changes: int) -> dict[str, int]:
    names = ("pad_left", "pad_right", "pad_top", "pad_bottom")
    return {**dict.fromkeys(names, 0), "stride_x": 1, "stride_y": 1, **changes}


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


CONVOLUTIONS = {
    "1x1": ((2, 3, 4, 5), (7, 3, 1, 1), planar()),
    "1x1 strided": ((1, 3, 5, 6), (4, 3, 1, 1), planar(stride_x=2, stride_y=3)),
    "1x1 padded": ((1, 3, 3, 3), (4, 3, 1, 1), planar(pad_left=1, pad_bottom=2)),
    "3x3 padded": ((2, 3, 6, 5), (4, 3, 3, 3), planar(pad_left=1, pad_right=1, pad_top=1)),
    "odd strides": ((1, 2, 9, 8), (3, 2, 3, 2), planar(stride_x=3, stride_y=2, pad_right=2)),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 2), planar(dilation_x=3, dilation_y=2, pad_top=2)),
    "padding beyond kernel": ((1, 1, 2, 2), (1, 1, 2, 2), planar(pad_left=4, pad_top=3)),
    "groups": ((2, 6, 5, 5), (4, 3, 3, 3), planar(pad_left=1, stride_y=2)),
    "one channel per group": ((1, 4, 4, 4), (8, 1, 3, 3), planar()),
    "grouped 1x1": ((1, 4, 3, 3), (6, 2, 1, 1), planar()),
    "one pixel": ((1, 3, 1, 1), (2, 3, 1, 1), planar()),
    "batch of none": ((0, 3, 4, 4), (2, 3, 3, 3), planar()),
}


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolution2d_is_the_definition(
    run_layer: RunLayer, case: tuple[Any, ...], layout: DataLayout
) -> None:
    shape, kernel, fields = case
    x, weights, bias = random(0, *shape), random(1, *kernel), random(2, kernel[0])
    d = Convolution2dDescriptor(data_layout=layout, **fields)
    expected = correlation(x, weights, d.strides, d.dilations, d.padding)
    expected += bias[:, None, None]
    constants = [laid_out(weights, layout), bias]
    (y,) = run_layer("Convolution2d", [laid_out(x, layout)], d, constants=constants)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_blocks_of_rows_join_without_a_seam(
    run_layer: RunLayer, layout: DataLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weights = random(0, 2, 4, 11, 7), random(1, 6, 2, 3, 3)
    d = Convolution2dDescriptor(data_layout=layout, **planar(pad_top=2, pad_left=1, stride_y=2))
    operands = [laid_out(x, layout), laid_out(weights, layout)]
    (whole,) = run_layer("Convolution2d", operands, d)
    monkeypatch.setattr(convolution, "COLUMN_BYTES", 1500)
    (blocks,) = run_layer("Convolution2d", operands, d)
    np.testing.assert_allclose(blocks, whole, rtol=1e-6, atol=1e-6)


def test_convolution2d_of_a_known_picture(run_layer: RunLayer) -> None:
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    weights = np.array([[[[1, 0], [0, -1]]]], np.float32)
    (y,) = run_layer("Convolution2d", [x, weights], Convolution2dDescriptor())
    assert y.tolist() == [[[[-4, -4], [-4, -4]]]]


def test_convolution2d_computes_float64_as_float64(run_layer: RunLayer) -> None:
    x = np.array([[[[1.0, 1e-12]]]])
    weights = np.ones((1, 1, 1, 2))
    (y,) = run_layer("Convolution2d", [x, weights], Convolution2dDescriptor())
    assert y.dtype == np.float64
    assert y.item() == 1 + 1e-12


def test_nan_and_infinity_stay_within_their_windows(run_layer: RunLayer) -> None:
    x = np.zeros((1, 1, 1, 5), np.float32)
    x[..., 0], x[..., 4] = np.nan, np.inf
    weights = np.ones((1, 1, 1, 2), np.float32)
    (y,) = run_layer("Convolution2d", [x, weights], Convolution2dDescriptor())
    np.testing.assert_array_equal(y.ravel(), [np.nan, 0, 0, np.inf])


def test_convolution2d_reads_a_view(run_layer: RunLayer) -> None:
    x = random(0, 1, 5, 5, 3).transpose(0, 3, 1, 2)
    weights = random(1, 2, 3, 3, 3)[::-1]
    d = Convolution2dDescriptor(**planar(pad_left=1))
    expected = correlation(x, weights, d.strides, d.dilations, d.padding)
    (y,) = run_layer("Convolution2d", [x, weights], d)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [DataLayout.NDHWC, DataLayout.NCDHW])
@pytest.mark.parametrize("per_group", [1, 2, 4])
def test_convolution3d_is_the_definition(
    run_layer: RunLayer, per_group: int, layout: DataLayout
) -> None:
    x, weights, bias = random(0, 2, 4, 4, 5, 6), random(1, 4, per_group, 2, 3, 2), random(2, 4)
    d = Convolution3dDescriptor(
        pad_front=1, pad_bottom=2, pad_left=1, stride_y=2, dilation_x=2, data_layout=layout
    )
    expected = correlation(x, weights, d.strides, d.dilations, d.padding)
    expected += bias[:, None, None, None]
    constants = [weights.transpose(2, 3, 4, 1, 0), bias]
    (y,) = run_layer("Convolution3d", [laid_out(x, layout)], d, constants=constants)
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("channels", [2, 40])
def test_depthwise_convolution2d_is_a_convolution_with_a_group_per_channel(
    run_layer: RunLayer, channels: int, multiplier: int, layout: DataLayout
) -> None:
    count = channels * multiplier
    x, kernels, bias = random(0, 2, channels, 7, 11), random(1, count, 1, 3, 2), random(2, count)
    fields = planar(pad_top=2, pad_right=1, stride_x=2, dilation_y=2)
    d = DepthwiseConvolution2dDescriptor(data_layout=layout, **fields)
    expected = correlation(x, kernels, d.strides, d.dilations, d.padding) + bias[:, None, None]
    constants = [np.ascontiguousarray(kernels[:, 0].transpose(1, 2, 0))[None], bias]
    (y,) = run_layer("DepthwiseConvolution2d", [laid_out(x, layout)], d, constants=constants)
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-5)


def test_depthwise_convolution2d_of_no_channels_is_empty(run_layer: RunLayer) -> None:
    x, weights = np.zeros((1, 0, 4, 4), np.float32), np.zeros((1, 3, 3, 0), np.float32)
    (y,) = run_layer("DepthwiseConvolution2d", [x, weights])
    assert y.shape == (1, 0, 2, 2)


TRANSPOSED = {
    "plain": ((2, 3, 3, 4), (2, 3, 3, 2), planar()),
    "strided": ((1, 2, 3, 3), (3, 2, 2, 3), planar(stride_x=3, stride_y=2)),
    "cut": ((1, 2, 4, 4), (3, 2, 3, 3), planar(pad_top=1, pad_bottom=2, pad_left=2, stride_x=2)),
    "groups": ((2, 6, 3, 3), (4, 3, 3, 3), planar(stride_y=2, pad_right=1)),
    "gaps": ((1, 1, 2, 2), (1, 1, 1, 1), planar(stride_x=3, stride_y=3)),
}


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
@pytest.mark.parametrize("case", TRANSPOSED.values(), ids=TRANSPOSED)
def test_transpose_convolution2d_is_the_definition(
    run_layer: RunLayer, case: tuple[Any, ...], layout: DataLayout
) -> None:
    shape, kernel, fields = case
    x, weights, bias = random(0, *shape), random(1, *kernel), random(2, kernel[0])
    d = TransposeConvolution2dDescriptor(data_layout=layout, **fields)
    expected = scattering(x, weights, d.strides, d.padding) + bias[:, None, None]
    constants = [laid_out(weights, layout), bias]
    (y,) = run_layer("TransposeConvolution2d", [laid_out(x, layout)], d, constants=constants)
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC], ids=lambda each: each.name)
def test_a_sequence_is_convolved_in_blocks(
    layout: DataLayout, run_layer: RunLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal, taps = random(0, 1, 1, 1, 400), random(1, 2, 1, 1, 9)
    monkeypatch.setattr(convolution, "COLUMN_BYTES", 1500)
    d = Convolution2dDescriptor(stride_x=2, pad_left=3, pad_right=1, data_layout=layout)
    (y,) = run_layer("Convolution2d", [laid_out(signal, layout), laid_out(taps, layout)], d)
    padded = np.pad(signal[0, 0, 0], (3, 1))
    expected = np.stack([np.correlate(padded, each[0, 0])[::2] for each in taps])
    np.testing.assert_allclose(
        y, laid_out(expected[np.newaxis, :, np.newaxis], layout), rtol=1e-5, atol=1e-5
    )


def test_transpose_convolution2d_in_blocks_overlaps_them(
    run_layer: RunLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weights = random(0, 1, 3, 6, 5), random(1, 2, 3, 4, 3)
    d = TransposeConvolution2dDescriptor(stride_x=1, stride_y=2, pad_top=1)
    expected = scattering(x, weights, d.strides, d.padding)
    monkeypatch.setattr(convolution, "COLUMN_BYTES", 1000)
    (y,) = run_layer("TransposeConvolution2d", [x, weights], d)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_a_larger_requested_output_gets_only_the_bias(run_layer: RunLayer) -> None:
    x, weights = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    d = TransposeConvolution2dDescriptor(
        stride_x=2, stride_y=2, output_shape_enabled=True, output_shape=(1, 1, 4, 4)
    )
    bias = np.array([0.5], np.float32)
    (y,) = run_layer("TransposeConvolution2d", [x, weights, bias], d)
    assert y[0, 0].tolist() == [
        [1.5, 0.5, 1.5, 0.5],
        [0.5, 0.5, 0.5, 0.5],
        [1.5, 0.5, 1.5, 0.5],
        [0.5, 0.5, 0.5, 0.5],
    ]


@pytest.mark.parametrize("data_type", [DataType.QASYMM_S8, DataType.QASYMM_U8])
def test_quantized_convolution2d_computes_real_values(
    run_layer: RunLayer, data_type: DataType
) -> None:
    zero_point = 10 if data_type is DataType.QASYMM_S8 else 130
    x_info = TensorInfo((1, 3, 6, 6), data_type, 0.05, zero_point)
    w_info = TensorInfo((4, 3, 3, 3), DataType.QSYMM_S8, (0.01, 0.02, 0.03, 0.04), axis=0)
    y_info = TensorInfo((1, 4, 4, 4), data_type, 0.08, zero_point)
    x, weights = quantize(random(0, 1, 3, 6, 6), x_info), quantize(random(1, 4, 3, 3, 3), w_info)
    bias = np.array([-500, 0, 700, 90], np.int32)
    steps = 0.05 * np.array(w_info.scales)
    expected = correlation(
        dequantize(x, x_info), dequantize(weights, w_info), (1, 1), (1, 1), ((0, 0), (0, 0))
    )
    expected += (bias * steps)[:, None, None]
    (y,) = run_layer(
        "Convolution2d",
        [(x, x_info)],
        Convolution2dDescriptor(),
        constants=[(weights, w_info), bias],
        outputs=[y_info],
    )
    assert y.dtype == x.dtype
    off = np.abs(y.astype(int) - quantize(expected, y_info))
    assert off.max() <= 1
    assert (off > 0).mean() < 0.02, "only a tie may be rounded the other way"


def test_quantized_convolution2d_by_hand(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 1, 1, 2), DataType.QASYMM_U8, 0.5, 128)
    w_info = TensorInfo((1, 1, 1, 2), DataType.QASYMM_U8, 0.25, 100)
    y_info = TensorInfo((1, 1, 1, 1), DataType.QASYMM_U8, 0.5, 3)
    x, weights = np.array([[[[130, 120]]]], np.uint8), np.array([[[[104, 98]]]], np.uint8)
    # 1.0 * 1.0 + -4.0 * -0.5 + 12 * 0.125 = 4.5, which is 9 steps above the zero point.
    (y,) = run_layer(
        "Convolution2d",
        [(x, x_info)],
        Convolution2dDescriptor(),
        constants=[(weights, w_info), np.array([12], np.int32)],
        outputs=[y_info],
    )
    assert y.item() == 12


def test_quantized_outputs_saturate(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 1, 1, 2), DataType.QASYMM_S8, 1.0, 0)
    w_info = TensorInfo((1, 1, 1, 1), DataType.QSYMM_S8, 1.0, 0)
    x, weights = np.array([[[[100, -100]]]], np.int8), np.array([[[[2]]]], np.int8)
    (y,) = run_layer("Convolution2d", [(x, x_info), (weights, w_info)], Convolution2dDescriptor())
    assert y.tolist() == [[[[127, -128]]]]


def test_scales_of_depthwise_weights_lie_along_the_last_axis(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 2, 1, 1), DataType.QASYMM_S8, 1.0, 0)
    w_info = TensorInfo((1, 1, 1, 4), DataType.QSYMM_S8, (1.0, 2.0, 3.0, 4.0), axis=3)
    y_info = TensorInfo((1, 4, 1, 1), DataType.QASYMM_S8, 1.0, 0)
    x, weights = np.array([2, 3], np.int8).reshape(1, 2, 1, 1), np.ones((1, 1, 1, 4), np.int8)
    (y,) = run_layer(
        "DepthwiseConvolution2d",
        [(x, x_info)],
        DepthwiseConvolution2dDescriptor(),
        constants=[(weights, w_info), np.array([10, 10, 10, 10], np.int32)],
        outputs=[y_info],
    )
    assert y.ravel().tolist() == [12, 24, 39, 52]


@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.BFLOAT16])
def test_halves_are_summed_up_in_float32(run_layer: RunLayer, data_type: DataType) -> None:
    dtype = data_type.numpy_dtype
    x, weights = np.ones((1, 4096, 1, 1), dtype), np.ones((1, 4096, 1, 1), dtype)
    (y,) = run_layer("Convolution2d", [x, weights], Convolution2dDescriptor())
    assert y.dtype == dtype
    assert float(y.item()) == 4096, "a sum in half precision would have stopped earlier"


@pytest.mark.parametrize("types", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("group", [1, 2])
def test_a_convolution_of_integers_agrees_with_onnxruntime(run_layer, onnx_run, types, group):
    rng = np.random.default_rng(31)
    data, kernel = (np.iinfo(kind) for kind in types)
    x = rng.integers(data.min, data.max, (2, 4, 6, 7), types[0], True)
    weights = rng.integers(kernel.min, kernel.max, (6, 4 // group, 3, 2), types[1], True)
    zero, weights_zero = np.array(9, types[0]), np.array([5, 0, 1, 100, 3, 7], types[1])
    d = ConvolutionIntegerDescriptor(pad_left=1, pad_top=2, pad_bottom=1, stride_x=2, dilation_y=2)
    expected = onnx_run(
        "ConvInteger",
        x,
        weights,
        zero,
        weights_zero[:1].reshape(()),
        pads=[2, 1, 1, 0],
        strides=[1, 2],
        dilations=[2, 1],
        group=group,
    )
    (y,) = run_layer("ConvolutionInteger", [x, weights, zero, weights_zero[:1]], d)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, expected)
    (y,) = run_layer("ConvolutionInteger", [x, weights, zero, weights_zero], d)
    centered = weights.astype(np.float64) - weights_zero.reshape(-1, 1, 1, 1)
    (real,) = run_layer(
        "Convolution2d", [x.astype(np.float64) - 9, centered],
        Convolution2dDescriptor(pad_left=1, pad_top=2, pad_bottom=1, stride_x=2, dilation_y=2),
    )  # fmt: skip
    np.testing.assert_array_equal(y, real)


def test_integers_are_convolved_without_zero_points_and_channels_last(run_layer):
    x, weights = np.uint8([[[[255, 1]]]]), np.int8([[[[-128, 3]]]])
    d = ConvolutionIntegerDescriptor(data_layout=DataLayout.NHWC)
    (y,) = run_layer("ConvolutionInteger", [x, weights, None, None], d)
    assert y.tolist() == [[[[-128 * 255 + 3]]]]


ORDERS = [sum_along_planes, sum_across_channels]


def definition(x: Array, taps: Array, bias: Array, window: Window, outer: tuple[int, int]) -> Array:
    padded = np.pad(x, [(0, 0), (0, 0), (window.before[0], 20), (window.before[1], 20)])
    y = np.zeros((*x.shape[:2], taps.shape[3], *outer))
    for (i, j), (row, column) in itertools.product(np.ndindex(window.size), np.ndindex(outer)):
        down = row * window.stride[0] + i * window.dilation[0]
        right = column * window.stride[1] + j * window.dilation[1]
        y[..., row, column] += padded[:, :, None, down, right] * taps[i, j]
    return y + bias[:, :, None, None]


@pytest.mark.parametrize("block", [1, 1 << 20])
@pytest.mark.parametrize(
    ("window", "outer"),
    [
        (Window((1, 1), (1, 1), (1, 1), (0, 0)), (6, 5)),
        (Window((3, 2), (1, 1), (1, 1), (1, 0)), (6, 4)),
        (Window((3, 3), (2, 3), (1, 1), (1, 2)), (3, 2)),
        (Window((2, 3), (3, 2), (2, 1), (0, 1)), (2, 3)),
        (Window((2, 2), (2, 2), (3, 3), (2, 3)), (3, 3)),
        (Window((2, 2), (4, 5), (1, 1), (0, 0)), (2, 1)),
        (Window((2, 2), (1, 1), (1, 1), (4, 4)), (12, 11)),
    ],
    ids=["pointwise", "plain", "strided", "mixed", "dilated", "leaping", "mostly padding"],
)
@pytest.mark.parametrize("convolve", ORDERS)
def test_both_orders_are_the_definition(
    convolve: Callable[..., None],
    window: Window,
    outer: tuple[int, int],
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolution, "BLOCK_BYTES", block)
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2, 3, 6, 5)).astype(np.float32)
    taps = generator.normal(size=(*window.size, 3, 2)).astype(np.float32)
    bias = generator.normal(size=(3, 2)).astype(np.float32)
    y = np.full((2, 3, 2, *outer), np.nan, np.float32)
    convolve(x, taps, bias, window, y)
    expected = definition(x, taps, bias, window, outer)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("convolve", ORDERS)
def test_nan_and_infinity_stay_within_windows_in_both_orders(convolve: Callable[..., None]) -> None:
    x = np.zeros((1, 1, 3, 4), np.float32)
    x[..., 0, 3], x[..., 2, 0] = np.nan, np.inf
    y = np.empty((1, 1, 1, 3, 3), np.float32)
    convolve(x, np.ones((1, 2, 1, 1), np.float32), None, Window((1, 2), (1, 1), (1, 1), (0, 0)), y)
    assert y[0, 0, 0].tolist()[1:] == [[0, 0, 0], [np.inf, 0, 0]]
    np.testing.assert_array_equal(y[0, 0, 0, 0], [0, 0, np.nan])
