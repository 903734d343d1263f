# SPDX-License-Identifier: MIT
"""Convolutions in two and three dimensions, by channel and transposed, and padding of windows."""

from __future__ import annotations

import struct
from dataclasses import replace

from armnn.graph import Value
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.parsing.conversion import RefusedError, same_padding
from armnn.parsing.flatbuffers import FlatTable
from armnn.tensor import Dimension
from armnn.types import DataLayout
from armnn_parser_tflite._bindings import Padding
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused
from armnn_parser_tflite.weights import bias, static_weights

_LARGEST = 2**24


def positive(operation: Operation, options: FlatTable, name: str) -> int:
    """Return a stride, dilation or size of a window.

    Raises:
        ParseError: It is not above 0, or larger than any image.
    """
    number = options.integer(name) or 1  # 0 in a file that leaves the options out
    if not 0 < number <= _LARGEST:
        raise operation.error(f"{name} is {number}: expected 1 to {_LARGEST}")
    return number


def padding(
    operation: Operation,
    options: FlatTable,
    size: Dimension,
    window: int,
    stride: int,
    dilation: int = 1,
) -> tuple[int, int]:
    """Return the padding before and after one axis.

    Args:
        operation: The operator.
        options: Its parameters; ``Padding`` is SAME or VALID.
        size: The size of the axis.
        window: The size of the window along it.
        stride: The distance from one window to the next.
        dilation: The distance from one element that the window reads to the next.

    Raises:
        ParseError: The kind of padding is not known.
        NotKnownYetError: It depends on a dimension that is not known.
    """
    kind = options.integer("Padding")
    if kind == Padding.VALID:
        return 0, 0
    if kind != Padding.SAME:
        raise operation.error(f"the padding is {kind}: expected SAME (0) or VALID (1)")
    total = same_padding(size, window, stride, dilation, "SAME padding")
    return total // 2, total - total // 2


_BIAS_OPTIONS = struct.Struct("<3i")
_SAME, _VALID = 1, 2


@operator("CONV_2D", newest=8)
def convolution_2d(operation: Operation) -> Value:
    """Add Convolution2d; both have weights [O, H, W, I]."""
    return _planar(operation, "Convolution2d", "Conv2DOptions", Convolution2dDescriptor)


@operator("DEPTHWISE_CONV_2D", newest=7)
def depthwise_convolution_2d(operation: Operation) -> Value:
    """Add DepthwiseConvolution2d; both have weights [1, H, W, I * M]."""
    return _planar(
        operation,
        "DepthwiseConvolution2d",
        "DepthwiseConv2DOptions",
        DepthwiseConvolution2dDescriptor,
    )


def _planar(
    operation: Operation, layer: str, kind: str, descriptor: type[Convolution2dDescriptor]
) -> Value:
    options = operation.options(kind)
    weights, (_, height, width, _) = static_weights(operation, 4, operation.input())
    image = operation.image_shape(0, 4)
    stride_y, stride_x, dilation_y, dilation_x = (
        positive(operation, options, name)
        for name in ("StrideH", "StrideW", "DilationHFactor", "DilationWFactor")
    )
    top, bottom = padding(operation, options, image[1], height, stride_y, dilation_y)
    left, right = padding(operation, options, image[2], width, stride_x, dilation_x)
    parameters = descriptor(
        pad_top=top,
        pad_bottom=bottom,
        pad_left=left,
        pad_right=right,
        stride_y=stride_y,
        stride_x=stride_x,
        dilation_y=dilation_y,
        dilation_x=dilation_x,
        data_layout=DataLayout.NHWC,
    )
    inputs = [operation.input(), weights, bias(operation, 2, operation.input())]
    return fused(
        operation,
        options,
        lambda label: (
            operation.network.add(
                layer, inputs, parameters, name=label, outputs=[operation.info()]
            ).output
        ),
    )


@operator("CONV_3D")
def convolution_3d(operation: Operation) -> Value:
    """Add Convolution3d; both have weights [D, H, W, I, O]."""
    options = operation.options("Conv3DOptions")
    weights, (depth, height, width, _, _) = static_weights(operation, 5, operation.input())
    image = operation.image_shape(0, 5)
    strides = [positive(operation, options, f"Stride{axis}") for axis in "DHW"]
    dilations = [positive(operation, options, f"Dilation{axis}Factor") for axis in "DHW"]
    pads = [
        padding(operation, options, *four)
        for four in zip(image[1:4], (depth, height, width), strides, dilations, strict=True)
    ]
    return fused(
        operation,
        options,
        lambda label: operation.network.add_convolution3d(
            operation.input(),
            weights,
            bias(operation, 2, operation.input()),
            pad_front=pads[0][0],
            pad_back=pads[0][1],
            pad_top=pads[1][0],
            pad_bottom=pads[1][1],
            pad_left=pads[2][0],
            pad_right=pads[2][1],
            stride_z=strides[0],
            stride_y=strides[1],
            stride_x=strides[2],
            dilation_z=dilations[0],
            dilation_y=dilations[1],
            dilation_x=dilations[2],
            data_layout=DataLayout.NDHWC,
            name=label,
            output=operation.info(),
        ),
    )


@operator("TRANSPOSE_CONV", newest=5)
def transpose_convolution(operation: Operation) -> Value:
    """Add TransposeConvolution2d from output shape, weights and data."""
    options = operation.options("TransposeConvOptions")
    weights, (channels, height, width, _) = static_weights(operation, 4, operation.input(2))
    image = operation.image_shape(2, 4)
    stride_y, stride_x = (positive(operation, options, f"Stride{axis}") for axis in "HW")
    rows, columns = _target(operation)
    # The padding is that of the convolution which leads from the output back to the input.
    parameters = _transposed(
        padding(operation, options, rows, height, stride_y),
        padding(operation, options, columns, width, stride_x),
        (stride_y, stride_x),
    )
    images = operation.known_integers(0)[:1] if operation.input(0).constant is not None else ()
    batch = image[0] if isinstance(image[0], int) else None
    if images and batch is not None and images != (batch,):
        raise operation.error(f"its output is to have {images[0]} images, but there are {batch}")
    if batch is not None:
        target = (batch, rows, columns, channels)
        parameters = replace(parameters, output_shape_enabled=True, output_shape=target)
    inputs = [operation.input(2), weights, bias(operation, 3, operation.input(2))]
    return fused(
        operation,
        options,
        lambda label: (
            operation.network.add(
                "TransposeConvolution2d",
                inputs,
                parameters,
                name=label,
                outputs=[operation.info()],
            ).output
        ),
    )


def _target(operation: Operation) -> tuple[int, int]:
    """Return the rows and columns of a transposed convolution's output."""
    if operation.input(0).constant is not None:
        shape = operation.known_integers(0)
    else:
        # A computed shape, for an unknown batch: the output tensor says its rows and columns.
        tensor = operation.graph.tensor(operation.record.outputs[0])
        shape = tensor.signature or tensor.shape
    if len(shape) != 4 or min(shape[1:3]) < 1:
        raise RefusedError("the height and width of its output are not known")
    return shape[1], shape[2]


@operator("Convolution2DTransposeBias", custom=True)
def transpose_convolution_with_bias(operation: Operation) -> Value:
    """Add TransposeConvolution2d for MediaPipe's operator.

    Its inputs are data, weights and bias. Its options are three 32-bit integers: 1 for SAME padding
    or 2 for VALID, and the strides along the width and the height. SAME makes the output as many
    times as large as the stride says.
    """
    options = operation.custom_options()
    if len(options) != _BIAS_OPTIONS.size:
        raise operation.error(
            f"its options have {len(options)} bytes: expected {_BIAS_OPTIONS.size}"
        )
    kind, stride_x, stride_y = _BIAS_OPTIONS.unpack(options)
    if kind not in (_SAME, _VALID):
        raise operation.error(f"the padding is {kind}: expected SAME (1) or VALID (2)")
    if not (0 < stride_x <= _LARGEST and 0 < stride_y <= _LARGEST):
        raise operation.error(f"the strides are {[stride_y, stride_x]}: expected 1 to {_LARGEST}")
    weights, (_, height, width, _) = static_weights(operation, 4, operation.input())
    # The output has (n - 1) * stride + size - pads rows; SAME leaves n * stride of them.
    extra = [height - stride_y, width - stride_x] if kind == _SAME else [0, 0]
    if min(extra) < 0:
        raise RefusedError("its kernel is smaller than its stride")
    rows, columns = ((total // 2, total - total // 2) for total in extra)
    return operation.network.add(
        "TransposeConvolution2d",
        [operation.input(), weights, bias(operation, 2, operation.input())],
        _transposed(rows, columns, (stride_y, stride_x)),
        name=operation.layer_name(),
        outputs=[operation.info()],
    ).output


def _transposed(
    rows: tuple[int, int], columns: tuple[int, int], strides: tuple[int, int]
) -> TransposeConvolution2dDescriptor:
    """Return the parameters with padding of rows and columns.

    The padding is that before and after them.
    """
    return TransposeConvolution2dDescriptor(
        pad_top=rows[0],
        pad_bottom=rows[1],
        pad_left=columns[0],
        pad_right=columns[1],
        stride_y=strides[0],
        stride_x=strides[1],
        data_layout=DataLayout.NHWC,
    )
