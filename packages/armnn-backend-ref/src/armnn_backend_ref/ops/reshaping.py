# SPDX-License-Identifier: MIT
"""Layers that give the same elements in another order, shape or number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

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
from armnn.types import DataLayout, PaddingMode
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.quantizing import to_type

_PAD_MODES: dict[PaddingMode, Literal["reflect", "symmetric"]] = {
    PaddingMode.REFLECT: "reflect",
    PaddingMode.SYMMETRIC: "symmetric",
}


@op("Reshape", typed=True)
def reshape(_d: Descriptor, outputs: Sequence[TensorInfo], x: Array) -> Array:
    """Return the elements in the same order with another shape."""
    return x.reshape(outputs[0].static_shape)


@op("Permute")
def permute(d: PermuteDescriptor, x: Array) -> Array:
    """Move input axis i to output axis ``d.dim_mappings[i]``."""
    return np.transpose(x, np.argsort(d.dim_mappings))


@op("Transpose")
def transpose(d: TransposeDescriptor, x: Array) -> Array:
    """Take output axis i from input axis ``d.dim_mappings[i]``."""
    return np.transpose(x, d.dim_mappings)


@op("SpaceToDepth")
def space_to_depth(d: SpaceToDepthDescriptor, x: Array) -> Array:
    """Fold blocks of pixels into the channels.

    An output channel is (row, column, input channel).
    """
    layout = d.data_layout
    return _fold_blocks(x, layout.spatial_axes, (d.block_size,) * 2, layout.channel_axis)


@op("DepthToSpace")
def depth_to_space(d: DepthToSpaceDescriptor, x: Array) -> Array:
    """Unfold the channels into blocks of pixels.

    It is the inverse of SpaceToDepth (ONNX: mode DCR).
    """
    layout = d.data_layout
    if d.column_row_depth:
        channels = np.moveaxis(x, layout.channel_axis, -1)
        block = d.block_size**2
        pixels = channels.reshape(*channels.shape[:-1], channels.shape[-1] // block, block)
        x = np.moveaxis(pixels.swapaxes(-2, -1).reshape(channels.shape), -1, layout.channel_axis)
    return _unfold_blocks(x, layout.spatial_axes, (d.block_size,) * 2, layout.channel_axis)


@op("SpaceToBatchNd")
def space_to_batch_nd(d: SpaceToBatchNdDescriptor, x: Array) -> Array:
    """Pad with zeros, then fold spatial blocks into the batch.

    The position in the block is the slow part of the batch index.
    """
    spatial = _spatial_axes(d.data_layout, len(d.block_shape))
    pads = [(0, 0)] * x.ndim
    for axis, pad in zip(spatial, d.pad_list, strict=True):
        pads[axis] = pad
    return _fold_blocks(np.pad(x, pads), spatial, d.block_shape, 0)


@op("BatchToSpaceNd")
def batch_to_space_nd(d: BatchToSpaceNdDescriptor, x: Array) -> Array:
    """Unfold the batch into spatial blocks, then crop.

    It is the inverse of SpaceToBatchNd.
    """
    spatial = _spatial_axes(d.data_layout, len(d.block_shape))
    y = _unfold_blocks(x, spatial, d.block_shape, 0)
    kept = [slice(None)] * x.ndim
    for axis, (before, after) in zip(spatial, d.crops, strict=True):
        kept[axis] = slice(before, y.shape[axis] - after)
    return y[tuple(kept)]


@op("ChannelShuffle")
def channel_shuffle(d: ChannelShuffleDescriptor, x: Array) -> Array:
    """Take one channel from each group in turn (ShuffleNet, 2017)."""
    axis = d.axis % x.ndim
    groups = (d.num_groups, x.shape[axis] // d.num_groups)
    split = x.reshape(*x.shape[:axis], *groups, *x.shape[axis + 1 :])
    return split.swapaxes(axis, axis + 1).reshape(x.shape)


@op("BroadcastTo")
def broadcast_to(d: BroadcastToDescriptor, x: Array) -> Array:
    """Repeat axes of one element.

    Where the target shape has 1 or no axis, the input's axis stays.
    """
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, d.broadcast_to_shape))


@op("Tile")
def tile(d: TileDescriptor, x: Array) -> Array:
    """Repeat the input ``d.multiples[i]`` times along each axis i."""
    shape = [part for pair in zip(d.multiples, x.shape, strict=True) for part in pair]
    spread = [part for size in x.shape for part in (1, size)]
    tiles = np.broadcast_to(x.reshape(spread), shape)
    return tiles.reshape([n * size for n, size in zip(d.multiples, x.shape, strict=True)])


@op("Pad")
def pad(d: PadDescriptor, x: Array) -> Array:
    """Surround the input with ``d.pad_value`` or its mirror image.

    The value is a real one whatever the type; it saturates. Arm NN takes it for a stored value
    when the tensor is quantized.
    """
    if not x.ndim:
        return x  # np.pad takes no empty list
    if d.padding_mode is not PaddingMode.CONSTANT:
        return np.pad(x, d.pad_list, _PAD_MODES[d.padding_mode])
    return np.pad(x, d.pad_list, constant_values=to_type(np.asarray(d.pad_value), x.dtype))


@op("ReverseV2")
def reverse_v2(_d: Descriptor, x: Array, axes: Array) -> Array:
    """Reverse the order along each of ``axes``.

    Without axes the input stays as it is.
    """
    return np.flip(x, tuple(int(axis) for axis in axes.reshape(-1)))


def _spatial_axes(layout: DataLayout, count: int) -> tuple[int, ...]:
    first = 2 if layout.channel_axis == 1 else 1
    return tuple(range(first, first + count))


def _fold_blocks(x: Array, spatial: Sequence[int], block: Sequence[int], into: int) -> Array:
    """Fold the position in each spatial block into another axis.

    It becomes the slow part of that axis.
    """
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
    """Unfold the slow part of an axis into spatial blocks.

    It is the inverse of :func:`_fold_blocks`.
    """
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
