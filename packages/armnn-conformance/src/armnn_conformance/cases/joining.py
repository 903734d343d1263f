# SPDX-License-Identifier: MIT
"""Conformance cases of Concat, Splitter and Stack, by places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armnn.layers.joining import ConcatDescriptor, SplitterDescriptor, StackDescriptor
from armnn.types import DataType
from armnn_conformance.cases import EXACT, LayerCase, case, cases
from armnn_conformance.operands import ANY, QUANTIZED, values


@cases(ConcatDescriptor, types=ANY)
def concat(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each axis with different sizes, empty and single inputs."""
    for axis in (0, 1, -1):
        shapes = [[2, 3, 2] for _ in range(3)]
        for size, shape in zip((1, 0, 3), shapes, strict=True):
            shape[axis] = size
        inputs = [values(data_type, shape, 0, 5, seed=n) for n, shape in enumerate(shapes)]
        expected = np.empty([4 if a == axis % 3 else n for a, n in enumerate((2, 3, 2))])
        expected = expected.astype(inputs[0].real.dtype)
        target = np.moveaxis(expected, axis, 0)
        target[:1] = np.moveaxis(inputs[0].real, axis, 0)
        target[1:] = np.moveaxis(inputs[2].real, axis, 0)
        title = f"axis {axis}"
        yield case(data_type, title, ConcatDescriptor(axis=axis), inputs, expected, edge=True)
    pieces = [values(data_type, (2, 1, 1 + n % 3, 2, 1), 0, 5, seed=n) for n in range(9)]
    expected = np.empty((2, 1, 18, 2, 1), pieces[0].real.dtype)
    for n, piece in enumerate(pieces):
        first = sum(1 + m % 3 for m in range(n))
        expected[:, :, first : first + 1 + n % 3] = piece.real
    d = ConcatDescriptor(axis=2)
    yield case(data_type, "nine of rank 5", d, pieces, expected, edge=True)
    x = values(data_type, (2, 2), 0, 5, seed=1)
    d = ConcatDescriptor(axis=1)
    outputs = [x.info]
    yield case(data_type, "alone", d, [x], x.real, outputs=outputs, tolerance=EXACT, edge=True)


@cases(ConcatDescriptor, StackDescriptor, types=QUANTIZED)
def joined_with_different_scales(data_type: DataType) -> Iterator[LayerCase]:
    """Cover inputs of other scales, stored in the output's steps."""
    x = values(data_type, (2, 3), -1, 1, seed=1)
    y = values(data_type, (2, 3), 0, 9, seed=2)
    rows = np.array([*x.real.tolist(), *y.real.tolist()])
    yield case(data_type, "other scales", ConcatDescriptor(axis=0), [x, y], rows, edge=True)
    pairs = np.array([x.real.tolist(), y.real.tolist()])
    yield case(data_type, "other scales", StackDescriptor(axis=0), [x, y], pairs, edge=True)


@cases(SplitterDescriptor, types=ANY)
def splitter(data_type: DataType) -> Iterator[LayerCase]:
    """Cover different sizes, an empty part, one part and many."""
    solid, many = (4, 4, 4), (2, 1, 12, 1, 2)
    for axis, sizes, shape in (
        (0, (1, 3), solid),
        (1, (2, 0, 2), solid),
        (-1, (3, 1), solid),
        (2, (4,), solid),
        (2, (1, 2, 1, 1, 1, 2, 1, 1, 2), many),
    ):
        x = values(data_type, shape, 0, 5, seed=3)
        elements = np.moveaxis(x.real, axis, 0)
        pieces, first = [], 0
        for size in sizes:
            pieces.append(np.moveaxis(elements[first : first + size], 0, axis))
            first += size
        d = SplitterDescriptor(axis=axis, sizes=sizes)
        title, like_x = f"axis {axis} into {len(sizes)}", [x.info] * len(sizes)
        expected = tuple(pieces)
        edge = axis != 0
        yield case(data_type, title, d, [x], expected, outputs=like_x, tolerance=EXACT, edge=edge)


@cases(StackDescriptor, types=ANY)
def stack(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a new axis anywhere, and one input alone."""
    inputs = [values(data_type, (2, 3), 0, 5, seed=n) for n in range(3)]
    for axis in (0, 1, 2, -1):
        expected = np.empty((3, 2, 3), inputs[0].real.dtype)
        for place, each in enumerate(inputs):
            expected[place] = each.real
        moved = np.moveaxis(expected, 0, axis)
        edge = axis == -1
        yield case(data_type, f"axis {axis}", StackDescriptor(axis=axis), inputs, moved, edge=edge)
    many = [values(data_type, (2, 1, 2, 2), 0, 5, seed=n) for n in range(9)]
    expected = np.empty((2, 1, 9, 2, 2), many[0].real.dtype)
    for place, each in enumerate(many):
        expected[:, :, place] = each.real
    d = StackDescriptor(axis=2)
    yield case(data_type, "nine to rank 5", d, many, expected, edge=True)
    (x, *_) = inputs
    yield case(data_type, "alone", StackDescriptor(axis=1), [x], x.real[:, None], like=x, edge=True)
