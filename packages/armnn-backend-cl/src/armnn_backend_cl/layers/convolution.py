# SPDX-License-Identifier: MIT
"""Convolutions over two axes, and products with constant weights, which are such."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn_backend_cl.chains import NO_CHAIN, Chain
from armnn_backend_cl.elements import FLOATING, REALS, reals_of, vector_accessors
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused, Tile, Tiling, Weights
from armnn_backend_cl.layers.table import (
    MOST_ELEMENTS,
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

WIDTHS: Final = (16, 4)
"""Columns of a product of matrices that a work item makes, many or few."""

_CHANNELS: Final = 8
"""Channels that a work item of ``depthwise.cl`` makes."""

_ROWS: Final = 4
"""Rows of a product that is not tuned, or places of a depthwise convolution, of a work item."""

_SIDE: Final = 8
"""The most panels of columns that a group of work items makes of a product that is not tuned."""


@lowers("Convolution2d")
def convolution2d(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Return the launch of a convolution and of the layers fused behind it."""
    d = cast("Convolution2dDescriptor", layer.descriptor)
    _require_reals(layer)
    require_nhwc(d.data_layout)
    weights = _constant(layer, "weights")
    batch, height, width, channels = shape_of(layer.input_infos[0])
    _, out_height, out_width, out_channels = shape_of(layer.output_infos[0])
    groups = channels // max(weights.shape[3], 1) or 1
    window = window_of(d, weights)
    sizes = (groups, height, width, channels, out_height, out_width, out_channels)
    places = batch * out_height * out_width
    return [_convolve(layer, "weights", places, sizes, window, chain)]


@lowers("FullyConnected")
def fully_connected(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Return the launch of a convolution of single pixels."""
    d = cast("FullyConnectedDescriptor", layer.descriptor)
    _require_reals(layer)
    return [product(layer, "weights", chain, is_transposed=not d.transpose_weight_matrix)]


@lowers("DepthwiseConvolution2d")
def depthwise_convolution2d(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Return the launch of a depthwise convolution and of the layers fused behind it."""
    d = cast("DepthwiseConvolution2dDescriptor", layer.descriptor)
    _require_reals(layer)
    require_nhwc(d.data_layout)
    weights = _constant(layer, "weights")
    _, height, width, channels = shape_of(layer.input_infos[0])
    out_shape = shape_of(layer.output_infos[0])
    window = window_of(d, weights)
    batch, out_height, out_width, out_channels = out_shape
    multiplier = out_channels // max(channels, 1)
    wide = _CHANNELS if multiplier == 1 and channels >= _CHANNELS else 1
    items = batch * out_height * -(-out_width // _ROWS) * -(-out_channels // wide)
    arguments: tuple[Argument, ...] = (
        *chain.arguments,
        In(0),
        _constants(layer, "weights")("as they are", lambda array: array),
        biases(layer, "weights", out_shape[3])("bias", lambda array: array),
        Out(0),
        items,
        height,
        width,
        channels,
        *out_shape[1:3],
        multiplier,
        window,
    )
    source = program(_accessors(layer), chain.text, "depthwise.cl", WIDTH=wide)
    return [Launch(source, "depthwise", arguments, items)]


@lowers("TransposeConvolution2d")
def transpose_convolution2d(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Return the launch of a transposed convolution and of the layers fused behind it."""
    d = cast("TransposeConvolution2dDescriptor", layer.descriptor)
    _require_reals(layer)
    require_nhwc(d.data_layout)
    weights = _constant(layer, "weights")
    _, height, width, channels = shape_of(layer.input_infos[0])
    out_shape = shape_of(layer.output_infos[0])
    window = transposed_window(d, weights)
    groups = channels // max(weights.shape[3], 1) or 1
    arguments: tuple[Argument, ...] = (
        *chain.arguments,
        In(0),
        _constants(layer, "weights")("taps first", lambda array: array.transpose(1, 2, 3, 0)),
        biases(layer, "weights", out_shape[3])("bias", lambda array: array),
        Out(0),
        math.prod(out_shape),
        groups,
        height,
        width,
        channels,
        *out_shape[1:],
        window,
    )
    source = program(_accessors(layer), chain.text, "transpose_convolve.cl", WIDTH=1)
    return [Launch(source, "transpose_convolve", arguments, math.prod(out_shape))]


def transposed_window(
    d: TransposeConvolution2dDescriptor, weights: NDArray[Any]
) -> tuple[int, ...]:
    """Return rows, columns, strides, 1, 1 and padding before, as kernels take them."""
    strides = (max(stride, 1) for stride in d.strides)
    return (*weights.shape[1:3], *strides, 1, 1, *(before for before, _ in d.padding))


def product(layer: Layer, name: str, chain: Chain, *, is_transposed: bool) -> Launch:
    """Return the launch of a product with constants and of the layers fused behind it.

    Args:
        layer: Its input and output; an input "bias" is added.
        name: The input of constants, [O,I], or [I,O] with ``is_transposed``.
        chain: What is done to each result.
        is_transposed: Whether the columns of the output are the last axis of the weights.
    """
    shape = _constant(layer, name).shape
    depth, columns = shape if is_transposed else shape[::-1]
    rows = math.prod(shape_of(layer.output_infos[0])) // max(columns, 1)
    sizes = (1, rows, 1, depth, rows, 1, columns)
    window = (1, 1, 1, 1, 1, 1, 0, 0)
    return _convolve(layer, name, rows, sizes, window, chain, is_transposed=is_transposed)


def default_tile(width: int, panels: int) -> Tile:
    """Return the tile of a product that is not tuned."""
    return Tile(_ROWS, width, min(1 << max(panels - 1, 0).bit_length(), _SIDE))


def count_of_groups(rows: int, panels: int, tile: Tile) -> int:
    """Return how many groups of work items make a product."""
    return -(-panels // tile.side) * -(-rows // (tile.rows * (tile.group // tile.side)))


def macros_of(tile: Tile) -> dict[str, object]:
    """Return the macros of a tile."""
    return {"GROUP": tile.group, "ROWS": tile.rows, "WIDTH": tile.width}


def window_of(
    d: Convolution2dDescriptor | DepthwiseConvolution2dDescriptor, weights: NDArray[Any]
) -> tuple[int, ...]:
    """Return rows, columns, strides, dilations and padding before, as kernels take them."""
    return (*weights.shape[1:3], *d.strides, *d.dilations, *(before for before, _ in d.padding))


def _convolve(
    layer: Layer,
    name: str,
    places: int,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    chain: Chain,
    *,
    is_transposed: bool = False,
) -> Launch:
    """Return a launch of ``convolve.cl``.

    Args:
        layer: Its input and output; an input "bias", [O], is added.
        name: The input of weights, [O,KH,KW,I], or [O,I]; [I,O] with ``is_transposed``.
        places: Pixels of the output, those of all images.
        sizes: Groups; height, width and channels of the input; the same of the output.
        window: Rows, columns, strides, dilations, padding before.
        chain: What is done to each result.
        is_transposed: Whether the channels of the output are the last axis of the weights.
    """
    groups, out_channels = sizes[0], sizes[-1]
    channels, depth = out_channels // groups, sizes[3] // groups
    depth_of_sums = math.prod(window[:2]) * depth
    if (size := groups * (channels + WIDTHS[0]) * depth_of_sums) > MOST_ELEMENTS:
        raise Refused(f"its packed weights have {size} elements, expected at most {MOST_ELEMENTS}")
    weights, bias = _constants(layer, name), biases(layer, name, out_channels)
    parts = (_accessors(layer), chain.text, "tile.cl", "convolve.cl")

    def launch(tile: Tile) -> Launch:
        """Return the launch; it must not keep the layer, nor may this function."""
        wide = tile.width
        panels = -(-channels // wide)

        def packed_weights(array: NDArray[Any]) -> NDArray[Any]:
            """Return [groups, panels, taps * I, wide], padded by zeros, and I more zeros."""
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

        arguments: tuple[Argument, ...] = (
            *chain.arguments,
            In(0),
            weights(("panels", groups, is_transposed, wide), packed_weights),
            bias(("bias", groups, wide), packed_bias),
            Out(0),
            tile.side,
            places,
            *sizes,
            window,
        )
        source = program(*parts, **macros_of(tile))
        count = groups * count_of_groups(places, panels, tile)
        tiling = Tiling(tile, panels, max(WIDTHS), launch)
        return Launch(source, "convolve", arguments, count, groups=True, tiling=tiling)

    wide = WIDTHS[channels <= WIDTHS[1]]
    return launch(default_tile(wide, -(-channels // wide)))


def _require_reals(layer: Layer) -> None:
    """Require data of a floating type, and constants that are real.

    Raises:
        Refused: They are not.
    """
    require(layer, *FLOATING, but=["weights", "bias"])
    require(layer, *REALS)


def _accessors(layer: Layer) -> str:
    x = layer.input_infos[0]
    assert x is not None
    return vector_accessors(layer.output_infos[0], x=x)


def _constant(layer: Layer, name: str) -> NDArray[Any]:
    """Return the stored values of an input that is there and constant."""
    values = constant(layer, name)
    assert values is not None
    return values


_Packer: TypeAlias = Callable[[Hashable, Callable[["NDArray[Any]"], "NDArray[Any]"]], Weights]
"""Returns constants in an order, made by a function of real numbers."""


def _constants(layer: Layer, name: str) -> _Packer:
    """Return a function that makes the packed weights of a kernel from a constant of the layer."""
    info = layer.input_infos[layer.spec.input_index(name)]
    assert info is not None
    stored, decode = _constant(layer, name), reals_of(info)
    return lambda order, pack: Weights((stored,), (order, info), lambda array: pack(decode(array)))


def biases(layer: Layer, name: str, channels: int) -> _Packer:
    """Return a function that makes the packed bias of a kernel, zeros for a layer without bias.

    The identity of the weights, the input ``name``, is the key of these zeros.
    """
    has_bias = any(slot.name == "bias" for slot in layer.spec.inputs)
    if has_bias and layer.input("bias") is not None:
        return _constants(layer, "bias")
    stored = _constant(layer, name)
    return lambda order, pack: Weights(
        (stored,), (order, channels), lambda _: pack(np.zeros(channels, np.float32))
    )
