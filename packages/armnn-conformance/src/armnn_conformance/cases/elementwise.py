# SPDX-License-Identifier: MIT
"""Conformance cases of arithmetic, comparison and logic, pair by pair."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers import Descriptor
from armnn.layers.elementwise import (
    AdditionDescriptor,
    ComparisonDescriptor,
    DivisionDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    FloorDescriptor,
    FusedDescriptor,
    IsInfDescriptor,
    IsNaNDescriptor,
    LogicalBinaryDescriptor,
    MaximumDescriptor,
    MinimumDescriptor,
    MultiplicationDescriptor,
    SubtractionDescriptor,
    WhereDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import (
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import (
    ANY,
    BOOLEANS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    QUANTIZED,
    REAL,
    SIGNED,
    UNSIGNED,
    CaseTensor,
    high_ranks,
    stored_tensor,
    tensor,
    values,
)

Pair = Callable[[Any, Any], Any]


_LOOSE = {
    DataType.FLOAT32: Tolerance("quotients and powers in float32", rtol=5e-5, atol=5e-6),
    DataType.FLOAT16: Tolerance("quotients and powers in float16", rtol=5e-3, atol=5e-3),
    DataType.BFLOAT16: Tolerance("quotients and powers in bfloat16", rtol=3e-2, atol=2e-2),
}


def _truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _divide(x: Any, y: Any) -> Any:
    return _truncated(x, y) if isinstance(x, int) else x / y


def _floor_divide(x: Any, y: Any) -> Any:
    return x // y if isinstance(x, int) else math.floor(x / y)


def _fmod(x: Any, y: Any) -> Any:
    return x - y * _truncated(x, y) if isinstance(x, int) else math.fmod(x, y)


_B = BinaryOperation


BINARY: dict[BinaryOperation, Pair] = {
    _B.ADD: lambda x, y: x + y,
    _B.DIV: _divide,
    _B.MAXIMUM: max,
    _B.MINIMUM: min,
    _B.MUL: lambda x, y: x * y,
    _B.SUB: lambda x, y: x - y,
    _B.SQ_DIFF: lambda x, y: (x - y) * (x - y),
    _B.POWER: lambda x, y: x**y,
    _B.MOD: lambda x, y: x % y,
    _B.FMOD: _fmod,
    _B.FLOOR_DIV: _floor_divide,
    _B.BITWISE_AND: lambda x, y: x & y,
    _B.BITWISE_OR: lambda x, y: x | y,
    _B.BITWISE_XOR: lambda x, y: x ^ y,
    _B.SHIFT_LEFT: lambda x, y: x << y,
    _B.SHIFT_RIGHT: lambda x, y: x >> y,
}


_BITS = (_B.BITWISE_AND, _B.BITWISE_OR, _B.BITWISE_XOR, _B.SHIFT_LEFT, _B.SHIFT_RIGHT)


SIMPLE: dict[type[Descriptor], BinaryOperation] = {
    AdditionDescriptor: _B.ADD,
    SubtractionDescriptor: _B.SUB,
    MultiplicationDescriptor: _B.MUL,
    DivisionDescriptor: _B.DIV,
    MaximumDescriptor: _B.MAXIMUM,
    MinimumDescriptor: _B.MINIMUM,
}


def pairwise(function: Pair, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Apply a function of Python's numbers to pairs of elements."""
    left, right = np.broadcast_arrays(x, y)
    pairs = zip(left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True)
    return np.array([function(a, b) for a, b in pairs]).reshape(left.shape)


def operands(
    data_type: DataType, shapes: Sequence[Sequence[int]], *, positive: bool = False
) -> tuple[CaseTensor, CaseTensor]:
    """Return two operands; the second is never near zero."""
    low = 0.5 if positive or data_type not in (*REAL, *SIGNED) else -5
    x = values(data_type, shapes[0], low, 6, seed=1)
    random = np.random.default_rng(2).integers(1, 4, shapes[1])
    signs = np.where(random % 2 == 0, -1, 1) if low < 0 else 1
    y = tensor(data_type, random * signs * (1.0 if data_type in REAL else 1))
    return x, y


_SHAPES = {
    "same shape": ((2, 3, 4), (2, 3, 4)),
    "broadcast row": ((2, 3, 4), (4,)),
    "broadcast both": ((3, 1, 2), (1, 5, 1)),
    "empty": ((0, 3), (1, 3)),
}


@cases(*SIMPLE, types=NUMBERS)
def arithmetic(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every binary layer, with equal and broadcast shapes."""
    for kind, operation in SIMPLE.items():
        for name, shapes in _SHAPES.items():
            x, y = operands(data_type, shapes)
            if kind is SubtractionDescriptor and data_type.is_integer:
                x = tensor(data_type, x.real + 6 if data_type not in SIGNED else x.real)
            expected = pairwise(BINARY[operation], x.real, y.real)
            expected = expected.astype(x.real.dtype)
            edge = name != "same shape"
            tolerance = _LOOSE.get(data_type)
            yield case(data_type, name, kind(), [x, y], expected, tolerance=tolerance, edge=edge)


@cases(*SIMPLE, types=QUANTIZED)
def arithmetic_that_saturates(data_type: DataType) -> Iterator[LayerCase]:
    """Cover results beyond the output's range, and zero points."""
    limits = np.iinfo(data_type.numpy_dtype)
    zero = 0 if data_type in (DataType.QSYMM_S8, DataType.QSYMM_S16) else int(limits.min) + 120
    info = TensorInfo(None, data_type, 0.5, zero)
    x = stored_tensor(
        data_type, [limits.max, limits.min, zero + 4, zero - 4], scale=0.5, zero_point=zero
    )
    y = stored_tensor(
        data_type, [limits.max, zero - 8, zero + 2, zero + 4], scale=0.25, zero_point=zero
    )
    for kind, operation in SIMPLE.items():
        expected = pairwise(BINARY[operation], x.real, y.real)
        yield case(data_type, "saturated", kind(), [x, y], expected, outputs=[info], edge=True)


@cases(MaximumDescriptor, MinimumDescriptor, types=FLOATS)
def extremes_of_nan(data_type: DataType) -> Iterator[LayerCase]:
    """NaN is passed on from either side."""
    x = tensor(data_type, [np.nan, 1.0, -np.inf])
    y = tensor(data_type, [0.0, np.nan, np.inf])
    yield case(data_type, "NaN", MaximumDescriptor(), [x, y], [np.nan, np.nan, np.inf], edge=True)
    yield case(data_type, "NaN", MinimumDescriptor(), [x, y], [np.nan, np.nan, -np.inf], edge=True)


@cases(DivisionDescriptor, types=FLOATS)
def division_by_zero(data_type: DataType) -> Iterator[LayerCase]:
    """IEEE 754: infinity, and NaN for zero by zero."""
    x, y = tensor(data_type, [1.0, -1.0, 0.0]), tensor(data_type, [0.0, 0.0, 0.0])
    expected = [np.inf, -np.inf, np.nan]
    yield case(data_type, "by zero", DivisionDescriptor(), [x, y], expected, edge=True)


@cases(ElementwiseBinaryDescriptor, types=NUMBERS)
def elementwise_binary(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every operation, with broadcasting."""
    for operation, function in BINARY.items():
        integers = data_type in INTEGERS
        if operation in _BITS and not integers:
            continue
        positive = operation in (_B.POWER, _B.SHIFT_LEFT, _B.SHIFT_RIGHT)
        x, y = operands(data_type, ((2, 3, 4), (3, 1)), positive=positive)
        if operation is _B.SUB and data_type not in (*REAL, *SIGNED):
            x = tensor(data_type, x.real + 6)
        if operation is _B.SQ_DIFF and data_type not in (*REAL, *SIGNED):
            x = tensor(data_type, x.real + 3)
        d = ElementwiseBinaryDescriptor(operation=operation)
        expected = pairwise(function, x.real, y.real).astype(x.real.dtype)
        yield case(
            data_type,
            operation.arm_name,
            d,
            [x, y],
            expected,
            tolerance=_LOOSE.get(data_type),
            edge=operation is _B.ADD,
        )


_U = UnaryOperation


_UNARY: dict[UnaryOperation, tuple[Callable[[float], float], float, float]] = {
    _U.ABS: (abs, -4, 4),
    _U.EXP: (math.exp, -3, 2),
    _U.SQRT: (math.sqrt, 0, 9),
    _U.RSQRT: (lambda x: 1 / math.sqrt(x), 0.5, 9),
    _U.NEG: (lambda x: -x, -4, 4),
    _U.LOG: (math.log, 0.5, 9),
    _U.SIN: (math.sin, -4, 4),
    _U.CEIL: (math.ceil, -4, 4),
    _U.ERF: (math.erf, -3, 3),
    _U.ROUND: (lambda x: float(round(x)), -4, 4),
    _U.SIGN: (lambda x: float((x > 0) - (x < 0)), -4, 4),
    _U.COS: (math.cos, -4, 4),
    _U.TAN: (math.tan, -1, 1),
    _U.ASIN: (math.asin, -0.9, 0.9),
    _U.ACOS: (math.acos, -0.9, 0.9),
    _U.ATAN: (math.atan, -4, 4),
    _U.SINH: (math.sinh, -2, 2),
    _U.COSH: (math.cosh, -2, 2),
    _U.ASINH: (math.asinh, -4, 4),
    _U.ACOSH: (math.acosh, 1.5, 9),
    _U.ATANH: (math.atanh, -0.8, 0.8),
    _U.RECIPROCAL: (lambda x: 1 / x, 0.5, 4),
}


def _each(function: Callable[[Any], Any], x: NDArray[Any]) -> NDArray[Any]:
    return np.array([function(number) for number in x.reshape(-1).tolist()]).reshape(x.shape)


@cases(ElementwiseUnaryDescriptor, types=REAL)
def elementwise_unary(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every function in its domain, halves where rounded."""
    for operation, (function, low, high) in _UNARY.items():
        # Nothing stored may be outside of the domain, so quantization fits the values alone.
        x = values(data_type, (2, 3, 5), low, high, seed=int(operation))
        d = ElementwiseUnaryDescriptor(operation=operation)
        expected = _each(function, x.real)
        tolerance = _LOOSE.get(data_type)
        yield case(data_type, operation.arm_name, d, [x], expected, tolerance=tolerance)
    x = tensor(data_type, [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.0])
    if data_type in FLOATS:
        d = ElementwiseUnaryDescriptor(operation=_U.ROUND)
        yield case(data_type, "Round halves", d, [x], [-2, -2, 0, 0, 2, 2, 3.0], edge=True)
    d = ElementwiseUnaryDescriptor(operation=_U.CEIL)
    expected = np.ceil(x.real)
    yield case(data_type, "Ceil of halves", d, [x], expected, edge=True)


@cases(ElementwiseUnaryDescriptor, types=INTEGERS)
def elementwise_unary_of_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover integer operations, with the lowest and highest number."""
    limits = np.iinfo(data_type.numpy_dtype)
    x = tensor(data_type, np.array([limits.min + 1, 0, 1, 5, limits.max], data_type.numpy_dtype))
    rows: dict[UnaryOperation, Callable[[int], int]] = {
        _U.ABS: abs,
        _U.CEIL: lambda n: n,
        _U.ROUND: lambda n: n,
        _U.SIGN: lambda n: (n > 0) - (n < 0),
        _U.BITWISE_NOT: lambda n: ~n if data_type in SIGNED else int(limits.max) - n,
    }
    if data_type in SIGNED:
        rows[_U.NEG] = lambda n: -n
    for operation, function in rows.items():
        d = ElementwiseUnaryDescriptor(operation=operation)
        expected = np.array([function(n) for n in x.real.tolist()], data_type.numpy_dtype)
        yield case(data_type, operation.arm_name, d, [x], expected, edge=True)


_NARROW = tuple(kind for kind in INTEGERS if kind.bits < 64)


@cases(ElementwiseUnaryDescriptor, types=_NARROW)
def functions_of_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover functions with non-integer results: truncated and saturated."""
    limits = np.iinfo(data_type.numpy_dtype)
    lowest = -4 if data_type in SIGNED else 4
    for operation, numbers in (
        (_U.EXP, [0, 1, 4, 9, 100]),
        (_U.SQRT, [0, 1, 8, 9, 120]),
        (_U.RSQRT, [1, 4]),
        (_U.LOG, [1, 2, 20, 100]),
        (_U.SIN, [0, 2, lowest]),
        (_U.ATAN, [0, 2, lowest]),
    ):
        x = tensor(data_type, np.array(numbers))
        function, *_ = _UNARY[operation]
        results = [min(int(function(number)), limits.max) for number in numbers]
        d = ElementwiseUnaryDescriptor(operation=operation)
        expected = np.array(results, data_type.numpy_dtype)
        yield case(data_type, operation.arm_name, d, [x], expected, edge=True)


@cases(ElementwiseUnaryDescriptor, types=BOOLEANS)
def logical_not(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both truth values, one element and none."""
    d = ElementwiseUnaryDescriptor(operation=_U.LOGICAL_NOT)
    for name, truth in (("both", [[True, False]]), ("one", [True]), ("empty", [])):
        x = tensor(data_type, np.array(truth, bool))
        yield case(data_type, name, d, [x], ~x.real, edge=True)


@cases(FloorDescriptor, types=NUMBERS)
def floor(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both sides of zero, and integers unchanged."""
    x = values(data_type, (2, 3, 5), -4, 4, seed=1)
    yield case(data_type, "both signs", FloorDescriptor(), [x], _each(math.floor, x.real))
    x = tensor(
        data_type, np.array([-1.75, -0.25, 0, 0.75, 2.5]).clip(0 if data_type in INTEGERS else -9)
    )
    yield case(data_type, "near zero", FloorDescriptor(), [x], _each(math.floor, x.real), edge=True)
    x = values(data_type, (0, 2), seed=1)
    yield case(data_type, "empty", FloorDescriptor(), [x], x.real, outputs=[x.info], edge=True)


_COMPARISONS: dict[ComparisonOperation, Pair] = {
    ComparisonOperation.EQUAL: lambda x, y: x == y,
    ComparisonOperation.GREATER: lambda x, y: x > y,
    ComparisonOperation.GREATER_OR_EQUAL: lambda x, y: x >= y,
    ComparisonOperation.LESS: lambda x, y: x < y,
    ComparisonOperation.LESS_OR_EQUAL: lambda x, y: x <= y,
    ComparisonOperation.NOT_EQUAL: lambda x, y: x != y,
}


@cases(ComparisonDescriptor, types=ANY)
def comparison(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every operation on less, equal and greater pairs."""
    for operation, function in _COMPARISONS.items():
        if data_type is DataType.BOOLEAN:
            x, y = tensor(data_type, [[False], [True]]), tensor(data_type, [False, True])
        elif data_type in QUANTIZED:
            zero = 0 if data_type in (DataType.QSYMM_S8, DataType.QSYMM_S16) else 3
            x = stored_tensor(data_type, [[1], [5], [9]], scale=0.5, zero_point=zero)
            y = stored_tensor(data_type, [2, 10, 18], scale=0.25, zero_point=2 * zero)
        else:
            x, y = tensor(data_type, [[1], [5], [9]]), tensor(data_type, [1, 5, 9])
        d = ComparisonDescriptor(operation=operation)
        title = operation.arm_name
        expected = pairwise(function, x.real, y.real)
        yield case(data_type, title, d, [x, y], expected, outputs=[DataType.BOOLEAN], edge=True)


@cases(LogicalBinaryDescriptor, types=BOOLEANS)
def logical_binary(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the whole truth table, broadcast."""
    x, y = tensor(data_type, [[False], [True]]), tensor(data_type, [False, True])
    rows: dict[LogicalBinaryOperation, Pair] = {
        LogicalBinaryOperation.LOGICAL_AND: lambda a, b: a and b,
        LogicalBinaryOperation.LOGICAL_OR: lambda a, b: a or b,
        LogicalBinaryOperation.LOGICAL_XOR: lambda a, b: a != b,
    }
    for operation, function in rows.items():
        d = LogicalBinaryDescriptor(operation=operation)
        expected = pairwise(function, x.real, y.real)
        yield case(data_type, operation.arm_name, d, [x, y], expected, edge=True)


@cases(FusedDescriptor, types=REAL)
def fused(data_type: DataType) -> Iterator[LayerCase]:
    """AddMulAdd with one and two outputs, broadcast parameters, one element."""
    for name, shape, row in (("rows", (2, 3, 4), (4,)), ("one element", (1, 1), (1,))):
        x, y = values(data_type, shape, seed=1), values(data_type, shape, seed=2)
        factor, offset = values(data_type, row, 0.5, 2, seed=3), values(data_type, row, seed=4)
        total = x.real + y.real
        result = total * factor.real + offset.real
        inputs = [x, y, factor, offset]
        for count, expected in ((1, (result,)), (2, (total, result))):
            yield case(
                data_type,
                f"{name}, {count} outputs",
                FusedDescriptor(num_output_slots=count),
                inputs,
                expected,
                outputs=[None] * count,
                tolerance=_LOOSE.get(data_type),
                edge=name == "one element",
            )


@cases(WhereDescriptor, types=ANY)
def where(data_type: DataType) -> Iterator[LayerCase]:
    """Cover equal, broadcast and scalar conditions."""
    for name, shapes in (
        ("same shape", ((2, 3), (2, 3), (2, 3))),
        ("broadcast", ((2, 1), (3,), (2, 3))),
        ("a scalar", ((3,), (), (3,))),
    ):
        truth = values(DataType.BOOLEAN, shapes[0], seed=4)
        x = values(data_type, shapes[1], 0, 4, seed=2)
        y = values(data_type, shapes[2], 0, 4, seed=3)
        expected = choice(truth.real, x.real, y.real)
        edge = name != "same shape"
        yield case(data_type, name, WhereDescriptor(), [truth, x, y], expected, edge=edge)


def choice(truth: NDArray[Any], x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return the elements of x where truth is, else those of y, all three broadcast."""
    parts = [part.reshape(-1).tolist() for part in np.broadcast_arrays(truth, x, y)]
    chosen = [a if t else b for t, a, b in zip(*parts, strict=True)]
    return np.array(chosen, x.dtype).reshape(np.broadcast_shapes(truth.shape, x.shape, y.shape))


@cases(IsNaNDescriptor, IsInfDescriptor, types=FLOATS)
def strange_numbers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover NaN, and infinities of either sign."""
    x = tensor(data_type, [-np.inf, -1.0, 0.0, np.nan, np.inf])
    one = tensor(data_type, [[np.inf]])
    truth = [DataType.BOOLEAN]
    d: Descriptor = IsNaNDescriptor()
    yield case(data_type, "all", d, [x], [0, 0, 0, True, 0], outputs=truth, edge=True)
    yield case(data_type, "one", d, [one], [[False]], outputs=truth, edge=True)
    none = values(data_type, (0,))
    nothing = np.zeros(0, bool)
    yield case(data_type, "empty", d, [none], nothing, outputs=truth, edge=True)
    for positive, negative in ((True, True), (True, False), (False, True), (False, False)):
        d = IsInfDescriptor(detect_positive=positive, detect_negative=negative)
        expected = [negative, False, False, False, positive]
        name = f"positive {positive}, negative {negative}"
        yield case(data_type, name, d, [x], expected, outputs=truth, edge=True)


_OF_RANK_5 = ((2, 1, 3, 2, 2), (2, 3, 1, 2))
"""The second operand is broadcast along the first axis and another one."""


@cases(*SIMPLE, ElementwiseBinaryDescriptor, types=NUMBERS)
def arithmetic_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover one scalar, two scalars, and high ranks."""
    shapes = {name: (shape, shape) for name, shape in high_ranks(data_type).items()}
    rows = {"scalars": ((), ()), "beside a scalar": ((2, 3), ()), **shapes, "rank 5": _OF_RANK_5}
    for name, both in rows.items():
        x, y = operands(data_type, both)
        if data_type in UNSIGNED:
            x = tensor(data_type, x.real + 6)  # no difference is below zero
        for kind, operation in SIMPLE.items():
            expected = pairwise(BINARY[operation], x.real, y.real).astype(x.real.dtype)
            yield case(data_type, name, kind(), [x, y], expected, edge=True)
        if name == "rank 5":
            expected = pairwise(operator.add, x.real, y.real).astype(x.real.dtype)
            yield case(data_type, name, ElementwiseBinaryDescriptor(), [x, y], expected, edge=True)


@cases(ElementwiseUnaryDescriptor, FloorDescriptor, types=NUMBERS)
def functions_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a scalar and high ranks."""
    for name, shape in {"a scalar": (), **high_ranks(data_type)}.items():
        x = values(data_type, shape, -4, 4, seed=1)
        d = ElementwiseUnaryDescriptor(operation=UnaryOperation.ABS)
        yield case(data_type, name, d, [x], np.abs(x.real), edge=True)
        yield case(data_type, name, FloorDescriptor(), [x], np.floor(x.real), edge=True)


@cases(ComparisonDescriptor, WhereDescriptor, types=ANY)
def truth_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover Booleans in scalars and high ranks."""
    shapes = {name: (shape, shape) for name, shape in high_ranks(data_type).items()}
    truth = [DataType.BOOLEAN]
    for name, both in {"scalars": ((), ()), **shapes, "rank 5": _OF_RANK_5}.items():
        x, y = (values(data_type, shape, 0, 3, seed=n) for n, shape in enumerate(both))
        chosen = values(DataType.BOOLEAN, both[1], seed=4)
        d = ComparisonDescriptor(operation=ComparisonOperation.GREATER_OR_EQUAL)
        expected = pairwise(operator.ge, x.real, y.real)
        yield case(data_type, name, d, [x, y], expected, outputs=truth, edge=True)
        expected = choice(chosen.real, x.real, y.real)
        yield case(data_type, name, WhereDescriptor(), [chosen, x, y], expected, edge=True)


@cases(LogicalBinaryDescriptor, types=BOOLEANS)
def logic_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover scalars and high ranks."""
    for name, shape in {"scalars": (), **high_ranks(data_type)}.items():
        x, y = (values(data_type, shape, seed=n) for n in range(2))
        expected = pairwise(operator.and_, x.real, y.real)
        yield case(data_type, name, LogicalBinaryDescriptor(), [x, y], expected, edge=True)


@cases(IsNaNDescriptor, IsInfDescriptor, types=FLOATS)
def strange_numbers_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a scalar and high ranks without NaN and infinity."""
    for name, shape in {"a scalar": (), **high_ranks(data_type)}.items():
        x, truth = values(data_type, shape, seed=1), [DataType.BOOLEAN]
        for d in (IsNaNDescriptor(), IsInfDescriptor()):
            expected = np.zeros(shape, bool)
            yield case(data_type, name, d, [x], expected, outputs=truth, edge=True)


@cases(FusedDescriptor, types=REAL)
def fused_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover high ranks with a row of parameters."""
    for name, shape in high_ranks(data_type).items():
        x, y = values(data_type, shape, seed=1), values(data_type, shape, seed=2)
        factor, offset = (values(data_type, shape[-1:], 0.5, 2, seed=n) for n in (3, 4))
        expected = (x.real + y.real) * factor.real + offset.real
        inputs = [x, y, factor, offset]
        d = FusedDescriptor(num_output_slots=1)
        yield case(data_type, name, d, inputs, expected, edge=True)
