# SPDX-License-Identifier: MIT
"""Elements chosen by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.types import BinaryOperation, DataType, ScatterNdFunction
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import RefusedError
from armnn_parser_tflite.operators.elementwise import binary, cast
from armnn_parser_tflite.shapes import reshape, transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation


@operator("GATHER", newest=8)
def gather(operation: Operation) -> Value:
    """Add Gather."""
    options = operation.options("GatherOptions")
    if options.integer("BatchDims") != 0:
        raise RefusedError("the Gather layer has no batch_dims")
    axis = operation.axis(options.integer("Axis"), len(operation.shape()))
    return operation.network.add_gather(
        operation.input(), _indices(operation, 1), axis=axis, name=operation.layer_name()
    )


@operator("EMBEDDING_LOOKUP", newest=5)
def embedding_lookup(operation: Operation) -> Value:
    """Add Gather on the rows of the second input."""
    rows = operation.input(1)
    if rows.info.is_quantized and not operation.info().is_quantized:
        rows = operation.network.add_dequantize(rows, name=operation.layer_name("real_rows"))
    return operation.network.add_gather(
        rows, _indices(operation, 0), axis=0, name=operation.layer_name()
    )


@operator("GATHER_ND", newest=6)
def gather_nd(operation: Operation) -> Value:
    """Add GatherNd."""
    return operation.network.add_gather_nd(
        operation.input(), _indices(operation, 1), name=operation.layer_name()
    )


@operator("SCATTER_ND")
def scatter_nd(operation: Operation) -> Value:
    """Add ScatterNd into zeros; updates of one place add up."""
    return operation.network.add_scatter_nd(
        None,
        _indices(operation, 0),
        operation.input(1),
        operation.integers(2),
        function=ScatterNdFunction.ADD,
        name=operation.layer_name(),
        output=operation.info(),
    )


def _indices(operation: Operation, index: int) -> Value:
    value = operation.integers(index)
    if value.info.data_type in (DataType.SIGNED32, DataType.SIGNED64):
        return value
    return cast(operation, value, DataType.SIGNED32, "indices")


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
    """Add NonZero; its indices lie in columns, TensorFlow's in rows."""
    columns = operation.network.add_non_zero(
        operation.input(), name=operation.layer_name("columns")
    )
    return transpose(operation, columns, (1, 0))


@operator("ONE_HOT")
def one_hot(operation: Operation) -> Value:
    """Add OneHot; negative indices are outside of the new axis."""
    axis = operation.options("OneHotOptions").integer("Axis")
    on, off = (reshape(operation, operation.input(at), (), "value") for at in (2, 3))
    values = operation.network.add_stack([off, on], axis=0, name=operation.layer_name("values"))
    return operation.network.add_one_hot(
        operation.input(),
        values,
        operation.integers(1),
        axis=operation.axis(axis, len(operation.shape()) + 1),
        wrap_negative=False,
        name=operation.layer_name(),
    )


@operator("TOPK_V2", newest=3)
def top_k(operation: Operation) -> Sequence[Value]:
    """Add TopK along the last axis."""
    return operation.network.add_top_k(
        operation.input(),
        operation.integers(1),
        name=operation.layer_name(),
        outputs=[operation.info(0), operation.info(1)],
    )
