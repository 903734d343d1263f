# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic on each element, with broadcasting."""

from __future__ import annotations

from armnn.graph import Value
from armnn.parsing.conversion import add_layer, cast, compare, logical
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary


def unary(operation: Operation, function: UnaryOperation, value: Value, part: str = "") -> Value:
    """Add an ElementwiseUnary layer."""
    return add_layer(operation, "ElementwiseUnary", [value], part, operation=function)


def _binary_operator(name: str, function: BinaryOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return binary(operation, function, operation.input(), operation.input(1))


def _variadic_operator(name: str, function: BinaryOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return _chain(operation, function)


def _chain(operation: Operation, function: BinaryOperation, last: str = "") -> Value:
    """Combine all inputs, two at a time."""
    first, *others = operation.values()
    for index, value in enumerate(others, start=1):
        part = last if index == len(others) else f"partial_{index}"
        first = binary(operation, function, first, value, part)
    return first


def _unary_operator(name: str, function: UnaryOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return unary(operation, function, operation.input())


def _comparison_operator(name: str, function: ComparisonOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return compare(operation, function, operation.input(), operation.input(1))


def _logical_operator(name: str, function: LogicalBinaryOperation) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        return logical(operation, function)


_binary_operator("Add", BinaryOperation.ADD)
_binary_operator("Sub", BinaryOperation.SUB)
_binary_operator("Mul", BinaryOperation.MUL)
_binary_operator("Div", BinaryOperation.DIV)
_binary_operator("BitwiseAnd", BinaryOperation.BITWISE_AND)
_binary_operator("BitwiseOr", BinaryOperation.BITWISE_OR)
_binary_operator("BitwiseXor", BinaryOperation.BITWISE_XOR)
_variadic_operator("Max", BinaryOperation.MAXIMUM)
_variadic_operator("Min", BinaryOperation.MINIMUM)
_variadic_operator("Sum", BinaryOperation.ADD)
_unary_operator("Abs", UnaryOperation.ABS)
_unary_operator("Neg", UnaryOperation.NEG)
_unary_operator("Exp", UnaryOperation.EXP)
_unary_operator("Log", UnaryOperation.LOG)
_unary_operator("Sqrt", UnaryOperation.SQRT)
_unary_operator("Sin", UnaryOperation.SIN)
_unary_operator("Ceil", UnaryOperation.CEIL)
_unary_operator("Erf", UnaryOperation.ERF)
_unary_operator("Round", UnaryOperation.ROUND)
_unary_operator("Sign", UnaryOperation.SIGN)
_unary_operator("Cos", UnaryOperation.COS)
_unary_operator("Tan", UnaryOperation.TAN)
_unary_operator("Asin", UnaryOperation.ASIN)
_unary_operator("Acos", UnaryOperation.ACOS)
_unary_operator("Atan", UnaryOperation.ATAN)
_unary_operator("Sinh", UnaryOperation.SINH)
_unary_operator("Cosh", UnaryOperation.COSH)
_unary_operator("Asinh", UnaryOperation.ASINH)
_unary_operator("Acosh", UnaryOperation.ACOSH)
_unary_operator("Atanh", UnaryOperation.ATANH)
_unary_operator("Reciprocal", UnaryOperation.RECIPROCAL)
_unary_operator("BitwiseNot", UnaryOperation.BITWISE_NOT)
_unary_operator("Not", UnaryOperation.LOGICAL_NOT)
_comparison_operator("Equal", ComparisonOperation.EQUAL)
_comparison_operator("Greater", ComparisonOperation.GREATER)
_comparison_operator("GreaterOrEqual", ComparisonOperation.GREATER_OR_EQUAL)
_comparison_operator("Less", ComparisonOperation.LESS)
_comparison_operator("LessOrEqual", ComparisonOperation.LESS_OR_EQUAL)
_logical_operator("And", LogicalBinaryOperation.LOGICAL_AND)
_logical_operator("Or", LogicalBinaryOperation.LOGICAL_OR)
_logical_operator("Xor", LogicalBinaryOperation.LOGICAL_XOR)


@operator("Mean")
def mean(operation: Operation) -> Value:
    """Add the sum of all inputs, divided by their number."""
    total = _chain(operation, BinaryOperation.ADD, "sum")
    count = operation.number(len(operation.values()), total, "count")
    return binary(operation, BinaryOperation.DIV, total, count)


@operator("Floor")
def floor(operation: Operation) -> Value:
    """Add Floor."""
    return add_layer(operation, "Floor", [operation.input()])


@operator("Pow")
def power(operation: Operation) -> Value:
    """Add Power, or Square; the output has the base's type."""
    base, exponent = operation.input(), operation.input(1)
    known = exponent.constant
    if known is not None and known.shape == () and known == 2 and base.info.data_type.is_float:
        return activation(operation, base, ActivationFunction.SQUARE)
    if exponent.info.data_type is base.info.data_type:
        return binary(operation, BinaryOperation.POWER, base, exponent)
    if base.info.data_type.is_float:
        exponent = cast(operation, exponent, base.info.data_type, "exponent")
        return binary(operation, BinaryOperation.POWER, base, exponent)
    # A fractional power of an integer is computed in double precision and cut off afterwards.
    wide = cast(operation, base, DataType.FLOAT64, "base")
    exponent = cast(operation, exponent, DataType.FLOAT64, "exponent")
    result = binary(operation, BinaryOperation.POWER, wide, exponent, "power")
    return cast(operation, result, base.info.data_type)


@operator("Mod")
def modulo(operation: Operation) -> Value:
    """Add the remainder, signed as the dividend or divisor.

    With fmod it has the sign of the dividend.
    """
    function = BinaryOperation.FMOD if operation.flag("fmod") else BinaryOperation.MOD
    return binary(operation, function, operation.input(), operation.input(1))


@operator("BitShift")
def bit_shift(operation: Operation) -> Value:
    """Add a shift."""
    left = operation.text("direction", ("LEFT", "RIGHT")) == "LEFT"
    function = BinaryOperation.SHIFT_LEFT if left else BinaryOperation.SHIFT_RIGHT
    return binary(operation, function, operation.input(), operation.input(1))


@operator("IsNaN")
def is_nan(operation: Operation) -> Value:
    """Add IsNaN."""
    return operation.network.add_is_nan(operation.input(), name=operation.layer_name())


@operator("IsInf")
def is_infinite(operation: Operation) -> Value:
    """Add IsInf."""
    return operation.network.add_is_inf(
        operation.input(),
        detect_positive=operation.flag("detect_positive"),
        detect_negative=operation.flag("detect_negative"),
        name=operation.layer_name(),
    )


@operator("Where")
def where(operation: Operation) -> Value:
    """Add Where."""
    return add_layer(operation, "Where", [operation.input(index) for index in range(3)])
