# SPDX-License-Identifier: MIT
"""Conformance cases of selection by rank, mask, index or place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.selecting import (
    CompressDescriptor,
    GatherElementsDescriptor,
    OneHotDescriptor,
    ScatterElementsDescriptor,
    TopKDescriptor,
    TriluDescriptor,
    UniqueDescriptor,
)
from armnn.types import DataType, ScatterNdFunction
from armnn_conformance.cases import EXACT, NAN, LayerCase, Tolerance, case, cases
from armnn_conformance.cases.indexing import COMBINE
from armnn_conformance.operands import (
    ANY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REAL,
    CaseTensor,
    stored_tensor,
    tensor,
    values,
)

_INDEX_TYPES = (DataType.SIGNED64, DataType.SIGNED32)


def _indices(numbers: Any, kind: DataType = DataType.SIGNED64) -> CaseTensor:
    return tensor(kind, np.array(numbers))


def _distinct(data_type: DataType, *shape: int) -> CaseTensor:
    """Return a tensor of different numbers in no order.

    Booleans are a coin each.
    """
    if data_type is DataType.BOOLEAN:
        return values(data_type, shape, seed=5)
    count = int(np.prod(shape))
    numbers = (np.arange(count) * 7 % max(count, 1)).reshape(shape) + 1
    if data_type.is_quantized:
        return stored_tensor(data_type, numbers, scale=0.5)
    return tensor(data_type, numbers)


@cases(TopKDescriptor, types=NUMBERS)
def top_k(data_type: DataType) -> Iterator[LayerCase]:
    """Largest and smallest along each axis, ties, all and none."""
    x, deep = _distinct(data_type, 3, 5), _distinct(data_type, 2, 1, 4, 1, 2)
    for index, (name, k, axis, largest, edge) in enumerate(
        (
            ("the largest of a row", 2, -1, True, False),
            ("the smallest of a column", 2, 0, False, False),
            ("all", 5, 1, True, True),
            ("none", 0, 1, True, True),
        )
    ):
        d = TopKDescriptor(k=k, axis=axis, largest=largest)
        yield _top(data_type, name, d, x, _INDEX_TYPES[index % 2], edge)
    d = TopKDescriptor(k=3, axis=2)
    yield _top(data_type, "rank 5", d, deep, DataType.SIGNED64, True)
    d = TopKDescriptor(k=1, axis=1, sorted=False)
    yield _top(data_type, "one, in any order", d, x, DataType.SIGNED64, True)
    ties = tensor(data_type, np.array([[2, 3, 3, 2, 3]]))
    d = TopKDescriptor(k=4, axis=1)
    yield _top(data_type, "ties go to the lower index", d, ties, DataType.SIGNED64, True)


@cases(TopKDescriptor, types=FLOATS)
def top_k_of_nan(data_type: DataType) -> Iterator[LayerCase]:
    """Cover NaN, the largest of all, whichever end is wanted."""
    x = tensor(data_type, [[1.0, np.nan, 3.0, np.nan, 2.0]])
    outputs = [x.info, DataType.SIGNED64]
    for largest, numbers, places in (
        (True, [np.nan, np.nan, 3.0], [1, 3, 2]),
        (False, [1.0, 2.0, 3.0, np.nan], [0, 4, 2, 1]),
    ):
        d = TopKDescriptor(k=len(places), largest=largest)
        expected = np.array([numbers]), np.array([places])
        title = f"NaN among the {'largest' if largest else 'smallest'}"
        how: dict[str, Any] = {"outputs": outputs, "tolerance": EXACT, "needs": NAN}
        yield case(data_type, title, d, [x], expected, edge=True, **how)


def _top(
    data_type: DataType,
    name: str,
    d: TopKDescriptor,
    x: CaseTensor,
    index_type: DataType,
    edge: bool,
) -> LayerCase:
    lines = np.moveaxis(x.real, d.axis, -1)
    numbers = np.zeros((*lines.shape[:-1], d.k), lines.dtype)
    places = np.zeros(numbers.shape, np.int64)
    for line in np.ndindex(*lines.shape[:-1]):
        sign = -1 if d.largest else 1
        ranks = [sign * number for number in lines[line].tolist()]
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        places[line] = order[: d.k]
        numbers[line] = [lines[line][i] for i in order[: d.k]]
    expected = (np.moveaxis(numbers, -1, d.axis), np.moveaxis(places, -1, d.axis))
    return case(
        data_type, name, d, [x], expected, outputs=[x.info, index_type], tolerance=EXACT, edge=edge
    )


@cases(OneHotDescriptor, types=ANY)
def one_hot(data_type: DataType) -> Iterator[LayerCase]:
    """Cover two axes, negative indices and outside ones."""
    off_on = _distinct(data_type, 2)
    if data_type is DataType.BOOLEAN:
        off_on = tensor(data_type, np.array([False, True]))
    for name, places, depth, axis, wrap, edge in (
        ("the last axis", [2, 0, 1], 3, -1, True, False),
        ("the first axis", [[2, 0], [1, 1]], 4, 0, True, False),
        ("rank 5", [[[[2, 0]]], [[[1, 1]]]], 3, 2, True, True),
        ("from the end", [-1, 3, 1], 4, -1, True, True),
        ("negative ones are outside", [-1, 3, 1], 4, -1, False, True),
        ("outside", [5, -6, 1], 3, -1, True, True),
    ):
        array = np.array(places)
        expected = np.full((*array.shape, depth), off_on.real[0])
        for at in np.ndindex(*array.shape):
            index = int(array[at]) + (depth if wrap and array[at] < 0 else 0)
            if 0 <= index < depth:
                expected[(*at, index)] = off_on.real[1]
        d = OneHotDescriptor(depth=depth, axis=axis, wrap_negative=wrap)
        expected = np.moveaxis(expected, -1, axis)
        yield case(data_type, name, d, [_indices(places), off_on], expected, like=off_on, edge=edge)


@cases(TriluDescriptor, types=ANY)
def triangle(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both triangles, shifted diagonals, a batch of flat matrices."""
    for name, shape, upper, k, edge in (
        ("upper", (3, 4), True, 0, False),
        ("lower", (4, 3), False, 0, False),
        ("rank 5", (2, 1, 2, 3, 2), False, -1, True),
        ("above the diagonal", (3, 4), True, 1, False),
        ("up to below the diagonal", (3, 4), False, -1, False),
        ("a batch of rows", (2, 1, 5), True, 2, True),
    ):
        x = _distinct(data_type, *shape)
        expected = x.real.copy()
        for at in np.ndindex(*shape):
            inside = at[-1] - at[-2] >= k if upper else at[-1] - at[-2] <= k
            if not inside:
                expected[at] = 0
        d = TriluDescriptor(upper=upper, k=k)
        yield case(data_type, name, d, [x], expected, like=x, edge=edge)


@cases(GatherElementsDescriptor, types=ANY)
def gather_elements(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each axis, negative, few and no indices."""
    plain, deep = _distinct(data_type, 3, 4), _distinct(data_type, 2, 1, 3, 1, 2)
    for index, (name, places, axis, edge) in enumerate(
        (
            ("rows", [[0, 2, 1, 0], [2, 2, 0, 1]], 0, False),
            ("columns, from the end", [[3, -1], [0, -4], [1, 2]], -1, False),
            ("a corner", [[2]], 0, True),
            ("no index", np.zeros((0, 4), np.int64), 0, True),
            ("rank 5", [[[[[2, 0]], [[1, 2]]]]], 2, True),
        )
    ):
        array = np.array(places)
        x = deep if array.ndim == 5 else plain
        expected = np.zeros(array.shape, x.real.dtype)
        for at in np.ndindex(*array.shape):
            source = list(at)
            source[axis] = int(array[at])
            expected[at] = x.real[tuple(source)]
        d = GatherElementsDescriptor(axis=axis)
        inputs = [x, _indices(array, _INDEX_TYPES[index % 2])]
        yield case(data_type, name, d, inputs, expected, like=x, edge=edge)


@cases(ScatterElementsDescriptor, types=NUMBERS)
def scatter_elements(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every function with a repeated index, each axis.

    Some indices count from the end.
    """
    x = tensor(data_type, np.array([[9, 8, 7], [6, 9, 5]]))
    for function in ScatterNdFunction:
        places: list[Any] = [[0, 0, 1], [1, 0, 0]]
        updates = tensor(data_type, np.array([[1, 2, 1], [2, 1, 3]]))
        yield _scattered(data_type, function.arm_name, function, 0, x, places, updates, False)
    places = [[-1], [0]]
    updates = tensor(data_type, np.array([[1], [2]]))
    function = ScatterNdFunction.UPDATE
    yield _scattered(data_type, "from the end", function, 1, x, places, updates, True)
    deep = tensor(data_type, np.arange(12).reshape(2, 1, 3, 1, 2))
    updates = tensor(data_type, np.array([20, 21, 22, 23]).reshape(1, 1, 2, 1, 2))
    places = [[[[[2, 0]], [[0, 1]]]]]
    yield _scattered(data_type, "rank 5", function, 2, deep, places, updates, True)


@cases(ScatterElementsDescriptor, types=FLOATS)
def scatter_elements_of_nan(data_type: DataType) -> Iterator[LayerCase]:
    """Cover NaN in extremes, there before and in an update."""
    x, updates = tensor(data_type, [np.nan, 1.0, 2.0]), tensor(data_type, [5.0, np.nan, 3.0])
    for function, last in ((ScatterNdFunction.MAX, 3.0), (ScatterNdFunction.MIN, 2.0)):
        d = ScatterElementsDescriptor(function=function)
        operands, title = [x, _indices([0, 1, 2]), updates], f"{function.arm_name} of NaN"
        yield case(data_type, title, d, operands, [np.nan, np.nan, last], edge=True, needs=NAN)


def _scattered(
    data_type: DataType,
    name: str,
    function: ScatterNdFunction,
    axis: int,
    x: CaseTensor,
    places: list[Any],
    updates: CaseTensor,
    edge: bool,
) -> LayerCase:
    expected: NDArray[Any] = x.real.copy()
    for at in np.ndindex(*updates.real.shape):
        target = list(at)
        target[axis] = int(np.array(places)[at])
        old, new = expected[tuple(target)], updates.real[at]
        expected[tuple(target)] = COMBINE[function](old, new)
    rounded = Tolerance("each update may be rounded by itself", rtol=1e-2, atol=1e-2, steps=2)
    return case(
        data_type,
        name,
        ScatterElementsDescriptor(axis=axis, function=function),
        [x, _indices(places), updates],
        expected,
        tolerance=None if data_type in INTEGERS else rounded,
        edge=edge,
    )


@cases(CompressDescriptor, types=ANY)
def compress(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each axis, a short condition, and no result."""
    plain, deep = _distinct(data_type, 3, 4), _distinct(data_type, 2, 1, 3, 1, 2)
    for name, condition, axis, edge in (
        ("rank 5", [True, False, True], 2, True),
        ("columns", [True, False, True, True], 1, False),
        ("rows, from the end", [False, True, True], -2, False),
        ("a condition that ends early", [True, True], 1, True),
        ("nothing left", [False, False, False], 0, True),
    ):
        x = deep if name == "rank 5" else plain
        kept = [index for index, holds in enumerate(condition) if holds]
        expected = np.moveaxis(np.moveaxis(x.real, axis, 0)[kept], 0, axis)
        d = CompressDescriptor(axis=axis)
        inputs = [x, tensor(DataType.BOOLEAN, np.array(condition))]
        yield case(data_type, name, d, inputs, expected, like=x, edge=edge)


@cases(UniqueDescriptor, types=ANY)
def unique(data_type: DataType) -> Iterator[LayerCase]:
    """Cover lists, columns, rows, equal and no elements.

    The results are sorted, and in order of occurrence.
    """
    for name, numbers, axis in (
        ("a list", [1, 0, 1, 1, 0], 0),
        ("columns", [[1, 0, 1, 1], [0, 1, 0, 1]], 1),
        ("columns that go round", [[1, 0, 0, 0], [1, 0, 1, 0]], 1),
        ("rank 5, from the end", np.array([[1, 1], [0, 1], [1, 1]]).reshape(3, 1, 2, 1, 1), -5),
        ("all alike", [1, 1, 1], 0),
        ("nothing", np.zeros((0, 2)), 0),
    ):
        plain = np.array(numbers, np.float64 if data_type in REAL else np.int64)
        reals = plain.astype(np.bool_) if data_type is DataType.BOOLEAN else plain
        x = tensor(data_type, reals)
        # One type of indices with each order: the two have nothing to do with each other.
        for ordered, places in zip((True, False), _INDEX_TYPES, strict=True):
            yield case(
                data_type,
                f"{name}, sorted {ordered}, {places.arm_name}",
                UniqueDescriptor(axis=axis, sorted=ordered),
                [x],
                _uniques(x.real, axis, ordered),
                outputs=[x.info, places, places, places],
                tolerance=EXACT,
                edge=name != "a list",
            )


def _uniques(x: NDArray[Any], axis: int, ordered: bool) -> tuple[NDArray[Any], ...]:
    slices = np.moveaxis(x, axis, 0)
    keys = [tuple(piece.reshape(-1).tolist()) for piece in slices]
    found = list(dict.fromkeys(keys))
    found = sorted(found) if ordered else found
    first = np.array([keys.index(key) for key in found], np.int64)
    inverse = np.array([found.index(key) for key in keys], np.int64)
    counts = np.array([keys.count(key) for key in found], np.int64)
    return np.moveaxis(slices[first], 0, axis), first, inverse, counts
