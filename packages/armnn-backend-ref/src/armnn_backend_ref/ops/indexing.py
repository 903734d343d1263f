# SPDX-License-Identifier: MIT
"""Elements picked or replaced by their indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from armnn.errors import ExecutionError
from armnn.layers import Descriptor
from armnn.layers.indexing import (
    GatherDescriptor,
    ScatterNdDescriptor,
    SliceDescriptor,
    StridedSliceDescriptor,
    TensorScatterDescriptor,
)
from armnn.types import ScatterNdFunction
from armnn_backend_ref.ops._registry import Array, op


@op("Gather")
def gather(d: GatherDescriptor, x: Array, indices: Array) -> Array:
    """Take the slices of ``x`` along ``d.axis`` at ``indices``.

    Negative indices count from the end.

    Raises:
        ExecutionError: An index is outside of the axis.
    """
    return np.take(x, _checked(indices, x.shape[d.axis], d.axis), axis=d.axis)


@op("GatherNd")
def gather_nd(_d: Descriptor, x: Array, indices: Array) -> Array:
    """Take the slices of ``x`` at the rows of ``indices``.

    Raises:
        ExecutionError: An index is outside of its axis.
    """
    rows, places = _rows(x, indices)
    return rows[places].reshape(indices.shape[:-1] + x.shape[indices.shape[-1] :])


@op("ScatterNd")
def scatter_nd(
    d: ScatterNdDescriptor, base: Array | None, indices: Array, updates: Array, shape: Array | None
) -> Array:
    """Combine ``updates`` with the slices of ``base`` at ``indices``.

    A row of ``indices`` holds the leading indices of a slice. Where an index occurs more than once,
    Update leaves the last one (Arm NN refuses it) and the other functions combine all of them.
    Without ``base`` the tensor is zeros of ``shape``.

    Raises:
        ExecutionError: An index is outside of its axis.
    """
    if base is not None:
        result = base.copy()
    else:
        assert shape is not None  # the shape function of the layer sees to it
        result = np.zeros(tuple(shape), updates.dtype)
    rows, places = _rows(result, indices)
    _COMBINATIONS[d.function](rows, places.reshape(-1), updates.reshape(places.size, rows.shape[1]))
    return result


@op("TensorScatter", into=True)
def tensor_scatter(
    d: TensorScatterDescriptor,
    x: Array,
    updates: Array,
    positions: Array | None,
    out: Array | None = None,
) -> Array:
    """Write rows of ``updates`` over those of ``x`` from each item's position on.

    Nothing is written if a position is wrong; where ``out`` is the memory of ``x``, only the rows
    are.

    Raises:
        ExecutionError: A row is outside of the axis.
    """
    axis, items = d.axis % x.ndim, x.shape[0]
    count, size = updates.shape[axis], x.shape[axis]
    first = np.broadcast_to(0 if positions is None else positions, items).astype(np.intp)
    if not d.circular:
        wrong = (first < 0) | (first > size - count)
        if wrong.any():
            raise ExecutionError(
                f"{count} rows from position {int(first[wrong][0])} on do not fit into the {size} "
                f"of axis {axis}: expected a position from 0 to {size - count}"
            )
    if out is None:
        out = x.copy()
    elif not np.may_share_memory(out, x):
        out[...] = x
    if size:
        places = (first[:, np.newaxis] % size + np.arange(count)) % size
        rows = np.moveaxis(out, axis, 1)
        rows[np.arange(items)[:, np.newaxis], places] = np.moveaxis(updates, axis, 1)
    return out


@op("Slice")
def slice_(d: SliceDescriptor, x: Array) -> Array:
    """Return the box of ``d.size`` at ``d.begin``.

    A size of -1 takes the rest of the axis.
    """
    ends = [None if s < 0 else b + s for b, s in zip(d.begin, d.size, strict=True)]
    return x[tuple(slice(b, end) for b, end in zip(d.begin, ends, strict=True))]


@op("StridedSlice")
def strided_slice(d: StridedSliceDescriptor, x: Array) -> Array:
    """Return every ``d.stride``-th element from ``d.begin`` to ``d.end``.

    The masks of the descriptor apply.
    """
    return x[d.index(x.ndim)]


@op("NonZero")
def non_zero(_d: Descriptor, x: Array) -> Array:
    """Return the indices of all non-zero elements.

    There is one column per element, in row-major order.
    """
    return np.argwhere(x).T


def _rows(x: Array, indices: Array) -> tuple[Array, Array]:
    """Return ``x`` as rows, and the row numbers in ``indices``.

    The last axis of ``indices`` is the index of a row.
    """
    depth = indices.shape[-1]
    places = np.zeros(indices.shape[:-1], np.intp)
    for axis, size in enumerate(x.shape[:depth]):
        index = _checked(indices[..., axis], size, axis)
        places = places * size + np.where(index < 0, index + size, index)
    return x.reshape(math.prod(x.shape[:depth]), math.prod(x.shape[depth:])), places


def _checked(indices: Array, size: int, axis: int) -> Array:
    places = indices.astype(np.intp, copy=False)
    wrong = (places < -size) | (places >= size)
    if wrong.any():
        room = f"expected {-size} to {size - 1}" if size else "it has no elements"
        raise ExecutionError(
            f"the index {int(indices[wrong].flat[0])} is outside of axis {axis}: {room}"
        )
    return places


def _update(rows: Array, places: Array, updates: Array) -> None:
    rows[places] = updates


def _accumulate(combine: np.ufunc, rows: Array, places: Array, updates: Array) -> None:
    width = rows.shape[1]
    elements = places[:, np.newaxis] * width + np.arange(width)
    # NumPy's fast path wants one axis.
    combine.at(rows.reshape(-1), elements.reshape(-1), updates.reshape(-1))


_COMBINATIONS: dict[ScatterNdFunction, Callable[[Array, Array, Array], None]] = {
    ScatterNdFunction.UPDATE: _update,
    ScatterNdFunction.ADD: partial(_accumulate, np.add),
    ScatterNdFunction.SUB: partial(_accumulate, np.subtract),
    ScatterNdFunction.MAX: partial(_accumulate, np.maximum),
    ScatterNdFunction.MIN: partial(_accumulate, np.minimum),
    ScatterNdFunction.MUL: partial(_accumulate, np.multiply),
}
