# SPDX-License-Identifier: MIT
"""Elements chosen by position: SLICE, GATHER, SCATTER_ND, SEGMENT_SUM, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, cast, reshape, transpose
from armnn.tensor import Shape
from armnn.types import BinaryOperation, DataType, ScatterNdFunction
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.elementwise import binary


@operator("GATHER", newest=8)
def gather(operation: Operation) -> Value:
    """Add Gather; batches are flattened, with their indices shifted.

    Each index is moved by the rows before its batch.
    """
    options = operation.options("GatherOptions")
    rank = len(operation.shape())
    axis = operation.axis(options.integer("Axis"), rank)
    batches = options.integer("BatchDims")
    if batches:
        return _gather_batches(operation, axis, batches)
    return operation.network.add_gather(
        operation.input(), indices(operation, 1), axis=axis, name=operation.layer_name()
    )


def _gather_batches(operation: Operation, axis: int, batches: int) -> Value:
    value, places = operation.input(), indices(operation, 1)
    shape, wanted = static(operation, value), static(operation, places)
    batches += len(wanted) if batches < 0 else 0
    if not 0 <= batches <= min(axis, len(wanted)) or shape[:batches] != wanted[:batches]:
        raise operation.error(
            f"{batches} batch axes do not fit the shapes {list(shape)} and {list(wanted)} "
            f"and the axis {axis}"
        )
    rank, size, count = len(shape), shape[axis], math.prod(shape[:batches])
    order = [*range(batches), axis, *(at for at in range(batches, rank) if at != axis)]
    rest = [shape[at] for at in order[batches + 1 :]]
    if axis != batches:
        value = transpose(operation, value, order, "axis_first")
    rows = reshape(operation, value, (count * size, *rest), "rows")
    first = np.arange(count).reshape(*shape[:batches], *(1,) * (len(wanted) - batches)) * size
    offset = operation.network.add_constant(
        first.astype(places.info.data_type.numpy_dtype), name=operation.layer_name("offset")
    )
    moved = binary(operation, BinaryOperation.ADD, places, offset, "places")
    part = "" if axis == batches else "found"
    found = operation.network.add_gather(rows, moved, axis=0, name=operation.layer_name(part))
    if axis == batches:
        return found
    # Back from [batches, indices, before, after] to [batches, before, indices, after].
    behind = axis - batches + len(wanted)
    back = [*range(batches), *range(len(wanted), behind), *range(batches, len(wanted))]
    return transpose(operation, found, [*back, *range(behind, len(wanted) + len(rest))])


@operator("EMBEDDING_LOOKUP", newest=5)
def embedding_lookup(operation: Operation) -> Value:
    """Add Gather on the rows of the second input."""
    rows = operation.input(1)
    if rows.info.is_quantized and not operation.info().is_quantized:
        rows = operation.network.add_dequantize(rows, name=operation.layer_name("real_rows"))
    return operation.network.add_gather(
        rows, indices(operation, 0), axis=0, name=operation.layer_name()
    )


@operator("GATHER_ND", newest=6)
def gather_nd(operation: Operation) -> Value:
    """Add GatherNd."""
    return operation.network.add_gather_nd(
        operation.input(), indices(operation, 1), name=operation.layer_name()
    )


@operator("SLICE", newest=8)
def slice_box(operation: Operation) -> Value:
    """Add Slice."""
    return operation.network.add_slice(
        operation.input(), operation.integers(1), operation.integers(2), name=operation.layer_name()
    )


@operator("STRIDED_SLICE", newest=8)
def strided_slice(operation: Operation) -> Value:
    """Add StridedSlice."""
    options = operation.options("StridedSliceOptions")
    begin, end = operation.integers(1), operation.integers(2)
    if options.flag("Offset"):
        end = binary(operation, BinaryOperation.ADD, begin, end, "end")
    return operation.network.add_strided_slice(
        operation.input(),
        begin,
        end,
        operation.integers(3),
        begin_mask=options.integer("BeginMask"),
        end_mask=options.integer("EndMask"),
        shrink_axis_mask=options.integer("ShrinkAxisMask"),
        ellipsis_mask=options.integer("EllipsisMask"),
        new_axis_mask=options.integer("NewAxisMask"),
        name=operation.layer_name(),
    )


@operator("WHERE", newest=2)
def where(operation: Operation) -> Value:
    """Add NonZero and transpose: TensorFlow has the indices in rows."""
    columns = operation.network.add_non_zero(
        operation.input(), name=operation.layer_name("columns")
    )
    return transpose(operation, columns, (1, 0))


_MOST_ELEMENTS = 2**24


@operator("SCATTER_ND")
def scatter_nd(operation: Operation) -> Value:
    """Add ScatterNd into zeros; updates of one place add up."""
    return operation.network.add_scatter_nd(
        None,
        indices(operation, 0),
        operation.input(1),
        operation.integers(2),
        function=ScatterNdFunction.ADD,
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("SPARSE_TO_DENSE", newest=3)
def sparse_to_dense(operation: Operation) -> Value:
    """Add ScatterNd into the default, the fourth input."""
    positions = indices(operation, 0)
    rank = len(operation.shape_of(positions))
    if rank < 2:  # positions in a list, or one of them
        positions = reshape(operation, positions, (-1, 1), "positions")
    updates = operation.input(2)
    if not operation.shape_of(updates):
        count = operation.shape_of(positions)[0]
        if not isinstance(count, int):
            raise NotKnownYetError("the number of elements that it sets depends on computed data")
        updates = operation.network.add_broadcast_to(
            updates, operation.integers_constant([count], "count"), name=operation.layer_name("set")
        )
    default = operation.network.add_broadcast_to(
        operation.input(3), operation.integers(1), name=operation.layer_name("default")
    )
    return operation.network.add_scatter_nd(
        default, positions, updates, name=operation.layer_name()
    )


@operator("SEGMENT_SUM")
def segment_sum(operation: Operation) -> Value:
    """Add ScatterNd into zeros, one place per segment."""
    segments = operation.known_integers(1)
    if list(segments) != sorted(segments) or (segments and segments[0] < 0):
        raise operation.error("its segments are not in order")
    return _segments(operation, segments[-1] + 1 if segments else 0, ScatterNdFunction.ADD, 0)


def _unsorted(name: str, function: ScatterNdFunction) -> None:
    """Enter an operator that combines the elements of each segment."""

    @operator(name)
    def convert(operation: Operation) -> Value:
        data_type = operation.input().info.data_type
        limits = {
            ScatterNdFunction.ADD: 0,
            ScatterNdFunction.MUL: 1,
            ScatterNdFunction.MAX: _extreme(data_type, lowest=True),
            ScatterNdFunction.MIN: _extreme(data_type, lowest=False),
        }
        return _segments(operation, operation.known_integer(2), function, limits[function])


_unsorted("UNSORTED_SEGMENT_SUM", ScatterNdFunction.ADD)


_unsorted("UNSORTED_SEGMENT_PROD", ScatterNdFunction.MUL)


_unsorted("UNSORTED_SEGMENT_MAX", ScatterNdFunction.MAX)


_unsorted("UNSORTED_SEGMENT_MIN", ScatterNdFunction.MIN)


def _extreme(data_type: DataType, *, lowest: bool) -> float:
    limits: Any = (np.finfo if data_type.is_float else np.iinfo)(data_type.numpy_dtype)
    return (
        (limits.min if lowest else limits.max).item()
        if data_type.is_float
        else (int(limits.min) if lowest else int(limits.max))
    )


def _segments(operation: Operation, count: int, function: ScatterNdFunction, start: float) -> Value:
    """Add ScatterNd; empty segments keep the start.

    A segment below 0 is left out.
    """
    value, numbers = operation.input(), indices(operation, 1)
    if value.info.is_quantized:
        raise RefusedError("its data is quantized")
    depth = len(operation.shape_of(numbers))
    rest = static(operation, value)[depth:]
    if count < 0 or count * math.prod(rest) > _MOST_ELEMENTS:
        raise operation.error(f"it has {count} segments of {math.prod(rest)} elements")
    if numbers.constant is None or (numbers.constant < 0).any():
        raise RefusedError("its segments are computed, or some elements belong to none")
    if (numbers.constant >= count).any():
        raise operation.error(f"a segment number is not below {count}, the number of segments")
    initial = np.full((count, *rest), start, value.info.data_type.numpy_dtype)
    return operation.network.add_scatter_nd(
        operation.network.add_constant(initial, name=operation.layer_name("start")),
        reshape(operation, numbers, (*static(operation, numbers), 1), "segments"),
        value,
        function=function,
        name=operation.layer_name(),
    )


@operator("DYNAMIC_UPDATE_SLICE", newest=4)
def dynamic_update_slice(operation: Operation) -> Value:
    """Add ScatterNd at the update's positions, clamped to the tensor."""
    value, update = operation.input(0), operation.input(1)
    whole, part = static(operation, value), static(operation, update)
    if len(whole) != len(part) or any(a < b for a, b in zip(whole, part, strict=True)):
        raise operation.error(f"an update of shape {list(part)} does not fit into {list(whole)}")
    start = cast(operation, operation.integers(2), DataType.SIGNED64, "start")
    limits = ((0,) * len(whole), [a - b for a, b in zip(whole, part, strict=True)])
    for limit, function in zip(
        limits, (BinaryOperation.MAXIMUM, BinaryOperation.MINIMUM), strict=True
    ):
        bound = operation.integers_constant(limit, "bound")
        start = binary(operation, function, start, bound, "start")
    places = operation.network.add_constant(_grid(part), name=operation.layer_name("places"))
    return operation.network.add_scatter_nd(
        value,
        binary(operation, BinaryOperation.ADD, places, start, "positions"),
        update,
        name=operation.layer_name(),
    )


def _grid(shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the position of each element, along the last axis."""
    return np.moveaxis(np.indices(shape, np.int64), 0, -1)


def indices(operation: Operation, index: int) -> Value:
    """Return positions as integers of 32 or 64 bits."""
    value = operation.integers(index)
    if value.info.data_type in (DataType.SIGNED32, DataType.SIGNED64):
        return value
    return cast(operation, value, DataType.SIGNED32, "indices")


def static(operation: Operation, value: Value) -> tuple[int, ...]:
    """Return a shape that has to be known.

    Raises:
        NotKnownYetError: It is not.
        RefusedError: It is too large.
    """
    shape: Shape = operation.shape_of(value)
    known = tuple(dim for dim in shape if isinstance(dim, int))
    if len(known) != len(shape):
        raise NotKnownYetError(f"the shape of {value.name!r} is not known")
    if math.prod(known) > _MOST_ELEMENTS:
        raise RefusedError(f"{value.name!r} has more than {_MOST_ELEMENTS} elements")
    return known
