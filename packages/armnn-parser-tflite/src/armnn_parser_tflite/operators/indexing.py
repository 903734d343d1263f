# SPDX-License-Identifier: MIT
"""Elements chosen by position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armnn.parsing.conversion import reshape, transpose
from armnn.types import BinaryOperation
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operators.elementwise import binary
from armnn_parser_tflite.operators.indexing_scattering import indices, static

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation


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
