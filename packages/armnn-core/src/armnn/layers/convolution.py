# SPDX-License-Identifier: MIT
"""Convolutions in two and three dimensions: grouped, depthwise, transposed, integer."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import ClassVar

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, WindowDescriptor, parameter
from armnn.layers._shapes import (
    PICTURES,
    PLANAR,
    VOLUMETRIC,
    apply,
    is_multiple,
    require_rank,
    require_shape,
    same_dimension,
    window_positions,
)
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, result, slot
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape
from armnn.types import DataLayout, DataType

_INPUT = slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says.")
_BIAS = slot("bias", "One number per output channel, added to the sum.", optional=True)


def _convolution2d(descriptor: Convolution2dDescriptor, inputs: Inputs) -> Shapes:
    layout = descriptor.data_layout
    weights = require_rank(inputs, "weights", 4)
    _check_groups(inputs, layout, weights[layout.channel_axis], weights[0])
    window = [weights[axis] for axis in layout.spatial_axes]
    return [_convolved(descriptor, inputs, window, weights[0])]


def _products(_descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]) -> int:
    """Count multiply-adds with weights [O, ...].

    Each output element sums over all but the output channels.
    """
    return outputs[0].num_elements * math.prod(inputs.sizes("weights")[1:])


@layer(
    10,
    inputs=[
        _INPUT,
        slot(
            "weights",
            "[O,KH,KW,I] for NHWC, [O,I,KH,KW] for NCHW. I may be a divisor of the input's "
            "channels: the convolution then has channels / I groups.",
        ),
        _BIAS,
    ],
    infer=_convolution2d,
    numerics=Numerics(linear=True),
    axes=PICTURES,
    multiply_adds=_products,
)
class Convolution2dDescriptor(WindowDescriptor):
    """Correlation of the input with weights, plus a bias.

    Attributes:
        pad_left: Columns of zeros before the input.
        pad_right: Columns of zeros after the input.
        pad_top: Rows of zeros before the input.
        pad_bottom: Rows of zeros after the input.
        stride_x: Columns from one window to the next.
        stride_y: Rows from one window to the next.
        dilation_x: Columns from one element of a window to the next.
        dilation_y: Rows from one element of a window to the next.
        data_layout: NCHW or NHWC.
    """

    pad_left: int = parameter(0, at_least=0)
    pad_right: int = parameter(0, at_least=0)
    pad_top: int = parameter(0, at_least=0)
    pad_bottom: int = parameter(0, at_least=0)
    stride_x: int = parameter(1, at_least=1)
    stride_y: int = parameter(1, at_least=1)
    dilation_x: int = parameter(1, at_least=1)
    dilation_y: int = parameter(1, at_least=1)
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)


def _depthwise(descriptor: DepthwiseConvolution2dDescriptor, inputs: Inputs) -> Shapes:
    shape = require_rank(inputs, "input", 4)
    weights = require_rank(inputs, "weights", 4)
    channels, outputs = shape[descriptor.data_layout.channel_axis], weights[3]
    if not (same_dimension(weights[0], 1) and is_multiple(outputs, channels)):
        raise ShapeError(
            f"the weights of shape {format_shape(weights)} do not fit the {channels} channels of "
            f"the input {format_shape(shape)}: expected [1,KH,KW,{channels}*M]"
        )
    return [_convolved(descriptor, inputs, weights[1:3], outputs)]


def _depthwise_products(
    _descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds with weights [1, KH, KW, I*M].

    Each output element sums over one window.
    """
    return outputs[0].num_elements * math.prod(inputs.sizes("weights")[1:3])


@layer(
    13,
    inputs=[
        _INPUT,
        slot(
            "weights",
            "[1,KH,KW,I*M] for both layouts; output channel i*M+m reads input channel i.",
        ),
        _BIAS,
    ],
    infer=_depthwise,
    numerics=Numerics(linear=True),
    axes=PICTURES,
    multiply_adds=_depthwise_products,
)
class DepthwiseConvolution2dDescriptor(Convolution2dDescriptor):
    """A convolution of each channel with M kernels.

    Each channel makes M output channels.
    """


def _transposed(descriptor: TransposeConvolution2dDescriptor, inputs: Inputs) -> Shapes:
    layout = descriptor.data_layout
    shape = require_rank(inputs, "input", 4)
    weights = require_rank(inputs, "weights", 4)
    _check_groups(inputs, layout, weights[layout.channel_axis], weights[0])
    require_shape(inputs, "bias", (weights[0],))
    output = list(shape)
    output[layout.channel_axis] = weights[0]
    for index, axis in enumerate(layout.spatial_axes):
        output[axis] = apply(
            functools.partial(
                _transposed_size,
                stride=descriptor.strides[index],
                padding=sum(descriptor.padding[index]),
            ),
            shape[axis],
            weights[axis],
        )
    return [_requested_transposed(descriptor, output)]


def _transposed_size(size: int, window: int, *, stride: int, padding: int) -> int:
    total = stride * (size - 1) + window - padding
    if stride < 1 or window < 1 or total < 0:
        raise ShapeError(
            f"windows of {window} with a stride of {stride} and a padding of {padding} give no "
            f"output for {size} elements: expected a stride and a window of at least 1, and less "
            "padding"
        )
    return total


def _requested_transposed(
    descriptor: TransposeConvolution2dDescriptor, smallest: Sequence[Dimension]
) -> Shape:
    """Return ``output_shape`` after checking it.

    It may leave up to a stride minus one of positions untouched.
    """
    if not descriptor.output_shape_enabled:
        return tuple(smallest)
    layout, wanted = descriptor.data_layout, descriptor.output_shape
    slack = [1] * len(wanted)
    for axis, stride in zip(layout.spatial_axes, descriptor.strides, strict=True):
        slack[axis] = stride
    for size, least, room in zip(wanted, smallest, slack, strict=True):
        if isinstance(least, int) and not least <= size < least + room:
            raise ShapeError(
                f"the output_shape {format_shape(wanted)} cannot be made with these strides and "
                f"paddings: expected {format_shape(smallest)}, or a height and a width that "
                "are larger by less than a stride"
            )
    return wanted


def _transposed_products(
    descriptor: TransposeConvolution2dDescriptor, inputs: Inputs, _outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds with weights [O, ...], transposed.

    Each input position is multiplied by a window of every output channel.
    """
    sizes, channel_axis = inputs.sizes("input"), descriptor.data_layout.channel_axis
    positions = [size for axis, size in enumerate(sizes) if axis != channel_axis]
    return math.prod(positions) * math.prod(inputs.sizes("weights"))


@layer(
    62,
    inputs=[
        _INPUT,
        slot(
            "weights",
            "[O,KH,KW,I] for NHWC, [O,I,KH,KW] for NCHW; I may be a divisor of the input's "
            "channels, as in Convolution2d.",
        ),
        _BIAS,
    ],
    infer=_transposed,
    numerics=Numerics(linear=True),
    axes=PICTURES,
    multiply_adds=_transposed_products,
)
class TransposeConvolution2dDescriptor(WindowDescriptor):
    """Transposed convolution, the gradient of a convolution, plus bias.

    It is also called deconvolution. Each input element adds its window of weights, scaled, to the
    output. A spatial axis becomes stride * (size - 1) + window - padding long; ``output_shape`` may
    ask for up to stride - 1 more, which only the bias reaches.

    Attributes:
        pad_left: Columns cut off before the output.
        pad_right: Columns cut off after the output.
        pad_top: Rows cut off before the output.
        pad_bottom: Rows cut off after the output.
        stride_x: Output columns from one input column to the next; at least 1.
        stride_y: Output rows from one input row to the next; at least 1.
        data_layout: NCHW or NHWC.
        output_shape_enabled: Whether ``output_shape`` says the shape of the output.
        output_shape: The shape of the output, in the same layout.
    """

    pad_left: int = parameter(0, at_least=0)
    pad_right: int = parameter(0, at_least=0)
    pad_top: int = parameter(0, at_least=0)
    pad_bottom: int = parameter(0, at_least=0)
    stride_x: int = parameter(0, at_least=0)
    stride_y: int = parameter(0, at_least=0)
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)
    output_shape_enabled: bool = False
    output_shape: tuple[int, ...] = parameter((), at_least=0)

    def check(self) -> None:
        """Raise InvalidArgumentError if a parameter is outside of its range."""
        if len(self.output_shape) != (4 if self.output_shape_enabled else 0):
            raise InvalidArgumentError(
                f"{type(self).__name__}: output_shape_enabled is {self.output_shape_enabled} and "
                f"output_shape is {self.output_shape!r}, expected four dimensions if enabled, else "
                "none"
            )


def _convolution3d(descriptor: Convolution3dDescriptor, inputs: Inputs) -> Shapes:
    weights = require_rank(inputs, "weights", 5)
    require_rank(inputs, "input", 5)
    _check_groups(inputs, descriptor.data_layout, weights[3], weights[4])
    return [_convolved(descriptor, inputs, weights[:3], weights[4])]


def _products3d(_descriptor: Descriptor, inputs: Inputs, outputs: Sequence[TensorInfo]) -> int:
    """Count multiply-adds with weights [KD, KH, KW, I, O].

    Each output element sums over all but the last axis.
    """
    return outputs[0].num_elements * math.prod(inputs.sizes("weights")[:-1])


@layer(
    68,
    inputs=[
        slot("input", "[N,D,H,W,C] or [N,C,D,H,W], as ``data_layout`` says."),
        slot(
            "weights",
            "[KD,KH,KW,I,O] for both layouts; I may be a divisor of the input's channels, as in "
            "Convolution2d.",
        ),
        _BIAS,
    ],
    infer=_convolution3d,
    numerics=Numerics(linear=True),
    multiply_adds=_products3d,
)
class Convolution3dDescriptor(WindowDescriptor):
    """Correlation of the input with boxes of weights, plus bias.

    Attributes:
        pad_left: Columns of zeros before the input.
        pad_right: Columns of zeros after the input.
        pad_top: Rows of zeros before the input.
        pad_bottom: Rows of zeros after the input.
        pad_front: Planes of zeros before the input.
        pad_back: Planes of zeros after the input.
        stride_x: Columns from one window to the next.
        stride_y: Rows from one window to the next.
        stride_z: Planes from one window to the next.
        dilation_x: Columns from one element of a window to the next.
        dilation_y: Rows from one element of a window to the next.
        dilation_z: Planes from one element of a window to the next.
        data_layout: NDHWC or NCDHW.
    """

    pad_left: int = parameter(0, at_least=0)
    pad_right: int = parameter(0, at_least=0)
    pad_top: int = parameter(0, at_least=0)
    pad_bottom: int = parameter(0, at_least=0)
    pad_front: int = parameter(0, at_least=0)
    pad_back: int = parameter(0, at_least=0)
    stride_x: int = parameter(1, at_least=1)
    stride_y: int = parameter(1, at_least=1)
    stride_z: int = parameter(1, at_least=1)
    dilation_x: int = parameter(1, at_least=1)
    dilation_y: int = parameter(1, at_least=1)
    dilation_z: int = parameter(1, at_least=1)
    data_layout: DataLayout = parameter(DataLayout.NDHWC, one_of=VOLUMETRIC)

    spatial_axes: ClassVar[str] = "zyx"


def _convolved(
    descriptor: Convolution2dDescriptor | Convolution3dDescriptor,
    inputs: Inputs,
    window: Sequence[Dimension],
    channels: Dimension,
) -> Shape:
    """Return a convolution's output shape, with its bias checked."""
    layout = descriptor.data_layout
    shape = inputs.shape("input")
    if inputs.spec.inputs[2] is _BIAS:
        require_shape(inputs, "bias", (channels,))
    output = list(shape)
    output[layout.channel_axis] = channels
    strides, dilations, padding = descriptor.strides, descriptor.dilations, descriptor.padding
    for index, axis in enumerate(layout.spatial_axes):
        output[axis] = window_positions(
            shape[axis],
            window[index],
            stride=strides[index],
            dilation=dilations[index],
            padding=padding[index],
        )
    return tuple(output)


def _check_groups(
    inputs: Inputs, layout: DataLayout, per_group: Dimension, outputs: Dimension
) -> None:
    """Check that the weights fit the groups of channels.

    The groups split the channels of the input and of the output.
    """
    shape = require_rank(inputs, "input", len(layout.name))
    channels = shape[layout.channel_axis]
    groups = apply(lambda count, one: count // one if one else 1, channels, per_group)
    if not (is_multiple(channels, per_group) and is_multiple(outputs, groups)):
        raise ShapeError(
            f"the weights of shape {format_shape(inputs.shape('weights'))} do not fit the input "
            f"of shape {format_shape(shape)}: they read {per_group} channels and make {outputs}, "
            f"expected a divisor of {channels} to be read and a multiple of the number of groups "
            "to be made"
        )


def _convolution_integer(descriptor: ConvolutionIntegerDescriptor, inputs: Inputs) -> Shapes:
    outputs = require_rank(inputs, "weights", 4)[0]
    for name, allowed in (("input_zero_point", 1), ("weights_zero_point", outputs)):
        zero = inputs.get(name)
        if zero is not None and zero.shape not in ((), (1,)):
            require_shape(inputs, name, (allowed,))
    return _convolution2d(descriptor, inputs)


@layer(
    1024,
    inputs=[
        slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says; Signed8 or Unsigned8."),
        slot("weights", "As those of Convolution2d; Signed8 or Unsigned8."),
        slot("input_zero_point", "One number, which is taken off the input.", optional=True),
        slot(
            "weights_zero_point",
            "The zero points of the weights: one, or one for each output channel.",
            optional=True,
        ),
    ],
    outputs=[result(data_types=[DataType.SIGNED32])],
    infer=_convolution_integer,
    axes=PICTURES,
    multiply_adds=_products,
)
class ConvolutionIntegerDescriptor(Convolution2dDescriptor):
    """An exact Convolution2d of small integers (ONNX: ConvInteger).

    What is added around the input is its zero point; sums wrap around modulo 2^32.
    """
