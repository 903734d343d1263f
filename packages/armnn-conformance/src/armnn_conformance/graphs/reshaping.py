# SPDX-License-Identifier: MIT
"""Layers of random graphs that move elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armnn.layers.indexing import SliceDescriptor, StridedSliceDescriptor
from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor, StackDescriptor
from armnn.layers.reshaping import (
    DepthToSpaceDescriptor,
    PadDescriptor,
    PermuteDescriptor,
    ReshapeDescriptor,
    SpaceToDepthDescriptor,
    TileDescriptor,
    TransposeDescriptor,
)
from armnn.layers.resizing import ResizeDescriptor
from armnn.types import DataLayout, ResizeMethod
from armnn_conformance.graphs._graph import Draw, GraphValue, LayerDraw, candidate


@candidate(ReshapeDescriptor)
def reshape(draw: Draw, x: GraphValue) -> LayerDraw:
    """Join two axes, or append one of length 1."""
    shape = list(x.shape)
    if len(shape) > 2:
        at = draw.number(0, len(shape) - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        shape.append(1)
    target = tuple(shape)
    descriptor = ReshapeDescriptor(target_shape=target)
    return LayerDraw(descriptor, (x,), lambda x: x.reshape(target), x.info, any_batch=False)


@candidate(ReshapeDescriptor)
def image(_draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Reshape a tensor of another rank to an image."""
    if len(x.shape) == 4:
        return None
    total = math.prod(x.shape)
    height = next(each for each in (4, 3, 2, 1) if total % each == 0)
    target = (1, height, total // height, 1)
    descriptor = ReshapeDescriptor(target_shape=target)
    return LayerDraw(descriptor, (x,), lambda x: x.reshape(target), x.info, any_batch=False)


@candidate(TransposeDescriptor)
def transpose(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw an order of the axes behind the batch."""
    order = (0, *(1 + int(axis) for axis in draw.random.permutation(len(x.shape) - 1)))
    return LayerDraw(
        TransposeDescriptor(dim_mappings=order), (x,), lambda x: x.transpose(order), x.info
    )


@candidate(PermuteDescriptor)
def permute(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw an order: axis i becomes the mapped axis."""
    order = tuple(int(axis) for axis in draw.random.permutation(len(x.shape)))
    inverse = tuple(int(axis) for axis in np.argsort(order))
    descriptor = PermuteDescriptor(dim_mappings=order)
    return LayerDraw(descriptor, (x,), lambda x: x.transpose(inverse), x.info, any_batch=False)


@candidate(PadDescriptor)
def pad(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw the zeros of each side but the batch's."""
    amounts = [(0, 0), *((draw.number(0, 1), draw.number(0, 2)) for _ in x.shape[1:])]
    return LayerDraw(
        PadDescriptor(pad_list=tuple(amounts)), (x,), lambda x: np.pad(x, amounts), x.info
    )


@candidate(SliceDescriptor)
def slice_(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Cut one end of an axis off."""
    axis = draw.axis(x)
    if x.shape[axis] < 2:
        return None
    begin = [0] * len(x.shape)
    size = list(x.shape)
    begin[axis], size[axis] = 1, size[axis] - 1
    places = tuple(slice(b, b + s) for b, s in zip(begin, size, strict=True))
    descriptor = SliceDescriptor(begin=tuple(begin), size=tuple(size))
    return LayerDraw(descriptor, (x,), lambda x: x[places], x.info, any_batch=False)


@candidate(StridedSliceDescriptor)
def strided_slice(draw: Draw, x: GraphValue) -> LayerDraw:
    """Take every other index of an axis."""
    axis, rank = draw.axis(x), len(x.shape)
    stride = [1] * rank
    stride[axis] = 2
    places = tuple(slice(0, None, step) for step in stride)
    descriptor = StridedSliceDescriptor(
        begin=(0,) * rank, end=x.shape, stride=tuple(stride), end_mask=(1 << rank) - 1
    )
    return LayerDraw(descriptor, (x,), lambda x: x[places], x.info)


def concatenated(draw: Draw, x: GraphValue, y: GraphValue) -> list[LayerDraw]:
    """Return layers that join two values of one shape."""
    axis = draw.axis(x)
    return [
        LayerDraw(ConcatDescriptor(axis=axis), (x, y), _concat(axis), x.info if x is y else None),
        LayerDraw(
            StackDescriptor(axis=axis),
            (x, y),
            lambda *parts: np.stack(parts, axis),
            x.info if x is y else None,
        ),
    ]


def _concat(axis: int) -> Any:
    return lambda *parts: np.concatenate(parts, axis)


@candidate(ConcatDescriptor)
def concat(draw: Draw, x: GraphValue) -> LayerDraw:
    """Join a value with a constant, or with both."""
    axis = draw.axis(x)
    shape = list(x.shape)
    shape[axis] = 2
    constant = draw.constant(shape)
    operands = (x, constant, x) if draw.number(0, 1) else (constant, x)
    info = None if x.info.is_quantized else x.info
    return LayerDraw(ConcatDescriptor(axis=axis), operands, _concat(axis), info, any_batch=False)


@candidate(ConcatDescriptor)
def twice(draw: Draw, x: GraphValue) -> LayerDraw:
    """Join a value with itself."""
    axis = draw.axis(x)
    return LayerDraw(ConcatDescriptor(axis=axis), (x, x), _concat(axis), x.info)


@candidate(StackDescriptor)
def stack(_draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Stack a value on itself."""
    if len(x.shape) > 3:
        return None
    last = len(x.shape)
    oracle = lambda *parts: np.stack(parts, last)  # noqa: E731 - as short as the others
    return LayerDraw(StackDescriptor(axis=last), (x, x), oracle, x.info)


@candidate(SplitterDescriptor)
def splitter(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Split an axis into two uneven parts."""
    axis = draw.axis(x)
    if x.shape[axis] < 2:
        return None
    sizes = (1, x.shape[axis] - 1)
    descriptor = SplitterDescriptor(axis=axis, sizes=sizes)
    return LayerDraw(
        descriptor, (x,), lambda x: tuple(np.split(x, [1], axis)), x.info, len(sizes), axis > 0
    )


@candidate(TileDescriptor)
def tile(draw: Draw, x: GraphValue) -> LayerDraw:
    """Repeat one axis."""
    multiples = [1] * len(x.shape)
    multiples[draw.axis(x)] = 2
    return LayerDraw(
        TileDescriptor(multiples=tuple(multiples)), (x,), lambda x: np.tile(x, multiples), x.info
    )


@candidate(SpaceToDepthDescriptor, DepthToSpaceDescriptor)
def blocks(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Move blocks of an image to its channels, or back."""
    if len(x.shape) != 4:
        return None
    _, h, w, c = x.shape
    if c % 4 == 0 and draw.number(0, 1):

        def depth_to_space(x: Any) -> Any:
            parts = x.reshape(-1, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5)
            return parts.reshape(-1, h * 2, w * 2, c // 4)

        descriptor = DepthToSpaceDescriptor(block_size=2, data_layout=DataLayout.NHWC)
        return LayerDraw(descriptor, (x,), depth_to_space, x.info)
    if h % 2 or w % 2:
        return None

    def space_to_depth(x: Any) -> Any:
        parts = x.reshape(-1, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5)
        return parts.reshape(-1, h // 2, w // 2, c * 4)

    return LayerDraw(
        SpaceToDepthDescriptor(block_size=2, data_layout=DataLayout.NHWC),
        (x,),
        space_to_depth,
        x.info,
    )


@candidate(ResizeDescriptor)
def resize(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Double an image by its nearest elements."""
    if len(x.shape) != 4:
        return None
    layout = (DataLayout.NCHW, DataLayout.NHWC)[draw.number(0, 1)]
    down, across = layout.spatial_axes
    descriptor = ResizeDescriptor(
        target_width=2 * x.shape[across],
        target_height=2 * x.shape[down],
        method=ResizeMethod.NEAREST_NEIGHBOR,
        data_layout=layout,
    )
    return LayerDraw(descriptor, (x,), lambda x: x.repeat(2, down).repeat(2, across), x.info)
