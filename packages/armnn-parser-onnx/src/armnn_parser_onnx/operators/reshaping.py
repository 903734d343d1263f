# SPDX-License-Identifier: MIT
"""Elements moved or repeated: Reshape, Transpose, Pad, Tile, Expand, ..."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import (
    NotKnownYetError,
    RefusedError,
    add_layer,
    cast,
    reshape,
    transpose,
)
from armnn.parsing.conversion import transpose as add_transpose
from armnn.types import DataLayout, DataType, PaddingMode
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.shapes import reshape_to_groups

_MOST_CHANNELS = 2**20


@operator("Reshape", moves_data=True)
def reshape_to(operation: Operation) -> Value:
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
def transpose_axes(operation: Operation) -> Value:
    """Add Transpose; by default the axes are turned round."""
    rank = len(operation.shape())
    order = operation.integers("perm")
    if order is None:
        order = tuple(reversed(range(rank)))
    made = add_transpose(operation, operation.input(), order)
    weights = operation.graph.few_bits.get(operation.input())
    if weights is not None and tuple(order) == (1, 0):
        operation.graph.few_bits[made] = weights._replace(is_turned=not weights.is_turned)
    return made


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


_LARGEST = 2**31 - 1


_MODES = ("constant", "reflect", "edge", "wrap")


@operator("Pad", moves_data=True)
def pad_by_attributes(operation: Operation) -> Value:
    """Pad by attributes."""
    rank = len(operation.shape())
    mode = operation.text("mode", _MODES[:3])
    pads = _pairs(operation, operation.integers("pads") or (), tuple(range(rank)), rank)
    return _padded(operation, pads, mode, operation.real("value"))


@operator("Pad", since=11, moves_data=True)
def pad(operation: Operation) -> Value:
    """Pad by inputs.

    They may be computed if the mode is constant or reflect.
    """
    rank = len(operation.shape())
    mode = operation.text("mode", _MODES)
    number = operation.constant(2)
    if operation.input(1).constant is None or (operation.has_input(2) and number is None):
        return _pad_computed(operation, mode)
    axes = operation.known_integers(3)
    order = range(rank) if axes is None else (operation.axis(axis, rank) for axis in axes)
    pads = _pairs(operation, operation.known_integers(1) or (), tuple(order), rank)
    if number is not None and number.size != 1:
        raise operation.error(f"constant_value has {number.size} elements: expected one")
    value = 0 if number is None else number.reshape(-1)[0].item()
    return _padded(operation, pads, mode, value)


def _pad_computed(operation: Operation, mode: str) -> Value:
    axes = operation.known_integers(3)
    if mode not in ("constant", "reflect"):
        operation.known(1)
    rank = len(operation.shape())
    count = rank if axes is None else len(axes)
    pads = reshape(operation, operation.input(1), (2, count), "before_and_after")
    if axes is not None:
        places = [operation.axis(axis, rank) for axis in axes]
        pads = cast(operation, pads, DataType.SIGNED64, "pads_of_axes")
        pads = operation.network.add_gather(
            operation.network.add_pad(
                pads, pad_list=((0, 0), (0, 1)), name=operation.layer_name("pads_and_zero")
            ),
            operation.integers_constant(
                [places.index(axis) if axis in places else count for axis in range(rank)], "places"
            ),
            axis=1,
            name=operation.layer_name("pads_by_axis"),
        )
    return operation.network.add_pad(
        operation.input(),
        transpose(operation, pads, (1, 0), "pads"),
        operation.optional_input(2),
        padding_mode=PaddingMode.CONSTANT if mode == "constant" else PaddingMode.REFLECT,
        name=operation.layer_name(),
    )


def _pairs(
    operation: Operation, pads: Sequence[int], axes: tuple[int, ...], rank: int
) -> list[tuple[int, int]]:
    """Return (before, after) per axis.

    ONNX lists all befores, then all afters.
    """
    count = len(axes)
    if len(pads) != 2 * count or len(set(axes)) != count:
        raise operation.error(
            f"the pads {list(pads)} do not fit the axes {list(axes)}: expected two for each"
        )
    if any(abs(number) > _LARGEST for number in pads):
        raise operation.error(f"the pads {list(pads)} are too large")
    pairs = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pairs[axis] = (pads[index], pads[index + count])
    return pairs


def _padded(operation: Operation, pads: list[tuple[int, int]], mode: str, number: float) -> Value:
    crops = [(max(-before, 0), max(-after, 0)) for before, after in pads]
    pads = [(max(before, 0), max(after, 0)) for before, after in pads]
    value = operation.input()
    if any(any(pair) for pair in crops):
        last = not any(any(pair) for pair in pads)
        value = _cropped(operation, value, crops, "" if last else "cropped")
        if last:
            return value
    if mode in ("edge", "wrap"):
        return _padded_with_slices(operation, value, pads, mode)
    return operation.network.add_pad(
        value,
        pad_list=pads,
        pad_value=number,
        padding_mode=PaddingMode.CONSTANT if mode == "constant" else PaddingMode.REFLECT,
        name=operation.layer_name(),
    )


def _cropped(operation: Operation, value: Value, crops: list[tuple[int, int]], part: str) -> Value:
    return operation.network.add_strided_slice(
        value,
        begin=[before for before, _ in crops],
        end=[-after for _, after in crops],
        stride=[1] * len(crops),
        end_mask=sum(1 << axis for axis, (_, after) in enumerate(crops) if after == 0),
        name=operation.layer_name(part),
    )


def _padded_with_slices(
    operation: Operation, value: Value, pads: list[tuple[int, int]], mode: str
) -> Value:
    """Pad with slices of the tensor, axis by axis."""
    padded = [axis for axis, pair in enumerate(pads) if any(pair)]
    for axis in padded:
        before, after = pads[axis]
        if mode == "wrap":
            value = _wrapped(operation, value, axis, pads[axis], is_last=axis == padded[-1])
            continue
        first = _edge(operation, value, axis, before, at_end=False)
        last = _edge(operation, value, axis, after, at_end=True)
        parts = [
            *([first] if before else []),
            value,
            *([last] if after else []),
        ]
        name = operation.layer_name("" if axis == padded[-1] else f"axis_{axis}")
        value = operation.network.add_concat(parts, axis=axis, name=name)
    return value


def _wrapped(
    operation: Operation, value: Value, axis: int, pad: tuple[int, int], *, is_last: bool
) -> Value:
    """Pad one axis with the tensor again and again: its end stands before it, its start after."""
    size = operation.shape_of(value)[axis]
    if not isinstance(size, int):
        raise NotKnownYetError("the size of the axis that it wraps is not known")
    if size == 0:
        raise RefusedError(f"it wraps {max(pad)} elements of an axis of 0")
    (rounds_before, before), (rounds_after, after) = (divmod(count, size) for count in pad)
    rounds = rounds_before + 1 + rounds_after
    name = operation.layer_name("" if is_last else f"axis_{axis}")
    if rounds > 1 and not (before or after):
        return _tiled(operation, value, axis, rounds, name)
    parts = [
        *([_slice(operation, value, axis, begin=-before)] if before else []),
        value
        if rounds == 1
        else _tiled(operation, value, axis, rounds, operation.layer_name("rounds")),
        *([_slice(operation, value, axis, end=after)] if after else []),
    ]
    return operation.network.add_concat(parts, axis=axis, name=name)


def _tiled(operation: Operation, value: Value, axis: int, count: int, name: str) -> Value:
    multiples = [1] * len(operation.shape_of(value))
    multiples[axis] = count
    return operation.network.add_tile(value, multiples=multiples, name=name)


def _edge(operation: Operation, value: Value, axis: int, count: int, *, at_end: bool) -> Value:
    one = (
        _slice(operation, value, axis, begin=-1)
        if at_end
        else _slice(operation, value, axis, end=1)
    )
    return _tiled(operation, one, axis, count, operation.layer_name("edge"))


def _slice(
    operation: Operation, value: Value, axis: int, *, begin: int = 0, end: int | None = None
) -> Value:
    rank = len(operation.shape_of(value))
    begins, ends = [0] * rank, [0] * rank
    begins[axis] = begin
    ends[axis] = 0 if end is None else end
    kept = sum(1 << other for other in range(rank) if other != axis)
    return operation.network.add_strided_slice(
        value,
        begin=begins,
        end=ends,
        stride=[1] * rank,
        begin_mask=kept,
        end_mask=kept | (1 << axis if end is None else 0),
        name=operation.layer_name("slice"),
    )
