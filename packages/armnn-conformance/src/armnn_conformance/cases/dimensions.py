# SPDX-License-Identifier: MIT
"""Conformance cases of Rank, Shape, Fill and Range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armnn.layers.dimensions import (
    FillDescriptor,
    RangeDescriptor,
    RankDescriptor,
    ShapeDescriptor,
)
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.operands import ANY, FLOATS, SIGNED, UNSIGNED, tensor, values

_SHAPES = {"a matrix": (2, 5), "a scalar": (), "an empty tensor": (3, 0, 2, 1, 2)}


@cases(RankDescriptor, types=ANY)
def rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover ranks, a scalar's included, in both output types."""
    for index, (name, shape) in enumerate(_SHAPES.items()):
        result = (DataType.SIGNED32, DataType.SIGNED64)[index % 2]
        d = RankDescriptor()
        inputs = [values(data_type, shape, seed=1)]
        expected = np.array(len(shape))
        yield case(data_type, name, d, inputs, expected, outputs=[result], edge=len(shape) != 2)


@cases(ShapeDescriptor, types=ANY)
def shape_of(data_type: DataType) -> Iterator[LayerCase]:
    """Cover dimensions, a scalar's included, in both output types."""
    for index, (name, shape) in enumerate(_SHAPES.items()):
        result = (DataType.SIGNED64, DataType.SIGNED32)[index % 2]
        d = ShapeDescriptor()
        inputs = [values(data_type, shape, seed=1)]
        expected = np.array(shape, dtype=np.int64)
        yield case(data_type, name, d, inputs, expected, outputs=[result], edge=len(shape) != 2)


@cases(FillDescriptor, types=ANY)
def fill(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a value, the default, a scalar and no elements."""
    value = 1.0 if data_type is DataType.BOOLEAN else 3.0 if data_type.is_integer else 2.5
    for name, number, shape in (
        ("a matrix", value, (2, 3)),
        ("zeros by default", 0.0, (4,)),
        ("a scalar", value, ()),
        ("nothing to fill", value, (2, 0)),
    ):
        expected = np.full(shape, number, bool if data_type is DataType.BOOLEAN else float)
        if data_type.is_integer:
            expected = expected.astype(np.int64)
        d = FillDescriptor(value=number)
        inputs = [tensor(DataType.SIGNED64, np.array(shape, dtype=np.int64), constant=True)]
        yield case(data_type, name, d, inputs, expected, edge=len(shape) == 0 or 0 in shape)


@cases(RangeDescriptor, types=(*FLOATS, *SIGNED, *UNSIGNED))
def range_of(data_type: DataType) -> Iterator[LayerCase]:
    """Cover ranges up, down, empty, and not ending at limits."""
    rows: list[tuple[str, tuple[float, ...], list[float], bool]] = [
        ("up", (2, 9, 3), [2, 5, 8], False),
        ("the limit is not reached", (1, 5, 2), [1, 3], False),
        ("nothing", (4, 4, 1), [], True),
        ("one number", (7, 8, 5), [7], True),
    ]
    if data_type not in UNSIGNED:
        rows.append(("down through zero", (2, -3, -2), [2, 0, -2], False))
    if data_type.is_float:
        rows.append(("halves", (0.5, 2.5, 0.75), [0.5, 1.25, 2.0], False))
    for name, numbers, expected, edge in rows:
        operands = [tensor(data_type, np.array(number), constant=True) for number in numbers]
        kind = np.float64 if data_type.is_float else np.int64
        d = RangeDescriptor()
        yield case(data_type, name, d, operands, np.array(expected, dtype=kind), edge=edge)
