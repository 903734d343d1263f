# SPDX-License-Identifier: MIT
"""Embeddings, recognised in products of one-hot rows and a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.layers.elementwise import ComparisonDescriptor, ElementwiseBinaryDescriptor
from armnn.layers.indexing import GatherDescriptor
from armnn.layers.matmul import BatchMatMulDescriptor
from armnn.layers.quantizing import CastDescriptor
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.optimizer.passes._pattern import (
    first_input,
    holds,
    may_absorb,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import BinaryOperation, ComparisonOperation, DataType


def recognize_embedding(network: Network) -> int:
    """Replace (indices == 0, 1, 2 ...) @ matrix by Gather.

    So JAX writes embeddings. An index without a row gets zeros, as before: the matrix is kept with
    a row of them at both ends. It must be constant, finite and in floating point, and nothing else
    may read the one-hot rows.

    Returns:
        How many products were replaced.
    """
    if not holds(network, ComparisonDescriptor):
        return 0
    return sum(_replace(network, layer) for layer in walk(network, BatchMatMulDescriptor))


def _replace(network: Network, layer: Layer) -> bool:
    hot, matrix = layer.inputs[:2]
    table = None if matrix is None else matrix.constant
    if hot is None or table is None or table.ndim != 2 or not layer.output.info.is_static:
        return False
    if layer.descriptor != BatchMatMulDescriptor() or not layer.output.info.data_type.is_float:
        return False
    indices = _indices(layer, hot, len(table))
    if indices is None or not np.isfinite(table).all():
        return False
    rows = np.zeros((len(table) + 2, table.shape[1]), table.dtype)
    rows[1:-1] = table
    place = indices
    for operation, number in (
        (BinaryOperation.MINIMUM, len(table)),  # of all indices behind the last row
        (BinaryOperation.MAXIMUM, -1),  # of all before the first one
        (BinaryOperation.ADD, 1),
    ):
        place = _binary(network, layer, place, operation, number)
    kept = network.add_constant(rows, name=network.unique_name(f"{layer.name} rows"))
    gathered = network.add(
        "Gather",
        [kept, place],
        GatherDescriptor(axis=0),
        name=network.unique_name(f"{layer.name} gathered"),
    )
    gathered.backend_hint = layer.backend_hint
    shape = ReshapeDescriptor(target_shape=layer.output.info.static_shape)
    return replace_layer(network, layer, "Reshape", [gathered.output], shape)


def _indices(layer: Layer, hot: Value, count: int) -> Value | None:
    """Return the indices behind one-hot rows, None for other rows."""
    cast = hot.producer
    if not isinstance(cast.descriptor, CastDescriptor) or only_reader(hot) is not layer:
        return None
    equal = first_input(cast).producer
    if equal.descriptor != ComparisonDescriptor(operation=ComparisonOperation.EQUAL):
        return None
    if only_reader(equal.output) is not cast:
        return None
    if not may_absorb(layer, cast) or not may_absorb(layer, equal):
        return None
    first, second = equal.inputs
    for numbers, indices in ((first, second), (second, first)):
        if indices is None or numbers is None or not _counts(numbers.constant, count):
            continue
        column = (*hot.info.static_shape[:-1], 1)
        fits = indices.info.shape == column and indices.info.data_type is DataType.SIGNED32
        return indices if fits else None
    return None


def _counts(numbers: NDArray[Any] | None, count: int) -> bool:
    """Return whether the last axis counts from 0 on."""
    if numbers is None or numbers.size != count or numbers.shape[-1:] != (count,):
        return False
    return bool((numbers.reshape(count) == np.arange(count)).all())


def _binary(
    network: Network, layer: Layer, value: Value, operation: BinaryOperation, number: int
) -> Value:
    operand = network.add_constant(
        np.full((1,) * len(value.info.static_shape), number, np.int32),
        name=network.unique_name(f"{layer.name} bound"),
    )
    made = network.add(
        "ElementwiseBinary",
        [value, operand],
        ElementwiseBinaryDescriptor(operation=operation),
        name=network.unique_name(f"{layer.name} row"),
    )
    made.backend_hint = layer.backend_hint
    return made.output
