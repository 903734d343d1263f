# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic of elements, broadcast by NumPy's rules.

Floating point follows IEEE 754: x/0 is infinity, 0/0 is NaN, Maximum and Minimum propagate NaN, a
comparison with NaN is false (NotEqual is true). Integers stay integers and wrap around modulo
2^bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armnn.layers import Descriptor
from armnn.layers.elementwise import (
    ComparisonDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    FusedDescriptor,
    IsInfDescriptor,
    LogicalBinaryDescriptor,
    WhereDescriptor,
)
from armnn.types import (
    BinaryOperation,
    ComparisonOperation,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.activation import erf
from armnn_backend_ref.ops.quantizing import to_type


@op("ElementwiseBinary")
def elementwise_binary(d: ElementwiseBinaryDescriptor, x: Array, y: Array) -> Array:
    """Apply ``d.operation`` to each pair of elements."""
    return _BINARY[d.operation](x, y)


@op("Addition")
def addition(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return x + y."""
    return np.add(x, y)


@op("Subtraction")
def subtraction(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return x - y."""
    return np.subtract(x, y)


@op("Multiplication")
def multiplication(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return x * y."""
    return np.multiply(x, y)


@op("Division")
def division(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return x / y; see :func:`divide` for integers."""
    return divide(x, y)


@op("Maximum")
def maximum(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return the greater of each pair; NaN wins."""
    return np.maximum(x, y)


@op("Minimum")
def minimum(_d: Descriptor, x: Array, y: Array) -> Array:
    """Return the smaller of each pair; NaN wins."""
    return np.minimum(x, y)


@op("ElementwiseUnary")
def elementwise_unary(d: ElementwiseUnaryDescriptor, x: Array) -> Array:
    """Apply ``d.operation`` to each element.

    Abs, Neg, Ceil, Round and Sign keep integers (Abs and Neg of the most negative one are itself).
    The other functions of an integer are computed in float64 and cut off, as Arm NN does.
    """
    function = _UNARY[d.operation]
    if x.dtype.kind in "iu" and d.operation not in _OF_INTEGERS:
        return to_type(function(x.astype(np.float64)), x.dtype)
    return function(x)


@op("Floor")
def floor(_d: Descriptor, x: Array) -> Array:
    """Round each element down to a whole number."""
    return _whole(np.floor, x)


@op("Comparison")
def comparison(d: ComparisonDescriptor, x: Array, y: Array) -> Array:
    """Compare each pair of real values.

    Quantized operands may have different scales.
    """
    return _COMPARISONS[d.operation](x, y)


@op("LogicalBinary")
def logical_binary(d: LogicalBinaryDescriptor, x: Array, y: Array) -> Array:
    """Combine each pair of truth values."""
    return _LOGICAL[d.operation](x, y)


@op("Fused")
def add_mul_add(d: FusedDescriptor, *inputs: Array) -> tuple[Array, ...]:
    """Return (x + y) * factor + offset.

    With two outputs, x + y is returned before it.
    """
    x, y, factor, offset = inputs
    total = x + y
    result = total * factor + offset
    return (np.broadcast_to(total, result.shape), result)[-d.num_output_slots :]


@op("Where")
def where(_d: WhereDescriptor, condition: Array, x: Array, y: Array) -> Array:
    """Return x where the condition holds, else y."""
    return np.where(condition, x, y)


@op("IsNaN")
def is_nan(_d: Descriptor, x: Array) -> Array:
    """Return whether each element is not a number."""
    return np.isnan(x)


@op("IsInf")
def is_inf(d: IsInfDescriptor, x: Array) -> Array:
    """Return whether each element is infinite with a requested sign."""
    if d.detect_positive and d.detect_negative:
        return np.isinf(x)
    if d.detect_positive or d.detect_negative:
        found: Array = x == (np.inf if d.detect_positive else -np.inf)
        return found
    return np.zeros(x.shape, np.bool_)


def divide(x: Array, y: Array) -> Array:
    """Return x / y; integers truncate toward zero.

    An integer divided by zero gives 0, and the most negative one divided by -1 gives itself.
    """
    if np.result_type(x, y).kind not in "iu":
        return np.divide(x, y)
    quotient: Array = np.floor_divide(x, y)
    rounded_down: Array = (quotient < 0) & (quotient * y != x)
    return quotient + rounded_down


def _whole(rounding: Callable[[Array], Array], x: Array) -> Array:
    """Round the elements; integers are returned as they are.

    NumPy 2.0 would make them float.
    """
    return rounding(x) if x.dtype.kind == "f" else x


def _power(x: Array, y: Array) -> Array:
    """Return x to the power of y.

    An integer to a negative power is truncated toward zero.
    """
    if np.result_type(x, y).kind not in "iu" or not (y < 0).any():
        return np.power(x, y)
    # 1 / x^n is a whole number only for x = 1 and x = -1, where the parity of n decides.
    powers = np.power(x, np.where(y < 0, y & 1, y))
    return np.where((y < 0) & (np.abs(x) != 1), 0, powers)


def _floor_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded down.

    Integers divided by zero give 0.
    """
    # NumPy corrects floating point quotients by the remainder: 1 // 0.1 is 9 there, not 10.
    floats = np.result_type(x, y).kind == "f"
    return np.floor(np.divide(x, y)) if floats else np.floor_divide(x, y)


_BINARY: dict[BinaryOperation, Callable[[Array, Array], Array]] = {
    BinaryOperation.ADD: np.add,
    BinaryOperation.DIV: divide,
    BinaryOperation.MAXIMUM: np.maximum,
    BinaryOperation.MINIMUM: np.minimum,
    BinaryOperation.MUL: np.multiply,
    BinaryOperation.SUB: np.subtract,
    BinaryOperation.SQ_DIFF: lambda x, y: np.square(x - y),
    BinaryOperation.POWER: _power,
    BinaryOperation.MOD: np.mod,
    BinaryOperation.FMOD: np.fmod,
    BinaryOperation.FLOOR_DIV: _floor_divide,
    BinaryOperation.BITWISE_AND: np.bitwise_and,
    BinaryOperation.BITWISE_OR: np.bitwise_or,
    BinaryOperation.BITWISE_XOR: np.bitwise_xor,
    BinaryOperation.SHIFT_LEFT: np.left_shift,
    BinaryOperation.SHIFT_RIGHT: np.right_shift,
}

_UNARY: dict[UnaryOperation, Callable[[Array], Array]] = {
    UnaryOperation.ABS: np.abs,
    UnaryOperation.EXP: np.exp,
    UnaryOperation.SQRT: np.sqrt,
    UnaryOperation.RSQRT: lambda x: 1 / np.sqrt(x),
    UnaryOperation.NEG: np.negative,
    UnaryOperation.LOGICAL_NOT: np.logical_not,
    UnaryOperation.LOG: np.log,
    UnaryOperation.SIN: np.sin,
    UnaryOperation.CEIL: lambda x: _whole(np.ceil, x),
    UnaryOperation.ERF: erf,
    UnaryOperation.ROUND: lambda x: _whole(np.rint, x),
    UnaryOperation.SIGN: np.sign,
    UnaryOperation.COS: np.cos,
    UnaryOperation.TAN: np.tan,
    UnaryOperation.ASIN: np.arcsin,
    UnaryOperation.ACOS: np.arccos,
    UnaryOperation.ATAN: np.arctan,
    UnaryOperation.SINH: np.sinh,
    UnaryOperation.COSH: np.cosh,
    UnaryOperation.ASINH: np.arcsinh,
    UnaryOperation.ACOSH: np.arccosh,
    UnaryOperation.ATANH: np.arctanh,
    UnaryOperation.RECIPROCAL: lambda x: 1 / x,
    UnaryOperation.BITWISE_NOT: np.invert,
}

_OF_INTEGERS = (
    UnaryOperation.ABS,
    UnaryOperation.NEG,
    UnaryOperation.CEIL,
    UnaryOperation.ROUND,
    UnaryOperation.SIGN,
    UnaryOperation.BITWISE_NOT,
)
"""The functions that make an integer of an integer."""

_COMPARISONS: dict[ComparisonOperation, Callable[[Array, Array], Array]] = {
    ComparisonOperation.EQUAL: np.equal,
    ComparisonOperation.GREATER: np.greater,
    ComparisonOperation.GREATER_OR_EQUAL: np.greater_equal,
    ComparisonOperation.LESS: np.less,
    ComparisonOperation.LESS_OR_EQUAL: np.less_equal,
    ComparisonOperation.NOT_EQUAL: np.not_equal,
}

_LOGICAL: dict[LogicalBinaryOperation, Callable[[Array, Array], Array]] = {
    LogicalBinaryOperation.LOGICAL_AND: np.logical_and,
    LogicalBinaryOperation.LOGICAL_OR: np.logical_or,
    LogicalBinaryOperation.LOGICAL_XOR: np.logical_xor,
}
