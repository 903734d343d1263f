# SPDX-License-Identifier: MIT
"""Constants stored without their zeros, made dense.

The format is that of ``SparsityParameters`` in the schema: the elements form a tree whose levels
are the axes of the tensor in some order, then blocks of axes. A level is dense, or lists for each
node which of its children there are (compressed sparse rows).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.parsing.flatbuffers import FlatTable
from armnn_parser_tflite._bindings import DimensionType, SparseIndexVector

_ZEROS_PER_BYTE = 64
"""A few bytes may claim a tensor of any size, so its zeros count as read, if not in full."""

_VECTORS = {
    SparseIndexVector.Int32Vector: "Int32Vector",
    SparseIndexVector.Uint16Vector: "Uint16Vector",
    SparseIndexVector.Uint8Vector: "Uint8Vector",
}


class Sparsity:
    """Where the elements are that a constant stores.

    Args:
        table: The ``SparsityParameters``.
    """

    def __init__(self, table: FlatTable) -> None:
        self._table = table

    def positions(self, shape: Sequence[int], name: str) -> tuple[NDArray[Any], ...]:
        """Return every stored element's indices, one array per axis.

        Args:
            shape: The dimensions of the tensor.
            name: The name of the tensor.

        Raises:
            ParseError: The tree does not fit the dimensions.
        """
        self._table.charge(math.prod(shape) // _ZEROS_PER_BYTE)
        order = self._table.integers("TraversalOrder")
        blocks = self._table.integers("BlockMap")
        levels = self._table.tables("DimMetadata")
        count = len(shape) + len(blocks)
        if (
            sorted(order) != list(range(count))
            or len(levels) != count
            or not all(0 <= axis < len(shape) for axis in blocks)
        ):
            raise _error(name, "its levels are not those of its axes and blocks")
        sizes = [0] * count
        by_axis: list[NDArray[Any]] = [np.zeros(1, np.int64)] * count
        nodes = np.zeros(1, np.int64)
        for axis, level in zip(order, levels, strict=True):
            parents, nodes, here, sizes[axis] = _expanded(level, nodes, name)
            by_axis = [indices[parents] for indices in by_axis]
            by_axis[axis] = here
        return _joined(by_axis, sizes, blocks, shape, name)


def dense(stored: NDArray[Any], positions: Sequence[NDArray[Any]], shape: Sequence[int]) -> Any:
    """Return a dense tensor of stored elements, else zero."""
    array = np.zeros(shape, stored.dtype)
    array[tuple(positions)] = stored
    return array


def _expanded(
    level: FlatTable, nodes: NDArray[Any], name: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Return each child's parent, number and index, and the size.

    The size is that of the level.
    """
    if level.integer("Format") == DimensionType.DENSE:
        size = level.integer("DenseSize")
        if size < 0:
            raise _error(name, f"a level of it has {size} indices")
        level.charge(nodes.size * size)
        parents = np.repeat(np.arange(nodes.size), size)
        here = np.tile(np.arange(size), nodes.size)
        return parents, nodes[parents] * size + here, here, size
    segments, indices = _vector(level, "ArraySegments"), _vector(level, "ArrayIndices")
    if nodes.size and nodes.max() + 1 >= segments.size:
        raise _error(name, f"a level of it has {segments.size} segments")
    first, last = segments[nodes], segments[nodes + 1]
    lengths = last - first
    if lengths.size and not (
        lengths.min() >= 0 and first.min() >= 0 and last.max() <= indices.size
    ):
        raise _error(name, "a segment of it is outside of its level")
    level.charge(int(lengths.sum()))
    parents = np.repeat(np.arange(nodes.size), lengths)
    starts = np.cumsum(lengths) - lengths
    children = np.arange(parents.size) - starts[parents] + first[parents]
    return parents, children, indices[children], -1


def _vector(level: FlatTable, field: str) -> NDArray[Any]:
    kind = _VECTORS.get(level.integer(f"{field}Type"))
    table = None if kind is None else level.union(field, kind)
    return np.zeros(0, np.int64) if table is None else table.array("Values").astype(np.int64)


def _joined(
    by_axis: list[NDArray[Any]],
    sizes: list[int],
    blocks: Sequence[int],
    shape: Sequence[int],
    name: str,
) -> tuple[NDArray[Any], ...]:
    """Add the indices in blocks to those of the blocks."""
    positions = by_axis[: len(shape)]
    for place, axis in enumerate(blocks, len(shape)):
        positions[axis] = positions[axis] * sizes[place] + by_axis[place]
    for indices, size in zip(positions, shape, strict=True):
        if indices.size and not (indices.min() >= 0 and indices.max() < size):
            raise _error(name, "an element of it is outside of its dimensions")
    return tuple(positions)


def _error(name: str, what: str) -> ParseError:
    return ParseError(f"the sparse tensor {name!r} is malformed: {what}")
