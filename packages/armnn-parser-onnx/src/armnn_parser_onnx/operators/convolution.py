# SPDX-License-Identifier: MIT
"""Convolutions: Conv becomes one of three layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
)
from armnn.parsing.conversion import RefusedError, reshape, transpose
from armnn.types import DataLayout
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.weights import changed, check_channels, static_weights
from armnn_parser_onnx.window import Window, read_window

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation


@operator("Conv")
def convolution(operation: Operation) -> Value:
    """Add Convolution2d, DepthwiseConvolution2d or Convolution3d.

    A convolution along one axis is one over an image of height 1.
    """
    value, weights = operation.input(), operation.input(1)
    shape = static_weights(operation)
    groups = groups_of(operation, channels=shape[1], outputs=shape[0])
    check_channels(operation, groups * shape[1])
    spatial = len(shape) - 2
    window = read_window(operation, shape[2:], operation.shape()[2:])
    if spatial == 3:
        return _convolution3d(operation, window)
    if spatial == 1:
        from armnn_parser_onnx.shapes import with_spatial_axes, without_spatial_axes  # late: few

        image = with_spatial_axes(operation, value, 2)
        weights = _as_planes(operation, weights, (*shape[:2], 1, shape[2]))
        flat = _convolution2d(operation, image, weights, window.padded_to(2), "image")
        return without_spatial_axes(operation, flat, 3)
    return _convolution2d(operation, value, weights, window, "")


def _convolution2d(
    operation: Operation, value: Value, weights: Value, window: Window, part: str
) -> Value:
    shape = weights.info.static_shape
    bias = operation.optional_input(2)
    if operation.integer("group") == 1 or shape[1] > 1:
        return operation.network.add(
            "Convolution2d",
            [value, weights, bias],
            planar(Convolution2dDescriptor, window),
            name=operation.layer_name(part),
        ).output
    # One channel in each group: the weights [O, 1, H, W] become [1, H, W, O].
    weights = changed(
        operation,
        weights,
        "depthwise",
        lambda array: np.ascontiguousarray(array.transpose(1, 2, 3, 0)),
        lambda: transpose(operation, weights, (1, 2, 3, 0), "weights"),
    )
    return operation.network.add(
        "DepthwiseConvolution2d",
        [value, weights, bias],
        planar(DepthwiseConvolution2dDescriptor, window),
        name=operation.layer_name(part),
    ).output


def planar(kind: type[Convolution2dDescriptor], window: Window) -> Convolution2dDescriptor:
    """Return the parameters of a convolution along two axes."""
    return kind(
        pad_top=window.before[0],
        pad_left=window.before[1],
        pad_bottom=window.after[0],
        pad_right=window.after[1],
        stride_y=window.strides[0],
        stride_x=window.strides[1],
        dilation_y=window.dilations[0],
        dilation_x=window.dilations[1],
        data_layout=DataLayout.NCHW,
    )


def _convolution3d(operation: Operation, window: Window) -> Value:
    weights = operation.input(1)
    moved = changed(
        operation,
        weights,
        "depth_first",
        lambda array: np.ascontiguousarray(array.transpose(2, 3, 4, 1, 0)),
        lambda: transpose(operation, weights, (2, 3, 4, 1, 0), "weights"),
    )
    return operation.network.add_convolution3d(
        operation.input(),
        moved,
        operation.optional_input(2),
        pad_front=window.before[0],
        pad_top=window.before[1],
        pad_left=window.before[2],
        pad_back=window.after[0],
        pad_bottom=window.after[1],
        pad_right=window.after[2],
        stride_z=window.strides[0],
        stride_y=window.strides[1],
        stride_x=window.strides[2],
        dilation_z=window.dilations[0],
        dilation_y=window.dilations[1],
        dilation_x=window.dilations[2],
        data_layout=DataLayout.NCDHW,
        name=operation.layer_name(),
    )


def _as_planes(operation: Operation, weights: Value, shape: tuple[int, ...]) -> Value:
    return changed(
        operation,
        weights,
        "as_image",
        lambda array: array.reshape(shape),
        lambda: reshape(operation, weights, shape, "weights_as_image"),
    )


def groups_of(operation: Operation, channels: int, outputs: int) -> int:
    """Return a node's number of groups.

    Raises:
        ParseError: The outputs cannot be divided by it.
    """
    groups = operation.integer("group")
    if groups < 1 or outputs % groups:
        raise operation.error(
            f"the attribute 'group' is {groups}: expected a divisor of the {outputs} outputs, "
            f"which read {channels} channels each"
        )
    return groups


@operator("ConvInteger")
def convolution_integer(operation: Operation) -> Value:
    """Add ConvolutionInteger."""
    shape = static_weights(operation)
    if len(shape) != 4:
        raise RefusedError(f"no layer computes it along {len(shape) - 2} axes")
    groups = groups_of(operation, channels=shape[1], outputs=shape[0])
    check_channels(operation, groups * shape[1])
    window = read_window(operation, shape[2:], operation.shape()[2:])
    zero_points = [operation.optional_input(2), operation.optional_input(3)]
    return operation.network.add(
        "ConvolutionInteger",
        [operation.input(), operation.input(1), *zero_points],
        planar(ConvolutionIntegerDescriptor, window),
        name=operation.layer_name(),
    ).output
