# SPDX-License-Identifier: MIT
"""Elements selected by rank, mask or index: TopK, Compress, OneHot, ..."""

from __future__ import annotations

import math

import numpy as np

from armnn.errors import ExecutionError
from armnn.layers.selecting import (
    CompressDescriptor,
    GatherElementsDescriptor,
    OneHotDescriptor,
    ScatterElementsDescriptor,
    TopKDescriptor,
    TriluDescriptor,
    UniqueDescriptor,
)
from armnn.types import ScatterNdFunction
from armnn_backend_ref.ops._registry import Array, op


@op("TopK")
def top_k(d: TopKDescriptor, x: Array) -> tuple[Array, Array]:
    """Return the extreme elements in order, and their indices."""
    if d.largest:
        # Sorted back to front, equal elements keep their order when the result is turned around.
        order = np.flip(np.argsort(np.flip(x, d.axis), d.axis, kind="stable"), d.axis)
        order = x.shape[d.axis] - 1 - order
    else:
        order = np.argsort(x, d.axis, kind="stable")
    first = np.moveaxis(np.moveaxis(order, d.axis, 0)[: d.k], 0, d.axis)
    return np.take_along_axis(x, first, d.axis), first


@op("OneHot")
def one_hot(d: OneHotDescriptor, indices: Array, values: Array) -> Array:
    """Write values[1] at each index along a new axis.

    All other elements are values[0].
    """
    places = np.where(indices < 0, indices + d.depth, indices) if d.wrap_negative else indices
    flat = places.reshape(-1)
    (known,) = np.nonzero((flat >= 0) & (flat < d.depth))
    lines = np.full((flat.size, d.depth), values[0], values.dtype)
    lines[known, flat[known]] = values[1]
    return np.moveaxis(lines.reshape(*indices.shape, d.depth), -1, d.axis)


@op("Trilu")
def trilu(d: TriluDescriptor, x: Array) -> Array:
    """Set all elements outside the triangle to zero."""
    return np.triu(x, d.k) if d.upper else np.tril(x, d.k)


@op("GatherElements")
def gather_elements(d: GatherElementsDescriptor, x: Array, indices: Array) -> Array:
    """Take along ``d.axis`` the element that each index names.

    All other coordinates are those of the index itself.

    Raises:
        ExecutionError: An index is outside of the axis.
    """
    return x[_elements(x, indices, d.axis)]


@op("ScatterElements")
def scatter_elements(
    d: ScatterElementsDescriptor, x: Array, indices: Array, updates: Array
) -> Array:
    """Combine updates with the elements that the indices name.

    Raises:
        ExecutionError: An index is outside of the axis.
    """
    result = x.copy()
    places = _elements(x, indices, d.axis)
    if d.function is ScatterNdFunction.UPDATE:
        result[places] = updates
    else:
        # NumPy's fast path wants one axis.
        flat = np.ravel_multi_index(np.broadcast_arrays(*places), x.shape)
        _COMBINE[d.function].at(result.reshape(-1), flat.reshape(-1), updates.reshape(-1))
    return result


@op("Compress")
def compress(d: CompressDescriptor, x: Array, condition: Array) -> Array:
    """Keep the slices for which the condition holds."""
    return np.compress(condition, x, d.axis)


@op("Unique")
def unique(d: UniqueDescriptor, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return the unique slices, first positions, inverse and counts."""
    slices = np.moveaxis(x, d.axis, 0)
    rows = slices.reshape(len(slices), math.prod(slices.shape[1:]))
    keys, along = (rows[:, 0], None) if rows.shape[1] == 1 else (rows, 0)
    _, indices, inverse, counts = np.unique(keys, True, True, True, axis=along)
    inverse = inverse.reshape(-1)
    if not d.sorted:
        order = np.argsort(indices)
        indices, counts, inverse = indices[order], counts[order], np.argsort(order)[inverse]
    return np.moveaxis(slices[indices], 0, d.axis), indices, inverse, counts


def _elements(x: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    """Return the index in ``x`` for each element of ``indices``."""
    size = x.shape[axis]
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        room = f"expected {-size} to {size - 1}" if size else "it has no elements"
        raise ExecutionError(
            f"the index {int(indices[wrong].flat[0])} is outside of axis {axis}: {room}"
        )
    places = list(np.ogrid[tuple(slice(count) for count in indices.shape)])
    places[axis] = np.where(indices < 0, indices + size, indices)
    return tuple(places)


_COMBINE: dict[ScatterNdFunction, np.ufunc] = {
    ScatterNdFunction.ADD: np.add,
    ScatterNdFunction.SUB: np.subtract,
    ScatterNdFunction.MAX: np.maximum,
    ScatterNdFunction.MIN: np.minimum,
    ScatterNdFunction.MUL: np.multiply,
}
