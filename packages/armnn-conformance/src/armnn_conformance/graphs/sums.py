# SPDX-License-Identifier: MIT
"""Layers of random graphs that sum: convolutions, products, pooling, means and normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from armnn.layers.convolution import Convolution2dDescriptor, DepthwiseConvolution2dDescriptor
from armnn.layers.matmul import BatchMatMulDescriptor, FullyConnectedDescriptor
from armnn.layers.normalization import (
    L2NormalizationDescriptor,
    LayerNormalizationDescriptor,
    LogSoftmaxDescriptor,
    SoftmaxDescriptor,
)
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.reduction import MeanDescriptor, ReduceDescriptor
from armnn.types import DataLayout, PaddingMethod, PoolingAlgorithm, ReduceOperation
from armnn_conformance.graphs._graph import Draw, GraphValue, LayerDraw, candidate

LAYOUTS = (DataLayout.NCHW, DataLayout.NHWC)


def _windows(
    x: Any, size: tuple[int, int], strides: tuple[int, int], pads: Any, fill: float = 0.0
) -> Any:
    """Return [N,C,Y,X,KH,KW] of x [N,C,H,W]."""
    padded = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, size, (2, 3))
    return found[:, :, :: strides[0], :: strides[1]]


@candidate(Convolution2dDescriptor)
def convolution2d(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw kernel, stride, padding and layout."""
    if len(x.shape) != 4:
        return None
    layout = LAYOUTS[draw.number(0, 1)]
    channel = layout.channel_axis
    kernel = (draw.number(1, 2), draw.number(1, 3))
    strides = (draw.number(1, 2), draw.number(1, 2))
    pads = ((kernel[0] - 1, 0), (kernel[1] // 2, kernel[1] - 1))
    return _convolution2d(
        draw, x, layout, (draw.number(2, 5), x.shape[channel]), kernel, strides, pads
    )


@candidate(Convolution2dDescriptor)
def plain_convolution2d(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw the layout of a pointwise convolution without padding."""
    if len(x.shape) != 4:
        return None
    layout = LAYOUTS[draw.number(0, 1)]
    channels = x.shape[layout.channel_axis]
    return _convolution2d(draw, x, layout, (channels, channels), (1, 1), (1, 1), ((0, 0), (0, 0)))


def _convolution2d(
    draw: Draw,
    x: GraphValue,
    layout: DataLayout,
    channels: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[tuple[int, int], tuple[int, int]],
) -> LayerDraw:
    axis = layout.channel_axis
    shape = np.moveaxis(np.empty((*channels, *kernel)), 1, axis).shape
    weights = draw.weights(shape, channels[1] * kernel[0] * kernel[1])
    bias = draw.bias(channels[0], x, weights) if draw.number(0, 2) else None

    def oracle(x: Any, w: Any, b: Any = None) -> Any:
        seen = _windows(np.moveaxis(x, axis, 1), kernel, strides, pads)
        y = np.einsum("ncyxij,ocij->noyx", seen, np.moveaxis(w, axis, 1), optimize=True)
        y = y if b is None else y + b.reshape(1, -1, 1, 1)
        return np.moveaxis(y, 1, axis)

    descriptor = Convolution2dDescriptor(
        pad_top=pads[0][0],
        pad_bottom=pads[0][1],
        pad_left=pads[1][0],
        pad_right=pads[1][1],
        stride_x=strides[1],
        stride_y=strides[0],
        data_layout=layout,
    )
    return LayerDraw(descriptor, (x, weights) if bias is None else (x, weights, bias), oracle)


@candidate(DepthwiseConvolution2dDescriptor)
def depthwise_convolution2d(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw a layout; one kernel for each channel."""
    if len(x.shape) != 4:
        return None
    layout = LAYOUTS[draw.number(0, 1)]
    axis = layout.channel_axis
    channels, kernel, pads = x.shape[axis], (3, 3), ((1, 1), (1, 1))
    weights = draw.weights((1, *kernel, channels), 9)
    bias = draw.bias(channels, x, weights)

    def oracle(x: Any, w: Any, b: Any) -> Any:
        seen = _windows(np.moveaxis(x, axis, 1), kernel, (1, 1), pads)
        y = np.einsum("ncyxij,ijc->ncyx", seen, w[0], optimize=True)
        return np.moveaxis(y + b.reshape(1, -1, 1, 1), 1, axis)

    pad = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    descriptor = DepthwiseConvolution2dDescriptor(data_layout=layout, **pad)
    return LayerDraw(descriptor, (x, weights, bias), oracle)


@candidate(Pooling2dDescriptor)
def pooling2d(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw algorithm, layout and padding of 3 by 2 windows."""
    layout, is_padded = LAYOUTS[draw.number(0, 1)], draw.number(0, 1)
    if len(x.shape) != 4 or min(x.shape[at] for at in layout.spatial_axes) < 3:
        return None
    axis, size, strides = layout.channel_axis, (3, 2), (draw.number(1, 2), draw.number(1, 2))
    pads = ((is_padded, 0), (0, is_padded))
    algorithm = (PoolingAlgorithm.MAX, PoolingAlgorithm.AVERAGE)[draw.number(0, 1)]

    def oracle(x: Any) -> Any:
        planar = np.moveaxis(x, axis, 1)
        if algorithm is PoolingAlgorithm.MAX:
            return np.moveaxis(_windows(planar, size, strides, pads, -np.inf).max((4, 5)), 1, axis)
        counts = _windows(np.ones_like(planar), size, strides, pads).sum((4, 5))
        return np.moveaxis(_windows(planar, size, strides, pads).sum((4, 5)) / counts, 1, axis)

    descriptor = Pooling2dDescriptor(
        pool_type=algorithm,
        pad_top=is_padded,
        pad_right=is_padded,
        pool_width=size[1],
        pool_height=size[0],
        stride_x=strides[1],
        stride_y=strides[0],
        padding_method=PaddingMethod.EXCLUDE,
        data_layout=layout,
    )
    return LayerDraw(descriptor, (x,), oracle, x.info)


@candidate(FullyConnectedDescriptor)
def fully_connected(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw the units of a matrix product with constant weights."""
    if len(x.shape) != 2:
        return None
    inputs, units, is_transposed = x.shape[1], draw.number(2, 6), bool(draw.number(0, 1))
    weights = draw.weights((units, inputs) if is_transposed else (inputs, units), inputs)
    bias = draw.bias(units, x, weights)
    return LayerDraw(
        FullyConnectedDescriptor(transpose_weight_matrix=is_transposed),
        (x, weights, bias),
        lambda x, w, b: x @ (w.T if is_transposed else w) + b,
    )


@candidate(BatchMatMulDescriptor)
def batch_mat_mul(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Multiply by a constant matrix."""
    if len(x.shape) < 2:
        return None
    inner = x.shape[-1]
    weights = draw.weights((*[1] * (len(x.shape) - 2), inner, draw.number(2, 5)), inner)
    return LayerDraw(BatchMatMulDescriptor(), (x, weights), np.matmul)


@candidate(SoftmaxDescriptor, LogSoftmaxDescriptor)
def softmax(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw the factor, the axis and whether logarithms are returned."""
    axis = -1 if draw.number(0, 1) else draw.axis(x)
    beta, is_logarithm = (1.0, 0.5)[draw.number(0, 1)], draw.number(0, 1)

    def oracle(x: Any) -> Any:
        shifted = beta * (x - x.max(axis, keepdims=True))
        total = np.exp(shifted).sum(axis, keepdims=True)
        return shifted - np.log(total) if is_logarithm else np.exp(shifted) / total

    kind = LogSoftmaxDescriptor if is_logarithm else SoftmaxDescriptor
    return LayerDraw(kind(beta=beta, axis=axis), (x,), oracle)


@candidate(LayerNormalizationDescriptor)
def layer_normalization(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Normalize the last axis, with a large eps."""
    if x.shape[-1] < 3:
        return None
    gamma, beta = draw.constant([x.shape[-1]], 0.5, 1), draw.constant([x.shape[-1]])

    def oracle(x: Any, g: Any, b: Any) -> Any:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 0.1) * g + b

    return LayerDraw(LayerNormalizationDescriptor(axis=-1, eps=0.1), (x, gamma, beta), oracle)


@candidate(L2NormalizationDescriptor)
def l2_normalization(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Divide by the channels' norm, with a large eps."""
    if len(x.shape) != 4:
        return None
    layout = LAYOUTS[draw.number(0, 1)]
    axis = layout.channel_axis

    def oracle(x: Any) -> Any:
        return x / np.sqrt(np.maximum((x**2).sum(axis, keepdims=True), 0.25))

    return LayerDraw(L2NormalizationDescriptor(eps=0.25, data_layout=layout), (x,), oracle)


@candidate(MeanDescriptor)
def mean(draw: Draw, x: GraphValue) -> LayerDraw:
    """Take the mean along an axis, which stays."""
    axis = draw.axis(x)
    descriptor = MeanDescriptor(axis=(axis,), keep_dims=True)
    return LayerDraw(descriptor, (x,), lambda x: x.mean(axis, keepdims=True), any_batch=axis > 0)


@candidate(ReduceDescriptor)
def reduce(draw: Draw, x: GraphValue) -> LayerDraw:
    """Sum or find the maximum along an axis, which stays."""
    axis, is_sum = draw.axis(x), draw.number(0, 1)
    operation = ReduceOperation.SUM if is_sum else ReduceOperation.MAX
    descriptor = ReduceDescriptor(keep_dims=True, axis=(axis,), reduce_operation=operation)

    def oracle(x: Any) -> Any:
        return x.sum(axis, keepdims=True) if is_sum else x.max(axis, keepdims=True)

    return LayerDraw(descriptor, (x,), oracle, any_batch=axis > 0)
