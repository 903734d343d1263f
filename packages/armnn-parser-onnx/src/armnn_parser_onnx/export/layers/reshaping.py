# SPDX-License-Identifier: MIT
"""The same elements in another order, shape or number."""

from __future__ import annotations

import numpy as np

from armnn.types import DataLayout, PaddingMode
from armnn_parser_onnx.export.operation import Operation, exports


@exports("Reshape")
def reshape(op: Operation) -> str:
    """Reshape to the shape that it has here."""
    return op.reshape(op.x, op.output_shape)


@exports("Permute")
def permute(op: Operation) -> str:
    """Write Transpose, the inverse spelling of Permute.

    Transpose lists where each axis comes from, Permute where it is moved to.
    """
    return op.emit("Transpose", op.x, perm=np.argsort(op.d.dim_mappings).tolist())


@exports("Transpose")
def transpose(op: Operation) -> str:
    """Transpose."""
    return op.emit("Transpose", op.x, perm=list(op.d.dim_mappings))


@exports("BroadcastTo")
def broadcast_to(op: Operation) -> str:
    """Expand."""
    return op.emit("Expand", op.x, op.integers(op.output_shape))


@exports("Tile")
def tile(op: Operation) -> str:
    """Tile."""
    return op.emit("Tile", op.x, op.integers(op.d.multiples))


@exports("Pad")
def pad(op: Operation) -> str:
    """Pad; ONNX has nothing that repeats the border's own elements."""
    if op.d.padding_mode is PaddingMode.SYMMETRIC:
        op.refuse("it pads symmetrically, expected constant or reflecting padding")
    pads = op.integers([*(b for b, _ in op.d.pad_list), *(a for _, a in op.d.pad_list)])
    if op.d.padding_mode is PaddingMode.REFLECT:
        return op.emit("Pad", op.x, pads, mode="reflect")
    return op.emit("Pad", op.x, pads, op.constant(op.d.pad_value), mode="constant")


@exports("SpaceToDepth")
def space_to_depth(op: Operation) -> str:
    """SpaceToDepth."""
    x = op.channels_first(op.x, op.d.data_layout)
    y = op.emit("SpaceToDepth", x, blocksize=op.d.block_size)
    return op.laid_out(y, op.d.data_layout)


@exports("DepthToSpace")
def depth_to_space(op: Operation) -> str:
    """DepthToSpace."""
    x = op.channels_first(op.x, op.d.data_layout)
    mode = "CRD" if op.d.column_row_depth else "DCR"
    y = op.emit("DepthToSpace", x, blocksize=op.d.block_size, mode=mode)
    return op.laid_out(y, op.d.data_layout)


@exports("ChannelShuffle")
def channel_shuffle(op: Operation) -> str:
    """Reshape, Transpose, Reshape."""
    shape = op.shape("input")
    axis = op.d.axis % len(shape)
    groups = (op.d.num_groups, shape[axis] // op.d.num_groups)
    grouped = op.reshape(op.x, (*shape[:axis], *groups, *shape[axis + 1 :]))
    order = [*range(axis), axis + 1, axis, *range(axis + 2, len(shape) + 1)]
    return op.reshape(op.emit("Transpose", grouped, perm=order), shape)


@exports("Concat")
def concat(op: Operation) -> str:
    """Concat."""
    return op.emit("Concat", *op.inputs, axis=op.d.axis)


@exports("Stack")
def stack(op: Operation) -> str:
    """Concat along a new axis."""
    axis = op.d.axis % len(op.output_shape)
    parts = [op.emit("Unsqueeze", name, op.integers([axis])) for name in op.inputs]
    return op.emit("Concat", *parts, axis=axis)


@exports("Splitter")
def splitter(op: Operation) -> tuple[str, ...]:
    """Split."""
    sizes = op.integers(op.d.sizes)
    return op.emit_several(len(op.d.sizes), "Split", op.x, sizes, axis=op.d.axis)


@exports("SpaceToBatchNd", "BatchToSpaceNd")
def batches(op: Operation) -> str:
    """Write Pad, Reshape, Transpose and Slice for two spatial axes."""
    if op.d.data_layout not in (DataLayout.NCHW, DataLayout.NHWC) or len(op.d.block_shape) != 2:
        op.refuse("it has not two spatial axes")
    x = op.channels_first(op.x, op.d.data_layout)
    write = _space_to_batch if op.layer.type == "SpaceToBatchNd" else _batch_to_space
    return op.laid_out(write(op, x), op.d.data_layout)


def _space_to_batch(op: Operation, x: str) -> str:
    (top, bottom), (left, right) = op.d.pad_list
    n, c, h, w = _planes(op)
    x = op.emit("Pad", x, op.integers([0, 0, top, left, 0, 0, bottom, right]), op.constant(0))
    rows, columns = op.d.block_shape
    h, w = (h + top + bottom) // rows, (w + left + right) // columns
    folded = op.reshape(x, (n, c, h, rows, w, columns))
    moved = op.emit("Transpose", folded, perm=[3, 5, 0, 1, 2, 4])
    return op.reshape(moved, (rows * columns * n, c, h, w))


def _batch_to_space(op: Operation, x: str) -> str:
    (top, bottom), (left, right) = op.d.crops
    n, c, h, w = _planes(op)
    rows, columns = op.d.block_shape
    unfolded = op.reshape(x, (rows, columns, n // (rows * columns), c, h, w))
    moved = op.emit("Transpose", unfolded, perm=[2, 3, 4, 0, 5, 1])
    h, w = h * rows, w * columns
    whole = op.reshape(moved, (n // (rows * columns), c, h, w))
    ends = op.integers([h - bottom, w - right])
    return op.emit("Slice", whole, op.integers([top, left]), ends, op.integers([2, 3]))


def _planes(op: Operation) -> tuple[int, int, int, int]:
    """Return batch, channels, height and width of the input."""
    shape, layout = op.shape("input"), op.d.data_layout
    height, width = (shape[axis] for axis in layout.spatial_axes)
    return shape[0], shape[layout.channel_axis], height, width
