# SPDX-License-Identifier: MIT
"""Conformance cases of reductions, on plain lists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.reduction import (
    ArgMinMaxDescriptor,
    CumProdDescriptor,
    CumSumDescriptor,
    MeanDescriptor,
    ReduceDescriptor,
)
from armnn.types import ArgMinMaxFunction, DataType, ReduceOperation
from armnn_conformance.cases import EXTREME, NAN, LayerCase, case, cases
from armnn_conformance.cases.convolution import SUMS
from armnn_conformance.operands import (
    FLOATS,
    INTEGERS,
    LARGE,
    NUMBERS,
    SIGNED,
    CaseTensor,
    tensor,
    values,
)


def _mean(numbers: Sequence[Any]) -> Any:
    total = sum(numbers)
    if isinstance(total, int):  # integers are truncated toward zero
        return abs(total) // len(numbers) * (1 if total >= 0 else -1)
    return total / len(numbers)


_R = ReduceOperation
_FUNCTIONS: dict[ReduceOperation, Callable[[Sequence[Any]], Any]] = {
    _R.SUM: sum,
    _R.PROD: math.prod,
    _R.MAX: max,
    _R.MIN: min,
    _R.MEAN: _mean,
}
_PLAIN = (2, 3, 2)
_AXES: dict[str, tuple[tuple[int, ...], bool, tuple[int, ...]]] = {
    "last": ((2,), False, _PLAIN),
    "kept": ((1,), True, _PLAIN),
    "negative": ((-3,), False, _PLAIN),
    "two of rank 5": ((1, 3), False, (2, 2, 1, 2, 3)),
    "all": ((), True, _PLAIN),
}
"""The axes, whether they stay with one element, and the shape that is reduced."""


def _reduced(
    function: Callable[[Sequence[Any]], Any], x: NDArray[Any], axes: tuple[int, ...], kept: bool
) -> NDArray[Any]:
    gone = sorted(axis % x.ndim for axis in axes) or list(range(x.ndim))
    stay = [axis for axis in range(x.ndim) if axis not in gone]
    rows = x.transpose([*stay, *gone]).reshape(math.prod(x.shape[a] for a in stay), -1)
    shape = [1 if a in gone else x.shape[a] for a in range(x.ndim) if kept or a in stay]
    return np.array([function(row) for row in rows.tolist()], x.dtype).reshape(shape)


_INDEX_TYPES = (DataType.SIGNED32, DataType.SIGNED64)


def _numbers(data_type: DataType, shape: tuple[int, ...], *, seed: int) -> Any:
    low = -3 if data_type in SIGNED or data_type not in INTEGERS else 1
    high = -1 if low < 0 else 3
    return values(data_type, shape, low, high, seed=seed)


@cases(ReduceDescriptor, types=NUMBERS)
def reduce(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every operation and kind of axes, negative numbers.

    They would show a zero.
    """
    for operation, function in _FUNCTIONS.items():
        for name, (axes, kept, shape) in _AXES.items():
            if operation is _R.PROD and len(axes) != 1 and data_type in INTEGERS:
                continue  # it would not fit into eight bits
            x = _numbers(data_type, shape, seed=int(operation))
            d = ReduceDescriptor(reduce_operation=operation, axis=axes, keep_dims=kept)
            yield case(
                data_type,
                f"{operation.arm_name} {name}",
                d,
                [x],
                _reduced(function, x.real, axes, kept),
                tolerance=SUMS.get(data_type),
                edge=name != "last",
            )


@cases(MeanDescriptor, types=NUMBERS)
def mean(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every kind of axes, and rounded integer means.

    They are on both sides of zero.
    """
    for name, (axes, kept, shape) in {**_AXES, "a scalar": ((), False, (4,))}.items():
        x = _numbers(data_type, shape, seed=9)
        d = MeanDescriptor(axis=axes, keep_dims=kept)
        expected = _reduced(_mean, x.real, axes, kept)
        edge = name != "last"
        tolerance = SUMS.get(data_type)
        yield case(data_type, name, d, [x], expected, tolerance=tolerance, edge=edge)
    if data_type in INTEGERS:
        rows = [[1, 2], [0, 3]] if data_type not in SIGNED else [[-1, -2], [0, 3], [-3, 0]]
        x = tensor(data_type, rows)
        expected = _reduced(_mean, x.real, (1,), False)
        yield case(data_type, "truncated", MeanDescriptor(axis=(1,)), [x], expected, edge=True)


def _first_place(row: NDArray[Any], extreme: Callable[[list[Any]], Any]) -> int:
    numbers: list[Any] = row.tolist()
    return numbers.index(extreme(numbers))


@cases(ArgMinMaxDescriptor, types=NUMBERS)
def arg_min_max(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the first of equals, along each axis."""
    numbers = np.array([[[3, 1, 3], [2, 1, 1]], [[1, 5, 5], [4, 4, 1]]])
    x, deep = tensor(data_type, numbers), tensor(data_type, numbers.reshape(1, 2, 1, 2, 3))
    for function in ArgMinMaxFunction:
        extreme = min if function is ArgMinMaxFunction.MIN else max
        for axis, read in ((0, x), (3, deep), (-1, x)):
            expected = np.apply_along_axis(_first_place, axis, read.real, extreme)
            d = ArgMinMaxDescriptor(function=function, axis=axis)
            for index_type in _INDEX_TYPES[: 1 if axis else 2]:
                title = f"{function.arm_name} axis {axis} {index_type.arm_name}"
                edge = axis == -1
                yield case(data_type, title, d, [read], expected, outputs=[index_type], edge=edge)


@cases(ArgMinMaxDescriptor, types=NUMBERS)
def arg_min_max_of_equals(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the last of equals.

    A backend of Backend API 1.0 is not asked for it.
    """
    x = tensor(data_type, np.array([[1, 3, 3, 1], [2, 2, 2, 2]]))
    for function, places in ((ArgMinMaxFunction.MIN, [3, 3]), (ArgMinMaxFunction.MAX, [2, 3])):
        d = ArgMinMaxDescriptor(function=function, axis=1, select_last_index=True)
        title = f"{function.arm_name} last of equals"
        yield case(data_type, title, d, [x], places, outputs=[DataType.SIGNED64])
    d = ArgMinMaxDescriptor(function=ArgMinMaxFunction.MAX, axis=0, select_last_index=True)
    one = tensor(data_type, np.array([[2, 1]]))
    yield case(data_type, "last of one", d, [one], [0, 0], outputs=[DataType.SIGNED32], edge=True)


@cases(ArgMinMaxDescriptor, types=FLOATS)
def arg_min_max_of_infinities(data_type: DataType) -> Iterator[LayerCase]:
    """Cover infinities, which are numbers like others."""
    x = tensor(data_type, [[0.0, -np.inf, np.inf], [-np.inf] * 3, [np.inf] * 3])
    nan = tensor(data_type, [[1.0, np.nan, 0.0, np.nan, 3.0], [2.0, 1.0, np.nan, 1.0, 2.0]])
    for function, place in ((ArgMinMaxFunction.MIN, 1), (ArgMinMaxFunction.MAX, 2)):
        d = ArgMinMaxDescriptor(function=function)
        title = f"{function.arm_name} of infinities"
        outputs = [DataType.SIGNED32]
        yield case(data_type, title, d, [x], [place, 0, 0], outputs=outputs, edge=True)
        title = f"{function.arm_name} finds the first NaN"
        yield case(data_type, title, d, [nan], [1, 2], outputs=outputs, edge=True, needs=NAN)
        d = ArgMinMaxDescriptor(function=function, select_last_index=True)
        title = f"{function.arm_name} finds the last NaN"
        yield case(data_type, title, d, [nan], [3, 2], outputs=outputs, edge=True, needs=NAN)


@cases(ReduceDescriptor, types=FLOATS)
def extremes_of_no_ordinary_number(data_type: DataType) -> Iterator[LayerCase]:
    """Cover NaN, which maxima and minima pass on, and infinities."""
    rows = [[1.0, np.nan, 3.0], [-np.inf] * 3, [np.inf] * 3, [-np.inf, np.inf, 0.0]]
    x = tensor(data_type, rows)
    for operation, last in ((_R.MAX, np.inf), (_R.MIN, -np.inf)):
        d = ReduceDescriptor(reduce_operation=operation, axis=(1,), keep_dims=False)
        title = f"{operation.arm_name} of NaN and infinities"
        expected = [np.nan, -np.inf, np.inf, last]
        yield case(data_type, title, d, [x], expected, edge=True)


@cases(MeanDescriptor, ReduceDescriptor, types=FLOATS)
def mean_of_large_numbers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a finite mean of a sum that overflows."""
    x = tensor(data_type, [[LARGE[data_type]] * 3, [-LARGE[data_type]] * 3])
    for d in (
        MeanDescriptor(axis=(1,)),
        ReduceDescriptor(reduce_operation=_R.MEAN, axis=(1,), keep_dims=False),
    ):
        yield case(data_type, "large numbers", d, [x], x.real[:, 0], edge=True, needs=EXTREME)


def _running(
    row: NDArray[Any], total: Callable[[list[Any]], Any], exclusive: bool, reverse: bool
) -> list[Any]:
    numbers = row.tolist()[::-1] if reverse else row.tolist()
    totals = [total(numbers[: place + (0 if exclusive else 1)]) for place in range(len(numbers))]
    return totals[::-1] if reverse else totals


def _cumulated(
    data_type: DataType,
    kind: type[CumSumDescriptor | CumProdDescriptor],
    total: Callable[[list[Any]], Any],
    x: CaseTensor,
) -> Iterator[LayerCase]:
    """Cover both directions, exclusive and inclusive, each axis."""
    deep = values(data_type, (2, 1, 3, 2, 1), x.real.min(), x.real.max(), seed=2)
    for axis, exclusive, reverse in itertools.product((0, 2, -1), (False, True), (False, True)):
        read = deep if axis == 2 else x
        expected = np.apply_along_axis(_running, axis, read.real, total, exclusive, reverse)
        expected = expected.astype(x.real.dtype)
        d = kind(axis=axis, exclusive=exclusive, reverse=reverse)
        title = f"axis {axis} of {read.real.ndim}, exclusive {exclusive}, reverse {reverse}"
        tolerance = SUMS.get(data_type)
        yield case(data_type, title, d, [read], expected, tolerance=tolerance, edge=axis == -1)


@cases(CumSumDescriptor, types=NUMBERS)
def cum_sum(data_type: DataType) -> Iterator[LayerCase]:
    """Cover running sums of numbers from 0 to 3."""
    x = values(data_type, (2, 3, 4), 0, 3, seed=1)
    return _cumulated(data_type, CumSumDescriptor, sum, x)


@cases(CumProdDescriptor, types=NUMBERS)
def cum_prod(data_type: DataType) -> Iterator[LayerCase]:
    """Cover running products of numbers from 1 to 3."""
    x = values(data_type, (2, 3, 3), 1, 3, seed=1)
    return _cumulated(data_type, CumProdDescriptor, math.prod, x)
