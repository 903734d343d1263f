# SPDX-License-Identifier: MIT
"""Cases of pointwise layers: activations, arithmetic and logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, sqrt
from typing import Any

import numpy as np

from armnn import types as t
from benchmarks.layers.case import Array, Case


def elementwise_cases(x: Array, y: Array) -> Iterator[Case]:
    """Yield the cases, on two images of the same shape."""
    yield from _activations(x)
    yield from _arithmetic(x, y)
    yield from _logic(x, y)


def _softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


def _elu(x: Array, a: float) -> Array:
    return np.where(x > 0, x, a * np.expm1(x))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": lambda x: 0.5 * np.tanh(0.25 * x),
    "LINEAR": lambda x: 0.5 * x + 0.25,
    "RELU": lambda x: np.maximum(x, 0),
    "BOUNDED_RELU": lambda x: np.clip(x, 0.25, 0.5),
    "SOFT_RELU": _softplus,
    "LEAKY_RELU": lambda x: np.where(x > 0, x, 0.5 * x),
    "ABS": np.abs,
    "SQRT": np.sqrt,
    "SQUARE": np.square,
    "ELU": lambda x: _elu(x, 0.5),
    "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "SOFT_SIGN": lambda x: x / (1 + np.abs(x)),
    "MISH": lambda x: x * np.tanh(_softplus(x)),
    "SELU": lambda x: 0.25 * _elu(x, 0.5),
    "CELU": lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5)),
    "HARD_SIGMOID": lambda x: np.clip(0.5 * x + 0.25, 0, 1),
    "THRESHOLDED_RELU": lambda x: np.where(x > 0.5, x, 0),
    "SHRINK": lambda x: np.where(x > 0.5, x - 0.25, np.where(x < -0.5, x + 0.25, 0)),
    "SWISH": lambda x: x / (1 + np.exp(-0.5 * x)),
    "GELU_TANH": lambda x: 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))),
}


def _activations(x: Array) -> Iterator[Case]:
    for name, direct in _ACTIVATIONS.items():
        function = t.ActivationFunction[name]
        fields = {"function": function, "a": 0.5, "b": 0.25}
        yield Case("Activation", function.arm_name, (x,), direct, fields)
    alpha = x[:, :, :1, :1]
    yield Case("Prelu", "", (x, alpha), lambda x, alpha: np.where(x > 0, x, alpha * x))


_UNARY: dict[str, Callable[[Array], Array]] = {
    "ABS": np.abs,
    "EXP": np.exp,
    "SQRT": np.sqrt,
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "NEG": np.negative,
    "LOG": np.log,
    "SIN": np.sin,
    "CEIL": np.ceil,
    "ROUND": np.rint,
    "SIGN": np.sign,
    "COS": np.cos,
    "TAN": np.tan,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "ASINH": np.arcsinh,
    "ACOSH": np.arccosh,
    "ATANH": np.arctanh,
    "RECIPROCAL": np.reciprocal,
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "DIV": np.divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "MUL": np.multiply,
    "SUB": np.subtract,
    "SQ_DIFF": lambda x, y: np.square(x - y),
    "POWER": np.power,
    "MOD": np.mod,
    "FMOD": np.fmod,
    "FLOOR_DIV": np.floor_divide,
}
_BITWISE: dict[str, Callable[[Array, Array], Array]] = {
    "BITWISE_AND": np.bitwise_and,
    "BITWISE_OR": np.bitwise_or,
    "BITWISE_XOR": np.bitwise_xor,
    "SHIFT_LEFT": np.left_shift,
    "SHIFT_RIGHT": np.right_shift,
}
_OWN_TYPE: dict[str, Callable[[Array, Array], Array]] = {
    "Addition": np.add,
    "Subtraction": np.subtract,
    "Multiplication": np.multiply,
    "Division": np.divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}


def _arithmetic(x: Array, y: Array) -> Iterator[Case]:
    for name, unary in _UNARY.items():
        operation = t.UnaryOperation[name]
        yield Case("ElementwiseUnary", operation.arm_name, (x,), unary, {"operation": operation})
    integers = (np.abs(x * 10).astype(np.int32), np.abs(y).astype(np.int32))
    complement = {"operation": t.UnaryOperation.BITWISE_NOT}
    yield Case("ElementwiseUnary", "BitwiseNot", integers[:1], np.invert, complement)
    yield Case("Floor", "", (x,), np.floor)
    for table, operands in ((_BINARY, (x, y)), (_BITWISE, integers)):
        for name, binary in table.items():
            fields = {"operation": t.BinaryOperation[name]}
            variant = t.BinaryOperation[name].arm_name
            yield Case("ElementwiseBinary", variant, operands, binary, fields)
    for layer, binary in _OWN_TYPE.items():
        yield Case(layer, "", (x, y), binary)
        yield Case(layer, "by channel", (x, y[:, :, :1, :1]), binary)
    fused = (x, y, x[:, :, :1, :1], y[:, :, :1, :1])
    yield Case("Fused", "", fused, lambda x, y, a, b: (x + y) * a + b, {"num_output_slots": 1})


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "GREATER_OR_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_OR_EQUAL": np.less_equal,
    "NOT_EQUAL": np.not_equal,
}
_LOGICAL: dict[str, Callable[[Array, Array], Array]] = {
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_XOR": np.logical_xor,
}


def _logic(x: Array, y: Array) -> Iterator[Case]:
    for name, compare in _COMPARISONS.items():
        fields: dict[str, Any] = {"operation": t.ComparisonOperation[name]}
        variant = t.ComparisonOperation[name].arm_name
        yield Case("Comparison", variant, (x, y), compare, fields)
    truths = (x > 0, y > 0)
    for name, combine in _LOGICAL.items():
        fields = {"operation": t.LogicalBinaryOperation[name]}
        variant = t.LogicalBinaryOperation[name].arm_name
        yield Case("LogicalBinary", variant, truths, combine, fields)
    negation = {"operation": t.UnaryOperation.LOGICAL_NOT}
    yield Case("ElementwiseUnary", "LogicalNot", truths[:1], np.logical_not, negation)
    yield Case("Where", "", (truths[0], x, y), np.where)
    yield Case("IsNaN", "", (x,), np.isnan)
    yield Case("IsInf", "", (x,), np.isinf)
