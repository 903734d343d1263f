# SPDX-License-Identifier: MIT
"""Elements moved as they are stored: shapes, orders, parts and joints of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from armnn.layers.indexing import SliceDescriptor, StridedSliceDescriptor
from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor, StackDescriptor
from armnn.layers.reshaping import (
    BatchToSpaceNdDescriptor,
    ChannelShuffleDescriptor,
    DepthToSpaceDescriptor,
    PadDescriptor,
    PermuteDescriptor,
    SpaceToBatchNdDescriptor,
    SpaceToDepthDescriptor,
    TileDescriptor,
    TransposeDescriptor,
)
from armnn.quantization import quantize
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, PaddingMode
from armnn_backend_cl.elements import ANY, width_of
from armnn_backend_cl.launches import In, Launch, Out, Refused
from armnn_backend_cl.layers.table import constant, lowers, program, require, shape_of, width
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer


_TOGETHER: Final = 4
"""Elements that are moved at once where they lie behind each other."""


@lowers("Reshape")
def reshape(layer: Layer) -> Sequence[Launch]:
    """Copy all elements in their order."""
    size = math.prod(shape_of(layer.output_infos[0]))
    return [_move(layer, View.of([size]), View.of([size]))]


@lowers("Permute")
def permute(layer: Layer) -> Sequence[Launch]:
    """Move axis i of the input to axis ``dim_mappings[i]``."""
    d = cast("PermuteDescriptor", layer.descriptor)
    return [_move(layer, _input(layer).transposed(np.argsort(d.dim_mappings).tolist()))]


@lowers("Transpose")
def transpose(layer: Layer) -> Sequence[Launch]:
    """Take axis i of the output from axis ``dim_mappings[i]``."""
    d = cast("TransposeDescriptor", layer.descriptor)
    return [_move(layer, _input(layer).transposed(d.dim_mappings))]


@lowers("Concat")
def concat(layer: Layer) -> Sequence[Launch]:
    """Copy each input behind the one before it."""
    d = cast("ConcatDescriptor", layer.descriptor)
    target = _output(layer)
    axis = d.axis % len(target.shape)
    sources = [View.of(shape_of(info)) for info in layer.input_infos]
    starts = accumulate((source.shape[axis] for source in sources), initial=0)
    return [
        _move(layer, source, target.part(axis, start, source.shape[axis]), place)
        for place, (source, start) in enumerate(zip(sources, starts, strict=False))
    ]


@lowers("Stack")
def stack(layer: Layer) -> Sequence[Launch]:
    """Copy each input into its place along a new axis."""
    d = cast("StackDescriptor", layer.descriptor)
    target = _output(layer)
    axis = d.axis % len(target.shape)
    return [
        _move(layer, View.of(shape_of(info)), target.part(axis, place, 1).without(axis), place)
        for place, info in enumerate(layer.input_infos)
    ]


@lowers("Splitter")
def splitter(layer: Layer) -> Sequence[Launch]:
    """Copy each part into its output."""
    d = cast("SplitterDescriptor", layer.descriptor)
    source = _input(layer)
    axis = d.axis % len(source.shape)
    starts = accumulate(d.sizes, initial=0)
    return [
        _move(layer, source.part(axis, start, size), View.of(shape_of(info)), 0, place)
        for place, (start, size, info) in enumerate(
            zip(starts, d.sizes, layer.output_infos, strict=False)
        )
    ]


@lowers("Slice")
def slice_(layer: Layer) -> Sequence[Launch]:
    """Copy a box."""
    d = cast("SliceDescriptor", layer.descriptor)
    source = _input(layer)
    for axis, (first, count) in enumerate(
        zip(d.begin, shape_of(layer.output_infos[0]), strict=True)
    ):
        source = source.part(axis, first, count)
    return [_move(layer, source)]


@lowers("StridedSlice")
def strided_slice(layer: Layer) -> Sequence[Launch]:
    """Copy every so manieth element of a box."""
    d = cast("StridedSliceDescriptor", layer.descriptor)
    source = _input(layer)
    shape: list[int] = []
    strides: list[int] = []
    start, axis = source.start, 0
    for each in d.index(len(source.shape)):
        if each is None:
            shape.append(1)
            strides.append(0)
            continue
        size, step = source.shape[axis], source.strides[axis]
        axis += 1
        if isinstance(each, slice):
            places = range(*each.indices(size))
            start += (places.start if len(places) else 0) * step
            shape.append(len(places))
            strides.append(places.step * step)
        else:
            start += (each % size) * step
    shape += source.shape[axis:]
    strides += source.strides[axis:]
    return [_move(layer, View(tuple(shape), tuple(strides), start))]


@lowers("Pad")
def pad(layer: Layer) -> Sequence[Launch]:
    """Fill the output, and copy the input into its middle."""
    d = cast("PadDescriptor", layer.descriptor)
    if d.padding_mode is not PaddingMode.CONSTANT:
        return _mirrored(layer, d.pad_list, d.padding_mode)
    target = _output(layer)
    fill = _filled(layer.output_infos[0], d.pad_value)
    middle = target
    for axis, (before, _) in enumerate(d.pad_list):
        middle = middle.part(axis, before, shape_of(layer.input_infos[0])[axis])
    return [fill, _move(layer, _input(layer), middle)]


@lowers("ReverseV2")
def reverse(layer: Layer) -> Sequence[Launch]:
    """Read some axes from their ends."""
    axes = constant(layer, "axis")
    assert axes is not None
    source = _input(layer)
    for axis in {int(axis) % len(source.shape) for axis in axes.ravel()}:
        source = source.part(axis, max(source.shape[axis] - 1, 0), source.shape[axis], -1)
    return [_move(layer, source)]


@lowers("BitCast")
def bit_cast(layer: Layer) -> Sequence[Launch]:
    """Copy elements to a type of their size."""
    require(layer, *ANY)
    given, made = layer.input_infos[0], layer.output_infos[0]
    assert given is not None
    if given.is_quantized or made.is_quantized or width_of(given) != width_of(made):
        raise Refused("its tensors are quantized, or of elements of two sizes")
    size = View.of([made.num_elements])
    return [_move(layer, size, size, stored_as=width_of(made))]


@lowers("BroadcastTo")
def broadcast_to(layer: Layer) -> Sequence[Launch]:
    """Repeat axes of one element."""
    return [_move(layer, _input(layer).broadcast(shape_of(layer.output_infos[0])))]


@lowers("Tile")
def tile(layer: Layer) -> Sequence[Launch]:
    """Repeat the input along each axis."""
    d = cast("TileDescriptor", layer.descriptor)
    source = _input(layer)
    shape = [part for pair in zip(d.multiples, source.shape, strict=True) for part in pair]
    strides = [part for stride in source.strides for part in (0, stride)]
    tiles = View(tuple(shape), tuple(strides))
    return [_move(layer, tiles, View.of(tiles.shape))]


@lowers("SpaceToDepth")
def space_to_depth(layer: Layer) -> Sequence[Launch]:
    """Move the place in each block of pixels into the channels, as their slow part."""
    d = cast("SpaceToDepthDescriptor", layer.descriptor)
    blocks = _in_blocks(_pixels(_input(layer), d.data_layout), (d.block_size,) * 2)
    # [N,H,b,W,b,C] as [N,H,W,b,b,C], which is a split of the output's channels.
    source = blocks.transposed((0, 1, 3, 2, 4, 5))
    target = _pixels(_output(layer), d.data_layout)
    return [_move(layer, source, target.split(3, *source.shape[3:]))]


@lowers("DepthToSpace")
def depth_to_space(layer: Layer) -> Sequence[Launch]:
    """Move the slow part of the channels, or the fast one, into blocks of pixels."""
    d = cast("DepthToSpaceDescriptor", layer.descriptor)
    source = _pixels(_input(layer), d.data_layout)
    block = d.block_size
    channels = source.shape[3] // block**2
    if d.column_row_depth:
        source = source.split(3, channels, block, block).transposed((0, 1, 2, 4, 5, 3))
    else:
        source = source.split(3, block, block, channels)
    target = _in_blocks(_pixels(_output(layer), d.data_layout), (block, block))
    return [_move(layer, source, target.transposed((0, 1, 3, 2, 4, 5)))]


@lowers("SpaceToBatchNd")
def space_to_batch_nd(layer: Layer) -> Sequence[Launch]:
    """Move the place in each block of pixels into the batch, as its slow part."""
    d = cast("SpaceToBatchNdDescriptor", layer.descriptor)
    if any(map(any, d.pad_list)) or len(d.block_shape) != 2:
        raise Refused("it has padding, or not two block axes, expected two and no padding")
    blocks = _in_blocks(_pixels(_input(layer), d.data_layout), d.block_shape)
    source = blocks.transposed((2, 4, 0, 1, 3, 5))
    target = _pixels(_output(layer), d.data_layout)
    return [_move(layer, source, target.split(0, *source.shape[:3]))]


@lowers("BatchToSpaceNd")
def batch_to_space_nd(layer: Layer) -> Sequence[Launch]:
    """Move the slow part of the batch into blocks of pixels."""
    d = cast("BatchToSpaceNdDescriptor", layer.descriptor)
    if any(map(any, d.crops)) or len(d.block_shape) != 2:
        raise Refused("it has crops, or not two block axes, expected two and no crops")
    source = _pixels(_input(layer), d.data_layout)
    source = source.split(0, *d.block_shape, source.shape[0] // math.prod(d.block_shape))
    target = _in_blocks(_pixels(_output(layer), d.data_layout), d.block_shape)
    return [_move(layer, source, target.transposed((2, 4, 0, 1, 3, 5)))]


@lowers("ChannelShuffle")
def channel_shuffle(layer: Layer) -> Sequence[Launch]:
    """Take one channel of each group in turn."""
    d = cast("ChannelShuffleDescriptor", layer.descriptor)
    source = _input(layer)
    axis = d.axis % len(source.shape)
    split = source.split(axis, d.num_groups, source.shape[axis] // d.num_groups)
    order = list(range(len(split.shape)))
    order[axis], order[axis + 1] = axis + 1, axis
    shuffled = split.transposed(order)
    return [_move(layer, shuffled, View.of(shuffled.shape))]


def _input(layer: Layer) -> View:
    return View.of(shape_of(layer.input_infos[0]))


def _output(layer: Layer) -> View:
    return View.of(shape_of(layer.output_infos[0]))


def _pixels(view: View, layout: DataLayout) -> View:
    """Return a picture with its channels last."""
    if len(view.shape) != 4:
        raise Refused(f"the input has {len(view.shape)} axes, expected 4")
    return view if layout is DataLayout.NHWC else view.transposed((0, 2, 3, 1))


def _in_blocks(view: View, block: Sequence[int]) -> View:
    """Return [N,H,W,C] as [N,H/b,b,W/b,b,C]."""
    rows, columns = block
    return view.split(2, view.shape[2] // columns, columns).split(1, view.shape[1] // rows, rows)


def _mirrored(layer: Layer, pads: Sequence[tuple[int, int]], mode: PaddingMode) -> Sequence[Launch]:
    """Copy the input, and around it its mirror images: a part for each side of each axis."""
    source, target = _input(layer), _output(layer)
    skipped = 1 if mode is PaddingMode.REFLECT else 0  # the edge is not repeated
    parts = [(source, target)]
    for axis, (before, after) in enumerate(pads):
        size = source.shape[axis]
        if max(before, after) > size - skipped:
            raise Refused(
                f"pad_list pads axis {axis} by {max(before, after)}, expected at most "
                f"{size - skipped} for padding_mode {mode.arm_name}"
            )
        sides = [(0, size, 1, before)]
        if before:
            sides.append((before - 1 + skipped, before, -1, 0))
        if after:
            sides.append((size - 1 - skipped, after, -1, before + size))
        parts = [
            (read.part(axis, first, count, step), written.part(axis, at, count))
            for read, written in parts
            for first, count, step, at in sides
        ]
    return [_move(layer, read, written) for read, written in parts]


def _filled(info: TensorInfo, value: float) -> Launch:
    """Return the launch that sets all elements of the output to a real value."""
    kind, dtype = info.data_type, info.data_type.numpy_dtype
    if info.is_quantized:
        encoded = quantize(np.asarray(value, np.float32), info)
    elif kind.is_integer:  # saturates, and is cut off
        limits = np.iinfo(dtype)
        whole = min(max(value, limits.min), limits.max) if value == value else 0  # not NaN
        encoded = np.asarray(int(whole), dtype)
    else:
        encoded = np.asarray(value, np.float64).astype(dtype)
    stored = np.zeros(8, np.uint8)
    stored[: encoded.nbytes] = encoded.reshape(1).view(np.uint8)
    low, high = (int(word) for word in stored.view(np.int32))
    arguments = (Out(0), info.num_elements, low, high)
    source = program("move.cl", T=width_of(info), WIDTH=1)
    return Launch(source, "fill", arguments, info.num_elements)


def _move(
    layer: Layer,
    source: View,
    target: View | None = None,
    read: int = 0,
    written: int = 0,
    stored_as: str = "",
) -> Launch:
    """Return the launch that copies one view into another of its shape.

    Args:
        layer: The layer.
        source: What is read.
        target: What is written, by default all of the output.
        read: The input.
        written: The output.
        stored_as: The type of elements of one size, by default of tensors that are stored alike.
    """
    target = _output(layer) if target is None else target
    sizes, (from_strides, to_strides) = walked(source, target)
    wide = _TOGETHER if from_strides[0] == to_strides[0] == 1 and sizes[0] % _TOGETHER == 0 else 1
    count = source.size // wide
    sizes[0] //= wide
    from_strides[0] *= wide
    to_strides[0] *= wide
    arguments = (
        In(read, source.start),
        Out(written, target.start),
        count,
        sizes,
        from_strides,
        to_strides,
    )
    text = program("move.cl", T=stored_as or width(layer), WIDTH=wide)
    return Launch(text, "move", arguments, count)
