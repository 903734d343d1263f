# SPDX-License-Identifier: MIT
"""Convolutions over two axes, and products with constant weights, which are such."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from armnn.layers.activation import ActivationDescriptor
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn.types import DataType
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.launches import Argument, In, Launch, Out, Weights
from armnn_backend_cl.layers.elementwise import activation_function
from armnn_backend_cl.layers.table import (
    constant,
    lowers,
    program,
    require,
    require_nhwc,
    shape_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

_WIDTHS: Final = (8, 16)
"""Output channels that a work item of ``convolve.cl`` makes, the fewest that hold all or the most."""

_PLACES: Final = 4
"""Places whose results it makes."""

_SIDE: Final = 8
"""The most panels of channels that a group of work items makes, of as many times four places."""


@lowers("Convolution2d")
def convolution2d(layer: Layer, activation: ActivationDescriptor | None = None) -> Sequence[Launch]:
    """Return the launch of a convolution and of an activation of its results."""
    d = cast("Convolution2dDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    require_nhwc(d.data_layout)
    weights, bias = constant(layer, "weights"), constant(layer, "bias")
    assert weights is not None
    batch, height, width, channels = shape_of(layer.input_infos[0])
    _, out_height, out_width, out_channels = shape_of(layer.output_infos[0])
    groups = channels // max(weights.shape[3], 1) or 1
    window = _window(d, weights)
    sizes = (groups, height, width, channels, out_height, out_width, out_channels)
    places = batch * out_height * out_width
    return [_convolve(weights, bias, places, sizes, window, activation)]


@lowers("FullyConnected")
def fully_connected(
    layer: Layer, activation: ActivationDescriptor | None = None
) -> Sequence[Launch]:
    """Return the launch of a convolution of single pixels."""
    d = cast("FullyConnectedDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    weights, bias = constant(layer, "weights"), constant(layer, "bias")
    assert weights is not None
    rows, outputs = shape_of(layer.output_infos[0])
    depth = weights.shape[1 if d.transpose_weight_matrix else 0]
    window = (1, 1, 1, 1, 1, 1, 0, 0)
    sizes = (1, rows, 1, depth, rows, 1, outputs)
    transposed = not d.transpose_weight_matrix
    return [_convolve(weights, bias, rows, sizes, window, activation, is_transposed=transposed)]


@lowers("DepthwiseConvolution2d")
def depthwise_convolution2d(
    layer: Layer, activation: ActivationDescriptor | None = None
) -> Sequence[Launch]:
    """Return the launch of a depthwise convolution and of an activation of its results."""
    d = cast("DepthwiseConvolution2dDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    require_nhwc(d.data_layout)
    weights, bias = constant(layer, "weights"), constant(layer, "bias")
    assert weights is not None
    _, height, width, channels = shape_of(layer.input_infos[0])
    out_shape = shape_of(layer.output_infos[0])
    window = _window(d, weights)
    text, a, b = activation_function(activation)
    arguments: tuple[Argument, ...] = (
        In(0),
        Weights((weights,), "as they are", lambda array: array),
        _bias(weights, bias, out_shape[3]),
        Out(0),
        math.prod(out_shape),
        height,
        width,
        channels,
        *out_shape[1:3],
        out_shape[3] // max(channels, 1),
        window,
        a,
        b,
    )
    source = program(text, "depthwise.cl")
    return [Launch(source, "depthwise", arguments, math.prod(out_shape))]


@lowers("TransposeConvolution2d")
def transpose_convolution2d(
    layer: Layer, activation: ActivationDescriptor | None = None
) -> Sequence[Launch]:
    """Return the launch of a transposed convolution and of an activation of its results."""
    d = cast("TransposeConvolution2dDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    require_nhwc(d.data_layout)
    weights, bias = constant(layer, "weights"), constant(layer, "bias")
    assert weights is not None
    _, height, width, channels = shape_of(layer.input_infos[0])
    out_shape = shape_of(layer.output_infos[0])
    window = (
        *weights.shape[1:3],
        *(max(stride, 1) for stride in d.strides),
        1,
        1,
        *(before for before, _ in d.padding),
    )
    text, a, b = activation_function(activation)
    groups = channels // max(weights.shape[3], 1) or 1
    arguments: tuple[Argument, ...] = (
        In(0),
        Weights((weights,), "taps first", lambda array: array.transpose(1, 2, 3, 0)),
        _bias(weights, bias, out_shape[3]),
        Out(0),
        math.prod(out_shape),
        groups,
        height,
        width,
        channels,
        *out_shape[1:],
        window,
        a,
        b,
    )
    source = program(text, "transpose_convolve.cl")
    return [Launch(source, "transpose_convolve", arguments, math.prod(out_shape))]


def _window(
    d: Convolution2dDescriptor | DepthwiseConvolution2dDescriptor, weights: NDArray[Any]
) -> tuple[int, ...]:
    """Return rows, columns, strides, dilations and padding before, as kernels take them."""
    return (*weights.shape[1:3], *d.strides, *d.dilations, *(before for before, _ in d.padding))


def _convolve(
    weights: NDArray[Any],
    bias: NDArray[Any] | None,
    places: int,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    activation: ActivationDescriptor | None,
    *,
    is_transposed: bool = False,
) -> Launch:
    """Return a launch of ``convolve.cl``.

    Args:
        weights: [O,KH,KW,I], or [O,I]; [I,O] with ``is_transposed``.
        bias: [O].
        places: Pixels of the output, those of all images.
        sizes: Groups; height, width and channels of the input; the same of the output.
        window: Rows, columns, strides, dilations, padding before.
        activation: What is done to each result.
        is_transposed: Whether the channels of the output are the last axis of the weights.
    """
    groups, out_channels = sizes[0], sizes[-1]
    channels, depth = out_channels // groups, sizes[3] // groups
    wide = next((each for each in _WIDTHS if each >= channels), _WIDTHS[-1])
    panels = -(-channels // wide)
    side = min(1 << (panels - 1).bit_length(), _SIDE)
    tiles = groups * -(-panels // side) * -(-places // (_PLACES * (GROUP // side)))

    def packed_weights(array: NDArray[Any]) -> NDArray[Any]:
        """Return [groups, panels, taps * I, wide], zeros behind the last channel, and I zeros."""
        rows = (array.T if is_transposed else array).reshape(groups, channels, -1)
        packed = np.zeros(groups * panels * rows.shape[2] * wide + depth, np.float32)
        shape = (groups, panels, rows.shape[2], wide)
        by_channel = packed[: math.prod(shape)].reshape(shape).transpose(0, 1, 3, 2)
        for panel in range(panels):
            part = rows[:, panel * wide : (panel + 1) * wide]
            by_channel[:, panel, : part.shape[1]] = part
        return packed

    def packed_bias(array: NDArray[Any]) -> NDArray[Any]:
        packed = np.zeros((groups, panels * wide), np.float32)
        packed[:, :channels] = array.reshape(groups, -1)
        return packed
    text, a, b = activation_function(activation)
    arguments: tuple[Argument, ...] = (
        In(0),
        Weights((weights,), ("panels", groups, is_transposed), packed_weights),
        _bias(weights, bias, out_channels, packed_bias, groups),
        Out(0),
        side,
        places,
        *sizes,
        window,
        a,
        b,
    )
    source = program(text, "convolve.cl", GROUP=GROUP, WIDTH=wide)
    return Launch(source, "convolve", arguments, tiles, groups=True)


def _bias(
    weights: NDArray[Any],
    bias: NDArray[Any] | None,
    channels: int,
    pack: Any = None,
    groups: int = 1,
) -> Weights:
    """Return the bias as a kernel reads it; of a layer without one it is zeros."""
    zeros = np.zeros(channels, np.float32)
    order = ("bias", groups, pack is None, bias is None, channels)

    def packed(array: NDArray[Any]) -> NDArray[Any]:
        values = zeros if bias is None else array
        return values if pack is None else pack(values)

    return Weights((weights if bias is None else bias,), order, packed)
