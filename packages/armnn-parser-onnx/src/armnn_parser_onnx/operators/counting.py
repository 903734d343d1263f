# SPDX-License-Identifier: MIT
"""Sequences of numbers counted: TfIdfVectorizer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, cast, compare, reshape
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    ReduceOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary

_MOST_COMPARISONS = 2**24


class _Pool(NamedTuple):
    """The sequences of one length that are counted.

    Attributes:
        sequences: One in each row.
        places: Where the count of each goes.
    """

    sequences: NDArray[np.int64]
    places: NDArray[np.int64]


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(operation: Operation) -> Value:
    """Add comparisons of all places with all sequences, summed up.

    A product puts the sums in order. With skips, the elements of a sequence may stand that much
    further apart.
    """
    mode = operation.text("mode", ("TF", "IDF", "TFIDF"))
    weights = operation.reals("weights")
    pools, size = _pools(operation)
    shape = operation.shape()
    if len(shape) not in (1, 2) or not isinstance(shape[-1], int):
        raise NotKnownYetError("the length of its sequences is not known")
    value = cast(operation, operation.input(), DataType.SIGNED64, "numbers")
    total: Value | None = None
    for pool in pools:
        counts = _counts(operation, value, shape[-1], pool)
        if counts is None:
            continue
        order = np.zeros((len(pool.places), size))
        order[np.arange(len(pool.places)), pool.places] = 1
        matrix = operation.number(order, counts, "order")
        placed = operation.network.add_batch_mat_mul(
            counts, matrix, name=operation.layer_name("placed")
        )
        total = (
            placed
            if total is None
            else binary(operation, BinaryOperation.ADD, total, placed, "sum")
        )
    if total is None:
        raise RefusedError("its input is too short for every n-gram of its pool")
    if mode != "TF":
        total = _weighted(operation, total, weights, size, once=mode == "IDF")
    target = (size,) if len(shape) == 1 else (-1, size)
    return reshape(operation, total, target)


def _pools(operation: Operation) -> tuple[list[_Pool], int]:
    """Return the sequences by length, and the number of counts."""
    numbers, starts = operation.integers("pool_int64s"), operation.integers("ngram_counts")
    places = operation.integers("ngram_indexes")
    if numbers is None:
        raise RefusedError("it counts strings")
    shortest, longest = operation.integer("min_gram_length"), operation.integer("max_gram_length")
    if not starts or not places or min(places) < 0 or max(places) > _MOST_COMPARISONS:
        raise operation.error("the attributes 'ngram_counts' and 'ngram_indexes' name no counts")
    found, first = [], 0
    for length, (start, end) in enumerate(
        zip(starts, (*starts[1:], len(numbers)), strict=True), start=1
    ):
        count = (end - start) // length
        if start < 0 or count < 0 or count * length != end - start or first + count > len(places):
            raise operation.error(
                f"the attribute 'ngram_counts' is {list(starts)}: expected where the sequences of "
                f"each length begin among {len(numbers)} numbers"
            )
        if count and shortest <= length <= longest:
            rows = np.array(numbers[start:end], np.int64).reshape(count, length)
            found.append(_Pool(rows, np.array(places[first : first + count], np.int64)))
        first += count
    return found, max(places) + 1


def _counts(operation: Operation, value: Value, size: int, pool: _Pool) -> Value | None:
    """Return each sequence's count, [items, 1, sequences] of Float32."""
    count, length = pool.sequences.shape
    if size * count * length > _MOST_COMPARISONS:
        raise RefusedError(f"it compares more than {_MOST_COMPARISONS} numbers")
    most = operation.integer("max_skip_count") if length > 1 else 0
    most = min(most, size // max(length - 1, 1))
    steps = [np.arange(length) * (skip + 1) for skip in range(most + 1)]
    steps = [step for step in steps if step[-1] < size]
    total = sum(size - int(step[-1]) for step in steps)
    if total == 0:
        return None
    if total * count * length > _MOST_COMPARISONS:
        raise RefusedError(f"it compares more than {_MOST_COMPARISONS} numbers")
    windows = [start + step for step in steps for start in range(size - int(step[-1]))]
    network = operation.network
    places = network.add_constant(np.stack(windows), name=operation.layer_name("windows"))
    rank = len(operation.shape())
    read = network.add_gather(value, places, axis=rank - 1, name=operation.layer_name("read"))
    read = reshape(operation, read, (-1, len(windows), 1, length), "read_by_item")
    wanted = network.add_constant(pool.sequences, name=operation.layer_name("sequences"))
    same = compare(operation, ComparisonOperation.EQUAL, read, wanted, "same")
    whole = network.add_reduce(
        same, axis=(3,), reduce_operation=ReduceOperation.MIN, name=operation.layer_name("found")
    )
    hits = cast(operation, whole, DataType.FLOAT32, "hits")
    return network.add_reduce(hits, axis=(1,), keep_dims=True, name=operation.layer_name("counts"))


def _weighted(
    operation: Operation,
    total: Value,
    weights: tuple[float, ...] | None,
    size: int,
    *,
    once: bool,
) -> Value:
    if once:
        total = activation(
            operation, total, ActivationFunction.BOUNDED_RELU, 1.0, 0.0, "whether_there"
        )
    if weights is None:
        return total
    if len(weights) != size:
        raise operation.error(f"got {len(weights)} weights: expected {size}, one for each count")
    factors = operation.number(np.array(weights), total, "weights")
    return binary(operation, BinaryOperation.MUL, total, factors, "weighted")
