# SPDX-License-Identifier: MIT
"""Every element kept or repeated, somewhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.parsing.conversion import NotKnownYetError, add_layer
from armnn.parsing.conversion import transpose as add_transpose
from armnn.types import DataLayout
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.shapes import reshape_to_groups

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation

_MOST_CHANNELS = 2**20


@operator("Reshape", moves_data=True)
def reshape(operation: Operation) -> Value:
    """Add Reshape; the shape may be computed."""
    operation.shape()
    copies = not operation.flag("allowzero")
    value, target = operation.input(), operation.dimensions(1)
    if target.constant is None:
        return add_layer(operation, "Reshape", [value, target], zero_copies=copies)
    dims = tuple(int(dim) for dim in target.constant.reshape(-1))
    if not copies and 0 in dims and -1 in dims:
        raise operation.error(f"the shape {list(dims)} has a 0 that allowzero keeps, and a -1")
    zero_copies = copies and 0 in dims
    return add_layer(operation, "Reshape", [value], target_shape=dims, zero_copies=zero_copies)


@operator("Flatten", moves_data=True)
def flatten(operation: Operation) -> Value:
    """Add Reshape to a matrix, split before ``axis``."""
    rank = len(operation.shape())
    axis = operation.integer("axis")
    if not -rank <= axis <= rank:
        raise operation.error(f"the axis {axis} is not in a tensor of rank {rank}")
    axis = axis + rank if axis < 0 else axis
    groups = [list(range(axis)), list(range(axis, rank))]
    return reshape_to_groups(operation, operation.input(), groups)


def _axes_of(operation: Operation) -> tuple[int, ...] | None:
    """Return the axes, which opset 13 made an input."""
    if "axes" in operation.schema.attributes:
        return operation.integers("axes")
    return operation.known_integers(1)


@operator("Squeeze", moves_data=True)
def squeeze(operation: Operation) -> Value:
    """Add Reshape that drops axes of one element."""
    shape, inserted_axes = operation.shape(), _axes_of(operation)
    if inserted_axes is None:
        if not all(isinstance(dim, int) for dim in shape):
            raise NotKnownYetError("it drops all axes of one element, and not all sizes are known")
        axes = tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    else:
        axes = operation.axes(inserted_axes, len(shape))
    for axis in axes:
        if isinstance(shape[axis], int) and shape[axis] != 1:
            raise operation.error(f"the axis {axis} has {shape[axis]} elements: expected one")
    groups = [[axis] for axis in range(len(shape)) if axis not in axes]
    return reshape_to_groups(operation, operation.input(), groups)


@operator("Unsqueeze", moves_data=True)
def unsqueeze(operation: Operation) -> Value:
    """Add Reshape that inserts axes of one element."""
    shape, inserted_axes = operation.shape(), _axes_of(operation)
    if inserted_axes is None:
        raise operation.error("the input 'axes' is missing")
    rank = len(shape) + len(inserted_axes)
    inserted = operation.axes(inserted_axes, rank)
    old = iter(range(len(shape)))
    groups = [[] if axis in inserted else [next(old)] for axis in range(rank)]
    return reshape_to_groups(operation, operation.input(), groups)


@operator("Transpose", moves_data=True)
def transpose(operation: Operation) -> Value:
    """Add Transpose; by default the axes are turned round."""
    rank = len(operation.shape())
    order = operation.integers("perm")
    if order is None:
        order = tuple(reversed(range(rank)))
    return add_transpose(operation, operation.input(), order)


@operator("Expand", moves_data=True)
def expand(operation: Operation) -> Value:
    """Add BroadcastTo; the shape may be computed."""
    operation.shape()
    value, target = operation.input(), operation.dimensions(1)
    if target.constant is None:
        return add_layer(operation, "BroadcastTo", [value, target])
    dims = tuple(int(dim) for dim in target.constant.reshape(-1))
    return add_layer(operation, "BroadcastTo", [value], broadcast_to_shape=dims)


@operator("Tile", moves_data=True)
def tile(operation: Operation) -> Value:
    """Add Tile; the repeats may be computed."""
    operation.shape()
    value, repeats = operation.input(), operation.dimensions(1)
    if repeats.constant is None:
        return operation.network.add_tile(value, repeats, name=operation.layer_name())
    multiples = tuple(int(count) for count in repeats.constant.reshape(-1))
    return operation.network.add_tile(value, multiples=multiples, name=operation.layer_name())


def _block(operation: Operation) -> int:
    block = operation.integer("blocksize")
    if not 1 <= block <= _MOST_CHANNELS:
        raise operation.error(f"the attribute 'blocksize' is {block}: expected at least 1")
    if len(operation.shape()) != 4:
        raise operation.error(f"the input has rank {len(operation.shape())}: expected 4")
    return block


@operator("DepthToSpace", moves_data=True)
def depth_to_space(operation: Operation) -> Value:
    """Add DepthToSpace."""
    return operation.network.add_depth_to_space(
        operation.input(),
        block_size=_block(operation),
        data_layout=DataLayout.NCHW,
        column_row_depth=operation.text("mode", ("DCR", "CRD"), "DCR") == "CRD",
        name=operation.layer_name(),
    )


@operator("SpaceToDepth", moves_data=True)
def space_to_depth(operation: Operation) -> Value:
    """Add SpaceToDepth, the channels brought into ONNX's order after it."""
    block = _block(operation)
    turned = operation.text("mode", ("DCR", "CRD"), "DCR") == "CRD"
    channels = operation.shape()[1]
    if turned and not isinstance(channels, int):
        raise NotKnownYetError("it needs the number of channels, which is not known")
    moved = operation.network.add_space_to_depth(
        operation.input(),
        block_size=block,
        data_layout=DataLayout.NCHW,
        name=operation.layer_name("unturned" if turned else ""),
    )
    if not turned or not isinstance(channels, int):
        return moved
    return _channels_turned(operation, moved, (block * block, channels), "")


def _channels_turned(
    operation: Operation, value: Value, shape: tuple[int, int], part: str
) -> Value:
    """Turn [first, second] channels into [second, first] ones."""
    count = shape[0] * shape[1]
    if count > _MOST_CHANNELS:
        raise operation.error(f"the input has {count} channels: expected at most {_MOST_CHANNELS}")
    order = np.arange(count).reshape(shape).T.reshape(-1)
    indices = operation.integers_constant([int(index) for index in order], "order")
    return operation.network.add_gather(value, indices, axis=1, name=operation.layer_name(part))
