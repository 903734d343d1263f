# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic on each element."""

from __future__ import annotations

import math

import numpy as np

from armnn.graph import Value
from armnn.parsing.conversion import (
    NotKnownYetError,
    RefusedError,
    add_layer,
    cast,
    compare,
    logical,
    reshape,
)
from armnn.types import (
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    ReduceOperation,
    UnaryOperation,
)
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.operators.activation import fused
from armnn_parser_tflite.shapes import with_axis


def _arithmetic(name: str, layer: str, options: str, newest: int) -> None:
    """Register an operator with its layer and a fused activation."""

    @operator(name, newest)
    def convert(operation: Operation) -> Value:
        first, second = operation.input(0), operation.input(1)
        return fused(
            operation,
            operation.options(options),
            lambda label: (
                operation.network.add(
                    layer, [first, second], name=label, outputs=[operation.info()]
                ).output
            ),
        )


_arithmetic("ADD", "Addition", "AddOptions", 5)


_arithmetic("SUB", "Subtraction", "SubOptions", 5)


_arithmetic("MUL", "Multiplication", "MulOptions", 7)


_arithmetic("DIV", "Division", "DivOptions", 2)


@operator("ADD_N")
def add_n(operation: Operation) -> Value:
    """Add Additions, one after the other."""
    total, *others = operation.values()
    for index, other in enumerate(others, 1):
        name = operation.layer_name("" if index == len(others) else "partial_sum")
        total = operation.network.add_addition(total, other, name=name, output=operation.info())
    return total


def binary(
    operation: Operation, function: BinaryOperation, first: Value, second: Value, part: str = ""
) -> Value:
    """Add an ElementwiseBinary layer.

    With a ``part`` it has the type of ``first``.
    """
    made, operands = None if part else operation.info(), [first, second]
    return add_layer(operation, "ElementwiseBinary", operands, part, made, operation=function)


def _binary(name: str, function: BinaryOperation, newest: int = 1) -> None:
    @operator(name, newest)
    def convert(operation: Operation) -> Value:
        return binary(operation, function, operation.input(0), operation.input(1))


_binary("POW", BinaryOperation.POWER)


_binary("SQUARED_DIFFERENCE", BinaryOperation.SQ_DIFF, 2)


_binary("FLOOR_DIV", BinaryOperation.FLOOR_DIV, 3)


_binary("FLOOR_MOD", BinaryOperation.MOD, 2)


_binary("BITWISE_XOR", BinaryOperation.BITWISE_XOR)


_binary("RIGHT_SHIFT", BinaryOperation.SHIFT_RIGHT)


@operator("MAXIMUM", newest=4)
def maximum(operation: Operation) -> Value:
    """Add Maximum."""
    return operation.network.add_maximum(
        operation.input(0), operation.input(1), name=operation.layer_name(), output=operation.info()
    )


@operator("MINIMUM", newest=4)
def minimum(operation: Operation) -> Value:
    """Add Minimum."""
    return operation.network.add_minimum(
        operation.input(0), operation.input(1), name=operation.layer_name(), output=operation.info()
    )


def _unary(name: str, function: UnaryOperation, newest: int = 1) -> None:
    @operator(name, newest)
    def convert(operation: Operation) -> Value:
        return operation.network.add_elementwise_unary(
            operation.input(),
            operation=function,
            name=operation.layer_name(),
            output=operation.info(),
        )


_unary("ABS", UnaryOperation.ABS, 5)


_unary("CEIL", UnaryOperation.CEIL)


_unary("COS", UnaryOperation.COS)


_unary("EXP", UnaryOperation.EXP, 2)


_unary("LOG", UnaryOperation.LOG, 2)


_unary("LOGICAL_NOT", UnaryOperation.LOGICAL_NOT)


_unary("NEG", UnaryOperation.NEG)


_unary("ROUND", UnaryOperation.ROUND)


_unary("RSQRT", UnaryOperation.RSQRT, 3)


_unary("SIGN", UnaryOperation.SIGN, 2)


_unary("SIN", UnaryOperation.SIN)


_unary("SQRT", UnaryOperation.SQRT, 2)


@operator("FLOOR")
def floor(operation: Operation) -> Value:
    """Add Floor."""
    return operation.network.add_floor(
        operation.input(), name=operation.layer_name(), output=operation.info()
    )


@operator("ATAN2")
def atan2(operation: Operation) -> Value:
    """Add the quotient's arc tangent, corrected by half a turn.

    The correction is for a second input below 0. The sign of zero is not looked at.
    """
    y, x = operation.input(0), operation.input(1)
    network, zero = operation.network, operation.number(0, y, "zero")
    half_turn = operation.number(math.pi, y, "half_turn")
    backwards = operation.number(-math.pi, y, "backwards")
    quotient = binary(operation, BinaryOperation.DIV, y, x, "quotient")
    angle = network.add_elementwise_unary(
        quotient, operation=UnaryOperation.ATAN, name=operation.layer_name("angle")
    )
    below, left = (
        compare(operation, ComparisonOperation.LESS, value, zero, "negative") for value in (y, x)
    )
    turn = network.add_where(below, backwards, half_turn, name=operation.layer_name("turn"))
    turned = binary(operation, BinaryOperation.ADD, angle, turn, "turned")
    there = network.add_where(left, turned, angle, name=operation.layer_name("there"))
    # 0 / 0 is not a number, but there is an angle: 0.
    nowhere = network.add_logical_binary(
        compare(operation, ComparisonOperation.EQUAL, y, zero, "no_y"),
        compare(operation, ComparisonOperation.EQUAL, x, zero, "no_x"),
        operation=LogicalBinaryOperation.LOGICAL_AND,
        name=operation.layer_name("nowhere"),
    )
    return network.add_where(nowhere, zero, there, name=operation.layer_name())


def _comparison(name: str, relation: ComparisonOperation, newest: int) -> None:
    @operator(name, newest)
    def convert(operation: Operation) -> Value:
        return compare(operation, relation, operation.input(0), operation.input(1))


_comparison("EQUAL", ComparisonOperation.EQUAL, 5)


_comparison("NOT_EQUAL", ComparisonOperation.NOT_EQUAL, 4)


_comparison("GREATER", ComparisonOperation.GREATER, 2)


_comparison("GREATER_EQUAL", ComparisonOperation.GREATER_OR_EQUAL, 3)


_comparison("LESS", ComparisonOperation.LESS, 3)


_comparison("LESS_EQUAL", ComparisonOperation.LESS_OR_EQUAL, 2)


def _logical(name: str, function: LogicalBinaryOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return logical(operation, function)


_logical("LOGICAL_AND", LogicalBinaryOperation.LOGICAL_AND)


_logical("LOGICAL_OR", LogicalBinaryOperation.LOGICAL_OR)


@operator("SELECT_V2", newest=2)
def select_v2(operation: Operation) -> Value:
    """Add Where."""
    return _where(operation, operation.input())


@operator("SELECT", newest=4)
def select(operation: Operation) -> Value:
    """Add Where.

    A list of conditions chooses along the first axis.
    """
    condition, rank = operation.input(), len(operation.shape(1))
    if len(operation.shape()) == 1 and rank > 1:
        condition = reshape(operation, condition, (-1, *(1,) * (rank - 1)), "condition")
    return _where(operation, condition)


def _where(operation: Operation, condition: Value) -> Value:
    return operation.network.add_where(
        condition,
        operation.input(1),
        operation.input(2),
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("BUCKETIZE")
def bucketize(operation: Operation) -> Value:
    """Count the boundaries that an element is not below."""
    boundaries = np.array(operation.options("BucketizeOptions").reals("Boundaries"), np.float32)
    if (np.diff(boundaries) < 0).any():
        raise operation.error("its boundaries are not in order")
    value = operation.input()
    real = cast(operation, value, DataType.FLOAT32, "real")
    limits = operation.network.add_constant(boundaries, name=operation.layer_name("boundaries"))
    reached = compare(
        operation,
        ComparisonOperation.GREATER_OR_EQUAL,
        with_axis(operation, real, len(operation.shape()), "column"),
        limits,
        "reached",
    )
    return operation.network.add_reduce(
        cast(operation, reached, DataType.SIGNED32, "ones"),
        axis=(-1,),
        keep_dims=False,
        reduce_operation=ReduceOperation.SUM,
        name=operation.layer_name(),
    )


_LARGEST = 2**12


@operator("MATRIX_DIAG")
def matrix_diag(operation: Operation) -> Value:
    """Add Where: the elements on the diagonal, zeros elsewhere."""
    value, rank = operation.input(), len(operation.shape())
    if not rank or value.info.is_quantized:
        raise RefusedError("its input is a scalar or quantized")
    size = _size(operation.shape()[-1])
    zero = operation.number(0, value, "zero")
    return _on_diagonal(operation, size, size, with_axis(operation, value, rank, "column"), zero)


@operator("MATRIX_SET_DIAG")
def matrix_set_diag(operation: Operation) -> Value:
    """Add Where: the second input on the first's diagonal."""
    shape = operation.shape()
    if len(shape) < 2 or len(operation.shape(1)) != len(shape) - 1:
        raise operation.error("its inputs are not matrices and their diagonals")
    rows, columns = _size(shape[-2]), _size(shape[-1])
    # The diagonal is as long as the shorter side, along which it is laid.
    axis = len(shape) - 1 if rows <= columns else len(shape) - 2
    diagonal = with_axis(operation, operation.input(1), axis, "diagonal")
    return _on_diagonal(operation, rows, columns, diagonal, operation.input())


def _on_diagonal(
    operation: Operation, rows: int, columns: int, diagonal: Value, other: Value
) -> Value:
    where = operation.network.add_constant(
        np.eye(rows, columns, dtype=bool), name=operation.layer_name("on_diagonal")
    )
    return operation.network.add_where(where, diagonal, other, name=operation.layer_name())


def _size(dim: int | str | None) -> int:
    if not isinstance(dim, int):
        raise NotKnownYetError("the size of its matrices is not known")
    if dim > _LARGEST:
        raise RefusedError(f"its matrices have {dim} rows or columns: more than {_LARGEST}")
    return dim
