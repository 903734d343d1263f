# SPDX-License-Identifier: MIT
"""Conformance cases of convolutions, output element by output element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import REAL, CaseTensor, bias_tensor, tensor, values

SUMS = {
    DataType.FLOAT32: Tolerance("sums of products in float32", rtol=1e-4, atol=2e-5),
    DataType.FLOAT16: Tolerance("sums of products in float16", rtol=1e-2, atol=2e-2),
    DataType.BFLOAT16: Tolerance("sums of products in bfloat16", rtol=3e-2, atol=1e-1),
}


NHWC, NCHW = DataLayout.NHWC, DataLayout.NCHW


def correlate(
    x: NDArray[Any],
    kernel: NDArray[Any],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> NDArray[Any]:
    """Return [N,O,*Y]: x [N,C,*X] under kernels [O,C/groups,*K], tap by tap."""
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    groups = x.shape[1] // kernel.shape[1]
    members = kernel.shape[0] // groups
    taps = kernel.shape[2:]
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(padded.shape[2:], taps, dilations, strides, strict=True)
    ]
    y = np.zeros((x.shape[0], kernel.shape[0], *sizes))
    for out, *place in np.ndindex(*y.shape[1:]):
        first = out // members * kernel.shape[1]
        for tap in np.ndindex(*taps):
            at = [p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations, strict=True)]
            column = padded[(slice(None), slice(first, first + kernel.shape[1]), *at)]
            y[(slice(None), out, *place)] += column @ kernel[(out, slice(None), *tap)]
    return y


def _weights(
    data_type: DataType, shape: Sequence[int], *, axis: int | None = None, seed: int = 2
) -> CaseTensor:
    """Return weights of a type that fits the data."""
    if data_type.is_quantized and axis is not None:
        return values(DataType.QSYMM_S8, shape, -1, 1, seed=seed, axis=axis, constant=True)
    return values(data_type, shape, -1, 1, seed=seed, constant=True)


_ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padded unevenly": {"pad_left": 1, "pad_right": 2, "pad_top": 2, "pad_bottom": 0},
    "strides": {"stride_x": 3, "stride_y": 2, "pad_left": 1},
    "dilated": {"dilation_x": 2, "dilation_y": 1, "pad_top": 1, "pad_bottom": 1},
    "dilated rows": {"dilation_y": 2, "pad_right": 2},
}


_POINTWISE: dict[str, dict[str, Any]] = {
    "with strides": {"stride_x": 2, "stride_y": 3},
    "padded before": {"pad_left": 1, "pad_top": 2},
    "padded behind": {"pad_right": 2, "pad_bottom": 1},
}


def _spatial(d: Any) -> tuple[tuple[int, int], tuple[int, int], list[tuple[int, int]]]:
    pads = [(d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right)]
    dilations = getattr(d, "dilation_y", 1), getattr(d, "dilation_x", 1)
    return (d.stride_y, d.stride_x), dilations, pads


def _convolution2d(
    data_type: DataType,
    name: str,
    d: Convolution2dDescriptor,
    shape: Sequence[int],
    kernel: Sequence[int],
    *,
    bias: bool = True,
    axis: int | None = None,
    edge: bool = False,
) -> LayerCase:
    """Make a case from [N,C,H,W] and [O,I,KH,KW], any layout."""
    channel = d.data_layout.channel_axis
    x = values(data_type, np.moveaxis(np.empty(shape), 1, channel).shape, seed=1)
    w = _weights(data_type, np.moveaxis(np.empty(kernel), 1, channel).shape, axis=axis)
    b = bias_tensor(np.linspace(-1, 2, kernel[0]), x, w) if bias else None
    plain = correlate(
        np.moveaxis(x.real, channel, 1), np.moveaxis(w.real, channel, 1), *_spatial(d)
    )
    if b is not None:
        plain = plain + b.real.reshape(1, -1, 1, 1)
    inputs = [x, w] if b is None else [x, w, b]
    expected = np.moveaxis(plain, 1, channel)
    return case(data_type, name, d, inputs, expected, tolerance=SUMS.get(data_type), edge=edge)


@cases(Convolution2dDescriptor, types=REAL)
def convolution2d(data_type: DataType) -> Iterator[LayerCase]:
    """Cover padding, strides, dilation, groups, one by one kernels.

    Padding, strides and dilation differ for each side and axis.
    """
    for layout in (NHWC, NCHW):
        for name, parameters in _ROWS.items():
            d = Convolution2dDescriptor(data_layout=layout, **parameters)
            title = f"{name} {layout.arm_name}"
            yield _convolution2d(data_type, title, d, (2, 3, 6, 7), (4, 3, 3, 2))
        d = Convolution2dDescriptor(data_layout=layout)
        title = f"groups {layout.arm_name}"
        yield _convolution2d(data_type, title, d, (1, 4, 4, 5), (6, 2, 2, 3), edge=True)
        title = f"pointwise {layout.arm_name}"
        yield _convolution2d(data_type, title, d, (1, 3, 1, 5), (2, 3, 1, 1), edge=True)
        for name, parameters in _POINTWISE.items():
            d = Convolution2dDescriptor(data_layout=layout, **parameters)
            title = f"pointwise {name} {layout.arm_name}"
            yield _convolution2d(data_type, title, d, (1, 3, 4, 5), (2, 3, 1, 1), edge=True)
        d = Convolution2dDescriptor(data_layout=layout)
        title = f"without bias {layout.arm_name}"
        yield _convolution2d(data_type, title, d, (1, 2, 3, 3), (1, 2, 3, 3), bias=False)
        title = f"scales per channel {layout.arm_name}"
        yield _convolution2d(data_type, title, d, (1, 2, 4, 4), (3, 2, 2, 2), axis=0, edge=True)


@cases(DepthwiseConvolution2dDescriptor, types=REAL)
def depthwise_convolution2d(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the same with a multiplier, few and many channels."""
    for layout in (NHWC, NCHW):
        rows: list[tuple[str, dict[str, Any], int, int, int | None]]
        rows = [(name, parameters, 3, 2, None) for name, parameters in _ROWS.items()]
        rows += [("many channels", {}, 9, 1, None), ("scales per channel", {}, 3, 2, 3)]
        rows.append(("without bias", {}, 3, 2, None))
        for name, parameters, channels, multiplier, axis in rows:
            shape = (2, channels, 6, 5)
            d = DepthwiseConvolution2dDescriptor(data_layout=layout, **parameters)
            channel = layout.channel_axis
            x = values(data_type, np.moveaxis(np.empty(shape), 1, channel).shape, seed=1)
            w = _weights(data_type, (1, 3, 2, channels * multiplier), axis=axis)
            b = bias_tensor(np.linspace(-1, 2, channels * multiplier), x, w)
            kernel = w.real[0].transpose(2, 0, 1)[:, None]
            y = correlate(np.moveaxis(x.real, channel, 1), kernel, *_spatial(d))
            bare = name == "without bias"
            yield case(
                data_type,
                f"{name} {layout.arm_name}",
                d,
                [x, w] if bare else [x, w, b],
                np.moveaxis(y if bare else y + b.real.reshape(1, -1, 1, 1), 1, channel),
                tolerance=SUMS.get(data_type),
                edge=name not in _ROWS,
            )


def _scattered(
    x: NDArray[Any], kernel: NDArray[Any], d: TransposeConvolution2dDescriptor
) -> NDArray[Any]:
    """Return [N,O,H,W] by adding kernels, then cropping.

    Each element of x [N,C,H,W] adds its kernel [O,C,KH,KW].
    """
    height = (x.shape[2] - 1) * d.stride_y + kernel.shape[2]
    width = (x.shape[3] - 1) * d.stride_x + kernel.shape[3]
    full = np.zeros((x.shape[0], kernel.shape[0], height, width))
    for row, column in np.ndindex(*x.shape[2:]):
        stamp = np.einsum("nc,ocij->noij", x[:, :, row, column], kernel)
        top, left = row * d.stride_y, column * d.stride_x
        full[:, :, top : top + kernel.shape[2], left : left + kernel.shape[3]] += stamp
    return full[:, :, d.pad_top : height - d.pad_bottom, d.pad_left : width - d.pad_right]


@cases(TransposeConvolution2dDescriptor, types=REAL)
def transpose_convolution2d(data_type: DataType) -> Iterator[LayerCase]:
    """Cover strides, crops, overlapping kernels and gaps.

    Strides differ for each axis, crops for each side. An output may be larger than the reach of the
    kernels; it has the bias there, too.
    """
    rows: dict[str, dict[str, Any]] = {
        "overlapping": {"stride_x": 1, "stride_y": 1},
        "strides": {"stride_x": 3, "stride_y": 2},
        "cropped": {"stride_x": 2, "stride_y": 2, "pad_left": 1, "pad_top": 2, "pad_bottom": 1},
        "cropped on the right": {"stride_x": 1, "stride_y": 2, "pad_right": 2},
        "larger": {"stride_x": 3, "stride_y": 2, "output_shape_enabled": True},
        "without bias": {"stride_x": 2, "stride_y": 1},
    }
    for layout in (NHWC, NCHW):
        for name, parameters in rows.items():
            channel = layout.channel_axis
            if name == "larger":
                # Kernels reach 7 rows and 11 columns.
                sizes = np.moveaxis(np.empty((2, 2, 8, 13)), 1, channel).shape
                parameters = {**parameters, "output_shape": sizes}
            d = TransposeConvolution2dDescriptor(data_layout=layout, **parameters)
            x = values(data_type, np.moveaxis(np.empty((2, 3, 3, 4)), 1, channel).shape, seed=1)
            w = _weights(data_type, np.moveaxis(np.empty((2, 3, 3, 2)), 1, channel).shape)
            b = bias_tensor([0.5, -1.0], x, w)
            y = _scattered(np.moveaxis(x.real, channel, 1), np.moveaxis(w.real, channel, 1), d)
            if name == "larger":
                y = np.pad(y, [(0, 0), (0, 0), (0, 1), (0, 2)])
            bare = name == "without bias"
            yield case(
                data_type,
                f"{name} {layout.arm_name}",
                d,
                [x, w] if bare else [x, w, b],
                np.moveaxis(y if bare else y + b.real.reshape(1, -1, 1, 1), 1, channel),
                tolerance=SUMS.get(data_type),
                edge=name not in ("overlapping", "strides"),
            )
        yield _transposed_in_groups(data_type, layout)


def _transposed_in_groups(data_type: DataType, layout: DataLayout) -> LayerCase:
    """Return a case whose outputs see two channels each."""
    channel = layout.channel_axis
    d = TransposeConvolution2dDescriptor(stride_x=2, stride_y=1, pad_left=1, data_layout=layout)
    x = values(data_type, np.moveaxis(np.empty((1, 4, 2, 3)), 1, channel).shape, seed=1)
    w = _weights(data_type, np.moveaxis(np.empty((6, 2, 3, 2)), 1, channel).shape)
    data, kernel = np.moveaxis(x.real, channel, 1), np.moveaxis(w.real, channel, 1)
    halves = [_scattered(data[:, :2], kernel[:3], d), _scattered(data[:, 2:], kernel[3:], d)]
    expected = np.moveaxis(np.concatenate(halves, axis=1), 1, channel)
    name, tolerance = f"groups {layout.arm_name}", SUMS.get(data_type)
    return case(data_type, name, d, [x, w], expected, tolerance=tolerance, edge=True)


@cases(Convolution3dDescriptor, types=REAL)
def convolution3d(data_type: DataType) -> Iterator[LayerCase]:
    """Everything apart for depth, height and width."""
    rows: dict[str, dict[str, Any]] = {
        "plain": {},
        "padded": {"pad_front": 1, "pad_top": 2, "pad_right": 1},
        "padded behind": {"pad_back": 2, "pad_bottom": 1, "pad_left": 1},
        "strides": {"stride_z": 1, "stride_y": 2, "stride_x": 3, "pad_left": 1},
        "strides in depth": {"stride_z": 2},
        "dilated": {"dilation_z": 2, "dilation_x": 2},
        "dilated rows": {"dilation_y": 3},
        "without bias": {},
    }
    for layout in (DataLayout.NDHWC, DataLayout.NCDHW):
        channel = layout.channel_axis
        for name, parameters in rows.items():
            d = Convolution3dDescriptor(data_layout=layout, **parameters)
            shape = np.moveaxis(np.empty((1, 2, 4, 5, 6)), 1, channel).shape
            x = values(data_type, shape, seed=1)
            w = _weights(data_type, (2, 2, 3, 2, 3))
            b = bias_tensor([0.5, -1.0, 2.0], x, w)
            pads = [
                (d.pad_front, d.pad_back),
                (d.pad_top, d.pad_bottom),
                (d.pad_left, d.pad_right),
            ]
            y = correlate(
                np.moveaxis(x.real, channel, 1),
                w.real.transpose(4, 3, 0, 1, 2),
                (d.stride_z, d.stride_y, d.stride_x),
                (d.dilation_z, d.dilation_y, d.dilation_x),
                pads,
            )
            bare = name == "without bias"
            yield case(
                data_type,
                f"{name} {layout.arm_name}",
                d,
                [x, w] if bare else [x, w, b],
                np.moveaxis(y if bare else y + b.real.reshape(1, -1, 1, 1, 1), 1, channel),
                tolerance=SUMS.get(data_type),
                edge=name.startswith("dilated"),
            )


@cases(ConvolutionIntegerDescriptor, types=(DataType.SIGNED8, DataType.UNSIGNED8))
def convolution_integer(data_type: DataType) -> Iterator[LayerCase]:
    """Cover zero points of data and weights.

    The weights have a zero point per channel; padding is a true zero.
    """
    low = 0 if data_type is DataType.UNSIGNED8 else -9
    x = values(data_type, (1, 2, 4, 5), low, 9, seed=1)
    w = values(data_type, (3, 2, 2, 3), low, 9, seed=2, constant=True)
    x_zero, w_zero = tensor(data_type, np.int64(2)), tensor(data_type, [1, 2, 3])
    rows = {
        "bare": [x, w],
        "a zero point": [x, w, x_zero],
        "zero points per channel": [x, w, x_zero, w_zero],
    }
    for name, inputs in rows.items():
        d = ConvolutionIntegerDescriptor(pad_left=1, pad_top=1, stride_x=2)
        left = x.real.astype(np.int64) - (2 if len(inputs) > 2 else 0)
        right = w.real.astype(np.int64)
        if len(inputs) > 3:
            right = right - np.array([1, 2, 3]).reshape(3, 1, 1, 1)
        y = correlate(left, right, *_spatial(d)).astype(np.int64)
        yield case(data_type, name, d, inputs, y, outputs=[DataType.SIGNED32], edge=True)
    for name, parameters in (*_ROWS.items(), *_POINTWISE.items()):
        d = ConvolutionIntegerDescriptor(data_layout=NHWC, **parameters)
        x = values(data_type, (2, 6, 7, 3), low, 9, seed=3)
        w = values(data_type, (4, 3, 2, 3), low, 9, seed=4, constant=True)
        left = np.moveaxis(x.real.astype(np.int64), -1, 1)
        y = correlate(left, np.moveaxis(w.real.astype(np.int64), -1, 1), *_spatial(d))
        expected = np.moveaxis(y, 1, -1).astype(np.int64)
        outputs = [DataType.SIGNED32]
        yield case(data_type, f"NHWC {name}", d, [x, w], expected, outputs=outputs)


LAYOUTS = (DataLayout.NHWC, DataLayout.NCHW)


_PADS = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}


@cases(Convolution2dDescriptor, types=REAL)
def convolution2d_of_equal_sizes(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each layout with three rows, columns, channels and kernels."""
    x = values(data_type, (1, 3, 3, 3), seed=1)
    w = values(data_type, (3, 3, 3, 3), -1, 1, seed=2, constant=True)
    b = bias_tensor([0.5, -1.0, 2.0], x, w)
    for layout in LAYOUTS:
        channel = layout.channel_axis
        plain = correlate(
            np.moveaxis(x.real, channel, 1),
            np.moveaxis(w.real, channel, 1),
            (1, 1),
            (1, 1),
            [(1, 1), (1, 1)],
        )
        expected = np.moveaxis(plain + b.real.reshape(1, -1, 1, 1), 1, channel)
        d = Convolution2dDescriptor(data_layout=layout, **_PADS)
        title = f"equal sizes {layout.arm_name}"
        yield case(data_type, title, d, [x, w, b], expected, tolerance=SUMS.get(data_type))


@cases(DepthwiseConvolution2dDescriptor, types=REAL)
def depthwise_convolution2d_of_equal_sizes(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each layout with three rows, columns and channels."""
    x = values(data_type, (1, 3, 3, 3), seed=1)
    w = values(data_type, (1, 3, 3, 3), -1, 1, seed=2, constant=True)
    b = bias_tensor([0.5, -1.0, 2.0], x, w)
    kernel = w.real[0].transpose(2, 0, 1)[:, None]
    for layout in LAYOUTS:
        channel = layout.channel_axis
        pads = [(1, 1), (1, 1)]
        plain = correlate(np.moveaxis(x.real, channel, 1), kernel, (1, 1), (1, 1), pads)
        expected = np.moveaxis(plain + b.real.reshape(1, -1, 1, 1), 1, channel)
        d = DepthwiseConvolution2dDescriptor(data_layout=layout, **_PADS)
        title = f"equal sizes {layout.arm_name}"
        yield case(data_type, title, d, [x, w, b], expected, tolerance=SUMS.get(data_type))
