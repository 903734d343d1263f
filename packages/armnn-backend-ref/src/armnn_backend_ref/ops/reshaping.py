# SPDX-License-Identifier: MIT
"""The same elements in another order, shape or number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from armnn.types import DataLayout, PaddingMode
from armnn_backend_ref.ops._registry import op
from armnn_backend_ref.ops.quantizing import to_type

if TYPE_CHECKING:
    from armnn.layers import Descriptor
    from armnn.layers.reshaping import (
        BatchToSpaceNdDescriptor,
        BroadcastToDescriptor,
        ChannelShuffleDescriptor,
        DepthToSpaceDescriptor,
        PadDescriptor,
        PermuteDescriptor,
        SpaceToBatchNdDescriptor,
        SpaceToDepthDescriptor,
        TileDescriptor,
        TransposeDescriptor,
    )
    from armnn.tensor import TensorInfo
    from armnn_backend_ref.ops._registry import Array

_PAD_MODES: dict[PaddingMode, Literal["reflect", "symmetric"]] = {
    PaddingMode.REFLECT: "reflect",
    PaddingMode.SYMMETRIC: "symmetric",
}


@op("Reshape", moves=True, typed=True)
def reshape(_d: Descriptor, outputs: Sequence[TensorInfo], x: Array) -> Array:
    """Return the elements in the same order with another shape."""
    return x.reshape(outputs[0].static_shape)


@op("Permute", moves=True)
def permute(d: PermuteDescriptor, x: Array) -> Array:
    """Move axis i of the input to axis ``d.dim_mappings[i]`` of the output."""
    return np.transpose(x, np.argsort(d.dim_mappings))


@op("Transpose", moves=True)
def transpose(d: TransposeDescriptor, x: Array) -> Array:
    """Take axis i of the output from axis ``d.dim_mappings[i]`` of the input."""
    return np.transpose(x, d.dim_mappings)


@op("SpaceToDepth", moves=True)
def space_to_depth(d: SpaceToDepthDescriptor, x: Array) -> Array:
    """Fold blocks of pixels into the channels: output channel = (row, column, input channel)."""
    layout = d.data_layout
    return _fold_blocks(x, layout.spatial_axes, (d.block_size,) * 2, layout.channel_axis)


@op("DepthToSpace", moves=True)
def depth_to_space(d: DepthToSpaceDescriptor, x: Array) -> Array:
    """Unfold the channels into blocks of pixels; the inverse of SpaceToDepth (ONNX: mode DCR)."""
    layout = d.data_layout
    if d.column_row_depth:
        channels = np.moveaxis(x, layout.channel_axis, -1)
        block = d.block_size**2
        pixels = channels.reshape(*channels.shape[:-1], channels.shape[-1] // block, block)
        x = np.moveaxis(pixels.swapaxes(-2, -1).reshape(channels.shape), -1, layout.channel_axis)
    return _unfold_blocks(x, layout.spatial_axes, (d.block_size,) * 2, layout.channel_axis)


@op("SpaceToBatchNd")
def space_to_batch_nd(d: SpaceToBatchNdDescriptor, x: Array) -> Array:
    """Pad with zeros, then fold blocks of the spatial axes into the batch, block first."""
    spatial = _spatial_axes(d.data_layout, len(d.block_shape))
    pads = [(0, 0)] * x.ndim
    for axis, pad in zip(spatial, d.pad_list, strict=True):
        pads[axis] = pad
    return _fold_blocks(np.pad(x, pads), spatial, d.block_shape, 0)


@op("BatchToSpaceNd", moves=True)
def batch_to_space_nd(d: BatchToSpaceNdDescriptor, x: Array) -> Array:
    """Unfold the batch into blocks of the spatial axes, then crop; inverts SpaceToBatchNd."""
    spatial = _spatial_axes(d.data_layout, len(d.block_shape))
    y = _unfold_blocks(x, spatial, d.block_shape, 0)
    kept = [slice(None)] * x.ndim
    for axis, (before, after) in zip(spatial, d.crops, strict=True):
        kept[axis] = slice(before, y.shape[axis] - after)
    return y[tuple(kept)]


@op("ChannelShuffle", moves=True)
def channel_shuffle(d: ChannelShuffleDescriptor, x: Array) -> Array:
    """Take one channel from each group in turn (Zhang et al. 2017, ShuffleNet)."""
    axis = d.axis % x.ndim
    groups = (d.num_groups, x.shape[axis] // d.num_groups)
    split = x.reshape(*x.shape[:axis], *groups, *x.shape[axis + 1 :])
    return split.swapaxes(axis, axis + 1).reshape(x.shape)


@op("BroadcastTo", moves=True)
def broadcast_to(d: BroadcastToDescriptor, x: Array) -> Array:
    """Repeat axes of one element; where the shape says 1 or nothing, the input's stays."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, d.broadcast_to_shape))


@op("Tile", moves=True)
def tile(d: TileDescriptor, x: Array) -> Array:
    """Put ``d.multiples[i]`` copies of the input one after the other along axis i."""
    shape = [part for pair in zip(d.multiples, x.shape, strict=True) for part in pair]
    spread = [part for size in x.shape for part in (1, size)]
    tiles = np.broadcast_to(x.reshape(spread), shape)
    return tiles.reshape([n * size for n, size in zip(d.multiples, x.shape, strict=True)])


@op("Pad")
def pad(d: PadDescriptor, x: Array) -> Array:
    """Write ``d.pad_value`` around the input, or the input mirrored at its border.

    The value is a real one whatever the type; it saturates. Arm NN takes it for a stored value
    when the tensor is quantised.
    """
    if d.padding_mode is not PaddingMode.CONSTANT:
        return np.pad(x, d.pad_list, _PAD_MODES[d.padding_mode])
    return np.pad(x, d.pad_list, constant_values=to_type(np.asarray(d.pad_value), x.dtype))


@op("ReverseV2", moves=True)
def reverse_v2(_d: Descriptor, x: Array, axes: Array) -> Array:
    """Reverse the order along each of ``axes``; none of them leaves the input as it is."""
    return np.flip(x, tuple(int(axis) for axis in axes.reshape(-1)))


def _spatial_axes(layout: DataLayout, count: int) -> tuple[int, ...]:
    first = 2 if layout.channel_axis == 1 else 1
    return tuple(range(first, first + count))


def _fold_blocks(x: Array, spatial: Sequence[int], block: Sequence[int], into: int) -> Array:
    """Move the position in each block of the spatial axes into another axis, as its slow part."""
    block_of = dict(zip(spatial, block, strict=True))
    split: list[int] = []
    order: list[int] = []
    for axis, size in enumerate(x.shape):
        order.append(len(split))
        split += [size // block_of[axis], block_of[axis]] if axis in block_of else [size]
    shape = [split[place] for place in order]
    shape[into] *= math.prod(block)
    order[into:into] = [order[axis] + 1 for axis in spatial]
    return x.reshape(split).transpose(order).reshape(shape)


def _unfold_blocks(x: Array, spatial: Sequence[int], block: Sequence[int], source: int) -> Array:
    """Do the inverse of :func:`_fold_blocks`: move the slow part of an axis into the others."""
    shape = list(x.shape)
    shape[source] //= math.prod(block)
    split = [*shape[:source], *block, *shape[source:]]
    order: list[int] = []
    for axis in range(x.ndim):
        order.append(axis if axis < source else axis + len(block))
        if axis in spatial:
            place = spatial.index(axis)
            order.append(source + place)
            shape[axis] *= block[place]
    return x.reshape(split).transpose(order).reshape(shape)
