# SPDX-License-Identifier: MIT
"""Reductions along axes, CumSum and CumProd."""

from __future__ import annotations

import numpy as np

from armnn.graph import Value
from armnn.layers.reduction import CumProdDescriptor, CumSumDescriptor
from armnn.parsing.conversion import RefusedError, add_layer, cast, compare
from armnn.types import (
    ArgMinMaxFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    ReduceOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.shapes import reshape_to_groups


def reduced(operation: Operation, value: Value, function: ReduceOperation, part: str = "") -> Value:
    """Add Reduce over the axes of attribute or input."""
    if _keeps_all(operation):
        return value
    axes, computed = _axes(operation)
    return add_layer(
        operation,
        "Reduce",
        [value, computed],
        part,
        axis=axes,
        keep_dims=operation.flag("keepdims"),
        reduce_operation=function,
    )


def _keeps_all(operation: Operation) -> bool:
    """Return whether naming no axis means reducing none."""
    if not operation.flag("noop_with_empty_axes"):
        return False
    return not operation.has_input(1) or operation.input(1).info.shape == (0,)


def _axes(operation: Operation) -> tuple[tuple[int, ...], Value | None]:
    """Return the axes, or their value; none means all."""
    rank = len(operation.shape())
    attribute = operation.integers("axes")
    if attribute is not None:
        return operation.axes(attribute, rank), None
    value = operation.optional_input(1)
    if value is None:
        return (), None
    if value.constant is None:
        return (), value
    return operation.axes([int(axis) for axis in value.constant.reshape(-1)], rank), None


def _extremum(name: str, function: ReduceOperation) -> None:
    @operator(name, moves_data=True)
    def convert(operation: Operation) -> Value:
        value = operation.input()
        if value.info.data_type is not DataType.BOOLEAN or _keeps_all(operation):
            return reduced(operation, value, function)
        numbers = cast(operation, value, DataType.UNSIGNED8, "numbers")
        found = reduced(operation, numbers, function, "number")
        return cast(operation, found, DataType.BOOLEAN)


def _plain(name: str, function: ReduceOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return reduced(operation, operation.input(), function)


_extremum("ReduceMax", ReduceOperation.MAX)
_extremum("ReduceMin", ReduceOperation.MIN)
_plain("ReduceSum", ReduceOperation.SUM)
_plain("ReduceProd", ReduceOperation.PROD)


@operator("ReduceMean")
def reduce_mean(operation: Operation) -> Value:
    """Add Mean."""
    if _keeps_all(operation):
        return operation.input()
    axes, computed = _axes(operation)
    inputs = [operation.input(), computed]
    return add_layer(operation, "Mean", inputs, axis=axes, keep_dims=operation.flag("keepdims"))


@operator("ReduceL1")
def reduce_l1(operation: Operation) -> Value:
    """Add the sum of absolute values."""
    sizes = unary(operation, UnaryOperation.ABS, operation.input(), "absolute")
    return reduced(operation, sizes, ReduceOperation.SUM)


@operator("ReduceL2")
def reduce_l2(operation: Operation) -> Value:
    """Add the root of the sum of squares.

    Integers are truncated in the last step.
    """
    value = operation.input()
    data_type = value.info.data_type
    wide = data_type if data_type.is_float else DataType.FLOAT64
    value = cast(operation, value, wide, "wide")
    total = reduced(operation, _square(operation, value), ReduceOperation.SUM, "sum")
    root = unary(operation, UnaryOperation.SQRT, total, "" if data_type.is_float else "root")
    return cast(operation, root, data_type)


@operator("ReduceSumSquare")
def reduce_sum_square(operation: Operation) -> Value:
    """Add the sum of squares."""
    return reduced(operation, _square(operation, operation.input()), ReduceOperation.SUM)


def _square(operation: Operation, value: Value) -> Value:
    return binary(operation, BinaryOperation.MUL, value, value, "square")


@operator("ReduceLogSum")
def reduce_log_sum(operation: Operation) -> Value:
    """Add the logarithm of the sum."""
    _require_real(operation)
    total = reduced(operation, operation.input(), ReduceOperation.SUM, "sum")
    return unary(operation, UnaryOperation.LOG, total)


@operator("ReduceLogSumExp")
def reduce_log_sum_exp(operation: Operation) -> Value:
    """Add log(sum(exp(x))), with the maximum subtracted first.

    Where the largest element is infinite, nothing is subtracted, since inf - inf is not a number.
    """
    _require_real(operation)
    value = operation.input()
    if _keeps_all(operation):
        return value
    axes, computed = _axes(operation)
    network = operation.network
    top = network.add_reduce(
        value,
        computed,
        axis=axes,
        keep_dims=True,
        reduce_operation=ReduceOperation.MAX,
        name=operation.layer_name("top"),
    )
    infinity = operation.number(np.inf, value, "infinity")
    size = unary(operation, UnaryOperation.ABS, top, "top_size")
    finite = compare(operation, ComparisonOperation.LESS, size, infinity, "is_finite")
    zero = operation.number(0, value, "zero")
    taken = network.add_where(finite, top, zero, name=operation.layer_name("taken_out"))
    rest = binary(operation, BinaryOperation.SUB, value, taken, "rest")
    powers = unary(operation, UnaryOperation.EXP, rest, "exponentials")
    total = reduced(operation, powers, ReduceOperation.SUM, "sum")
    logarithm = unary(operation, UnaryOperation.LOG, total, "logarithm")
    if not operation.flag("keepdims"):
        # One element along each axis, so that any reduction over them only drops them.
        taken = reduced(operation, taken, ReduceOperation.SUM, "taken_out_flat")
    return binary(operation, BinaryOperation.ADD, logarithm, taken)


def _require_real(operation: Operation) -> None:
    if not operation.input().info.data_type.is_float:
        raise RefusedError("no layer computes the logarithm of integers")


def _arg_operator(name: str, function: ArgMinMaxFunction) -> None:
    @operator(name, moves_data=True)
    def convert(operation: Operation) -> Value:
        return _arg_min_max(operation, function)


_arg_operator("ArgMax", ArgMinMaxFunction.MAX)
_arg_operator("ArgMin", ArgMinMaxFunction.MIN)


def _arg_min_max(operation: Operation, function: ArgMinMaxFunction) -> Value:
    """Add ArgMinMax, and Reshape if the axis is kept."""
    shape, value = operation.shape(), operation.input()
    if not shape:
        raise RefusedError("its input is a scalar, which has no axis")
    axis = operation.axis(operation.integer("axis"), len(shape))
    keeps = operation.flag("keepdims")
    index = operation.network.add_arg_min_max(
        value,
        function=function,
        axis=axis,
        select_last_index=operation.flag("select_last_index"),
        name=operation.layer_name("index" if keeps else ""),
        output=DataType.SIGNED64,
    )
    if not keeps:
        return index
    groups = [[i] for i in range(len(shape) - 1)]
    return reshape_to_groups(operation, index, [*groups[:axis], [], *groups[axis:]])


@operator("CumSum")
def cumulative_sum(operation: Operation) -> Value:
    """Add CumSum; the axis may be computed."""
    return _cumulated(operation, CumSumDescriptor)


@operator("CumProd")
def cumulative_product(operation: Operation) -> Value:
    """Add CumProd; the axis may be computed."""
    return _cumulated(operation, CumProdDescriptor)


def _cumulated(
    operation: Operation, kind: type[CumSumDescriptor] | type[CumProdDescriptor]
) -> Value:
    known = operation.constant(1)
    if known is not None and known.size != 1:
        raise operation.error(f"the axis has {known.size} elements: expected one")
    descriptor = kind(
        axis=0 if known is None else int(known.reshape(-1)[0]),
        exclusive=operation.flag("exclusive"),
        reverse=operation.flag("reverse"),
    )
    layer = operation.network.add(
        kind.__name__.removesuffix("Descriptor"),
        [operation.input(), operation.input(1) if known is None else None],
        descriptor,
        name=operation.layer_name(),
    )
    return layer.output
