# SPDX-License-Identifier: MIT
"""Conformance cases of elementwise layers: scalars, high ranks."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np

from armnn.layers.elementwise import (
    ComparisonDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    FloorDescriptor,
    FusedDescriptor,
    IsInfDescriptor,
    IsNaNDescriptor,
    LogicalBinaryDescriptor,
    WhereDescriptor,
)
from armnn.types import ComparisonOperation, DataType, UnaryOperation
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.cases.elementwise import BINARY, SIMPLE, choice, operands, pairwise
from armnn_conformance.operands import (
    ANY,
    BOOLEANS,
    FLOATS,
    NUMBERS,
    REAL,
    UNSIGNED,
    high_ranks,
    tensor,
    values,
)

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
