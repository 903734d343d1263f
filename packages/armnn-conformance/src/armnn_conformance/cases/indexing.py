# SPDX-License-Identifier: MIT
"""Conformance cases of indexing: element by element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from armnn.layers.indexing import (
    GatherDescriptor,
    GatherNdDescriptor,
    NonZeroDescriptor,
    ScatterNdDescriptor,
    SliceDescriptor,
    StridedSliceDescriptor,
    TensorScatterDescriptor,
)
from armnn.types import DataLayout, DataType, ScatterNdFunction
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.operands import ANY, NUMBERS, tensor, values

INDEX = DataType.SIGNED32


@cases(GatherDescriptor, types=ANY)
def gather(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each axis, index rank and type, and negative indices."""
    for axis, places, kind, sizes in (
        (0, [[2, 0], [1, 1]], INDEX, (3, 4, 2)),
        (1, [3, -1, -4, 0], DataType.SIGNED64, (3, 4, 2)),
        (-1, 1, INDEX, (3, 4, 2)),
        (0, [], INDEX, (3, 4, 2)),
        (2, [[3, 0]], INDEX, (2, 1, 4, 2, 2)),
    ):
        x = values(data_type, sizes, 0, 9, seed=1)
        indices = tensor(kind, np.array(places, np.int64))
        elements = np.moveaxis(x.real, axis, 0)
        shape = (*indices.stored.shape, *elements.shape[1:])
        picked = np.empty(shape, x.real.dtype)
        for place in np.ndindex(*indices.stored.shape):
            picked[place] = elements[int(indices.stored[place])]
        rank, front = indices.stored.ndim, axis % len(sizes)
        order = [*range(rank, rank + front), *range(rank), *range(rank + front, picked.ndim)]
        title = f"axis {axis}, indices of shape {list(indices.stored.shape)}"
        d = GatherDescriptor(axis=axis)
        yield case(
            data_type, title, d, [x, indices], picked.transpose(order), like=x, edge=axis != 0
        )


@cases(TensorScatterDescriptor, types=ANY)
def tensor_scatter(data_type: DataType) -> Iterator[LayerCase]:
    """Cover axes, positions of each item, of all and none, and rows that wrap around."""
    wide = DataType.SIGNED64
    for name, axis, places, kind, circular, rows, sizes in (
        ("a position of each item", -2, [3, 0], wide, False, 2, (2, 5, 3)),
        ("one position of all items", 1, 2, INDEX, False, 3, (2, 5, 3)),
        ("from the beginning on", -1, None, INDEX, False, 1, (2, 1, 4)),
        ("the whole axis", 2, [0], INDEX, False, 3, (2, 2, 3, 2, 2)),
        ("around the end", -2, [4, 9], wide, True, 3, (2, 2, 5, 2)),
        ("no rows", 1, [5], INDEX, False, 0, (1, 5, 2)),
    ):
        x = values(data_type, sizes, 0, 9, seed=1)
        at = axis % len(sizes)
        updates = tensor(
            data_type,
            values(data_type, (*sizes[:at], rows, *sizes[at + 1 :]), 0, 9, seed=2).real,
            info=x.info,
        )
        expected = x.real.copy()
        starts = np.broadcast_to(0 if places is None else places, sizes[0])
        for place in np.ndindex(*updates.real.shape):
            row = int(starts[place[0]]) + place[at]
            target = (*place[:at], row % sizes[at] if circular else row, *place[at + 1 :])
            expected[target] = updates.real[place]
        d = TensorScatterDescriptor(axis=axis, circular=circular)
        operands = {"input": x, "updates": updates}
        if places is not None:
            operands["positions"] = tensor(kind, np.array(places, np.int64))
        yield case(data_type, name, d, operands, expected, like=x, edge=rows in (0, 1))


@cases(GatherNdDescriptor, types=ANY)
def gather_nd(data_type: DataType) -> Iterator[LayerCase]:
    """Cover slices, rows, elements, and negative indices."""
    for places, sizes in (
        ([[2], [0]], (3, 4, 2)),
        ([[1, 3], [-1, -4]], (3, 4, 1, 2, 2)),
        ([[[2, 3, 1]], [[0, -1, 0]]], (3, 4, 2)),
    ):
        x = values(data_type, sizes, 0, 9, seed=2)
        indices = tensor(INDEX, np.array(places))
        depth = indices.stored.shape[-1]
        expected = np.empty((*indices.stored.shape[:-1], *sizes[depth:]), x.real.dtype)
        for place in np.ndindex(*indices.stored.shape[:-1]):
            expected[place] = x.real[tuple(indices.stored[place].tolist())]
        d = GatherNdDescriptor()
        yield case(data_type, f"depth {depth}", d, [x, indices], expected, like=x, edge=depth > 1)


COMBINE: dict[ScatterNdFunction, Callable[[Any, Any], Any]] = {
    ScatterNdFunction.UPDATE: lambda _old, new: new,
    ScatterNdFunction.ADD: lambda old, new: old + new,
    ScatterNdFunction.SUB: lambda old, new: old - new,
    ScatterNdFunction.MAX: max,
    ScatterNdFunction.MIN: min,
    ScatterNdFunction.MUL: lambda old, new: old * new,
}


@cases(ScatterNdDescriptor, types=NUMBERS)
def scatter_nd(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every function, repeated indices, slices, no initial tensor."""
    for function, combine in COMBINE.items():
        repeated = function is not ScatterNdFunction.UPDATE
        x = values(data_type, (2, 4), 5, 9, seed=3)
        rows = [[0, 1], [1, 3], [0, 1]] if repeated else [[0, 1], [1, 3], [-1, 0]]
        indices = tensor(INDEX, np.array(rows))
        updates = tensor(data_type, [1, 8, 2])
        expected = x.real.copy()
        for row, number in zip(rows, updates.real.tolist(), strict=True):
            expected[tuple(row)] = combine(expected[tuple(row)].item(), number)
        d = ScatterNdDescriptor(function=function)
        yield case(data_type, function.arm_name, d, [x, indices, updates], expected, edge=True)
    x = values(data_type, (3, 1, 2, 1, 2), 0, 9, seed=4)
    updates = values(data_type, (1, 1, 2, 1, 2), 0, 9, seed=5)
    expected = x.real.copy()
    expected[2] = updates.real[0]
    indices = tensor(INDEX, np.array([[2]]))
    inputs = [x, indices, updates]
    yield case(data_type, "a slice of rank 4", ScatterNdDescriptor(), inputs, expected)
    updates = values(data_type, (1, 2), 0, 9, seed=5)
    shape = tensor(INDEX, np.array([4, 2]), constant=True)
    expected = np.zeros((4, 2), x.real.dtype)
    expected[2] = updates.real[0]
    d = ScatterNdDescriptor()
    yield case(data_type, "into zeros", d, [None, indices, updates, shape], expected, edge=True)


@cases(SliceDescriptor, types=ANY)
def slice_(data_type: DataType) -> Iterator[LayerCase]:
    """Cover an inner box, the rest, and nothing."""
    for name, sizes, begin, size, shape in (
        ("inside", (3, 4, 5), (1, 0, 2), (2, 3, 1), (2, 3, 1)),
        ("what is left", (3, 4, 5), (1, 2, 0), (-1, -1, 2), (2, 2, 2)),
        ("nothing", (3, 4, 5), (0, 1, 2), (3, 0, 2), (3, 0, 2)),
        ("rank 5", (2, 2, 1, 3, 4), (0, 1, 0, 1, 1), (2, 1, 1, 2, 2), (2, 1, 1, 2, 2)),
    ):
        x = values(data_type, sizes, 0, 9, seed=6)
        expected = np.empty(shape, x.real.dtype)
        for place in np.ndindex(*shape):
            expected[place] = x.real[tuple(p + b for p, b in zip(place, begin, strict=True))]
        d = SliceDescriptor(begin=begin, size=size)
        yield case(data_type, name, d, [x], expected, like=x, edge=name != "inside")


@cases(StridedSliceDescriptor, types=ANY)
def strided_slice(data_type: DataType) -> Iterator[LayerCase]:
    """Cover steps both ways, masks, dropped axes, negative positions.

    Positions may be outside of the axis.
    """
    x = values(data_type, (3, 4, 5), 0, 9, seed=7)
    rows: dict[str, tuple[dict[str, Any], tuple[range, ...], tuple[int, ...]]] = {
        "steps": (
            {"begin": (0, 1, 0), "end": (3, 4, 5), "stride": (2, 1, 3)},
            (range(0, 3, 2), range(1, 4), range(0, 5, 3)),
            (2, 3, 2),
        ),
        "backward": (
            {"begin": (2, 3, -1), "end": (0, 0, -4), "stride": (-1, -2, -1)},
            (range(2, 0, -1), range(3, 0, -2), range(4, 1, -1)),
            (2, 2, 3),
        ),
        "masks": (
            {
                "begin": (1, 1, 1),
                "end": (2, 2, 2),
                "stride": (1, 1, 1),
                "begin_mask": 1,
                "end_mask": 4,
            },
            (range(2), range(1, 2), range(1, 5)),
            (2, 1, 4),
        ),
        "an axis that goes": (
            {"begin": (0, 2, 0), "end": (3, 3, 5), "stride": (1, 1, 1), "shrink_axis_mask": 2},
            (range(3), range(2, 3), range(5)),
            (3, 5),
        ),
        "an ellipsis": (
            {"begin": (1, 0, 1), "end": (3, 0, 4), "stride": (1, 1, 2), "ellipsis_mask": 2},
            (range(1, 3), range(4), range(1, 4, 2)),
            (2, 4, 2),
        ),
        "a new axis": (
            {
                "begin": (1, 0, 2),
                "end": (3, 0, 4),
                "stride": (1, 1, 1),
                "new_axis_mask": 2,
            },
            (range(1, 3), range(2, 4), range(5)),
            (2, 1, 2, 5),
        ),
        "beyond the ends": (
            {"begin": (-7, 2, -5), "end": (9, 99, 3), "stride": (1, 1, 2)},
            (range(3), range(2, 4), range(0, 3, 2)),
            (3, 2, 2),
        ),
        "backward beyond the ends": (
            {"begin": (9, 3, 1), "end": (-9, -99, -7), "stride": (-1, -3, -1)},
            (range(2, -1, -1), range(3, -1, -3), range(1, -1, -1)),
            (3, 2, 2),
        ),
        "an axis that goes at its begin": (
            {
                "begin": (0, 2, 3),
                "end": (3, 3, 5),
                "stride": (1, 1, 1),
                "begin_mask": 2,
                "end_mask": 2,
                "shrink_axis_mask": 2,
            },
            (range(3), range(1), range(3, 5)),
            (3, 2),
        ),
    }
    layouts = itertools.cycle(DataLayout)  # it has no effect
    for name, (parameters, spans, shape) in rows.items():
        picked = [x.real[place] for place in itertools.product(*spans)]
        expected = np.array(picked, x.real.dtype).reshape(shape)
        d = StridedSliceDescriptor(**parameters, data_layout=next(layouts))
        yield case(data_type, name, d, [x], expected, like=x, edge=name != "steps")
    x = values(data_type, (2, 3, 1, 4, 3), 0, 9, seed=8)
    d = StridedSliceDescriptor(
        begin=(0, 2, 0, 1, -1), end=(2, 0, 1, 4, -4), stride=(1, -1, 1, 2, -2)
    )
    expected = x.real[:, [2, 1]][:, :, :, [1, 3]][..., [2, 0]]
    yield case(data_type, "rank 5", d, [x], expected, like=x, edge=True)


@cases(NonZeroDescriptor, types=ANY)
def non_zero(data_type: DataType) -> Iterator[LayerCase]:
    """Cover some, no and all elements; negative ones count."""
    some = [[0, 1, 0], [2, 0, 1]]
    if np.array(-1).astype(data_type.numpy_dtype) < 0:
        some[1][0] = -2
    deep = np.array(some).reshape(1, 2, 1, 3, 1)
    rows = {"some": some, "none": [[0, 0]], "all": [[1], [1]], "rank 5": deep}
    for name, numbers in rows.items():
        x = tensor(data_type, np.array(numbers))
        places = [p for p in np.ndindex(*x.real.shape) if x.real[p] != 0]
        expected = np.array(places, np.int64).reshape(-1, x.real.ndim).T
        outputs = [DataType.SIGNED64]
        yield case(data_type, name, NonZeroDescriptor(), [x], expected, outputs=outputs, edge=True)
