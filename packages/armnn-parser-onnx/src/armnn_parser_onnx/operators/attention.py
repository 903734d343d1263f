# SPDX-License-Identifier: MIT
"""Attention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.errors import ParseError
from armnn.graph import Value
from armnn.layers import LAYERS
from armnn.parsing.conversion import (
    NotKnownYetError,
    RefusedError,
    cast,
    compare,
    reshape,
    transpose,
)
from armnn.tensor import Dimension
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.schemas import MICROSOFT
from armnn_parser_onnx.shapes import reshape_to_groups

_MOST_SCORES = 2**25
_MOST_POSITIONS = 2**24
_MOST_HEADS = 2**16


class _Operands(NamedTuple):
    """The inputs of the Attention layer: [N, heads, positions, numbers] each.

    Attributes:
        query: The queries.
        key: The keys, those of the cache among them.
        value: Their values.
        cached: How many keys are the cache's; None if that is not known.
        aligned: Whether the last query is surely beside the last key.
    """

    query: Value
    key: Value
    value: Value
    cached: int | None
    aligned: bool


@operator("Attention")
def attention(operation: Operation) -> Sequence[Value]:
    """Add Attention, with a mask for the remaining parameters.

    The mask covers what the layer's parameters lack. The further outputs are the keys and values
    with those of the cache before them, and the products of queries and keys up to a stage.
    """
    flat = len(operation.shape()) == 3
    operands = _operands(operation, flat)
    if operation.has_input(6) and _layer_counts(operation):
        return [_attended_in_cache(operation, operands, flat)]
    causal = operation.flag("is_causal") and _says_it_all(operation, operands)
    mask = _mask(operation, operands, without_causal=causal)
    scale, softcap = operation.real("scale", 0.0), operation.real("softcap")
    made = operation.network.add_attention(
        operands.query,
        operands.key,
        operands.value,
        mask,
        scale=scale,
        causal=causal,
        causal_from_end=causal and operands.cached != 0,
        softcap=softcap,
        name=operation.layer_name("heads" if flat else ""),
    )
    if flat:
        made = _merged_heads(operation, made, "")
    outputs = [made, operands.key, operands.value]
    if len(operation.outputs) > 3 and operation.outputs[3]:
        mask = _mask(operation, operands)
        outputs.append(_scores(operation, operands, mask, scale, softcap))
    return outputs


def _layer_counts(operation: Operation) -> bool:
    """Return whether CachedAttention computes a node whose keys are counted.

    It has no window behind a query, and no products as an output.
    """
    right = operation.integer("right_window_size", -1)
    bounded = right < 0 or (right == 0 and operation.flag("is_causal"))
    return bounded and not any(operation.outputs[1:])


def _attended_in_cache(operation: Operation, operands: _Operands, flat: bool) -> Value:
    left = operation.integer("left_window_size", -1)
    if left < -1:
        raise _wrong_window(operation)
    made = operation.network.add_cached_attention(
        operands.query,
        operands.key,
        operands.value,
        operation.input(6),
        _padded_mask(operation, operands),
        scale=operation.real("scale", 0.0),
        causal=operation.flag("is_causal"),
        window=left + 1,
        softcap=operation.real("softcap"),
        name=operation.layer_name("heads" if flat else ""),
    )
    return _merged_heads(operation, made, "") if flat else made


def _wrong_window(operation: Operation) -> ParseError:
    left = operation.integer("left_window_size", -1)
    right = operation.integer("right_window_size", -1)
    return operation.error(f"the window is {left} and {right}: expected at least -1 of each")


def _says_it_all(operation: Operation, operands: _Operands) -> bool:
    """Return whether the layer's parameters suffice.

    They have to say which keys a query sees by its place.
    """
    window = (
        operation.integer("left_window_size", -1),
        operation.integer("right_window_size", -1),
    )
    return window == (-1, -1) and not operation.has_input(6) and operands.aligned


def _split_heads(operation: Operation, value: Value, heads: int, part: str) -> Value:
    """Convert [N, positions, heads * numbers] to [N, heads, positions, numbers]."""
    if heads < 1:
        raise operation.error(f"the number of heads is {heads}: expected at least 1")
    apart = operation.network.add_reshape(
        value,
        target_shape=(0, 0, heads, -1),
        zero_copies=True,
        name=operation.layer_name(f"{part}_apart"),
    )
    return transpose(operation, apart, (0, 2, 1, 3), f"{part}_heads")


def _merged_heads(operation: Operation, value: Value, part: str) -> Value:
    """Undo :func:`split_heads`."""
    turned = transpose(operation, value, (0, 2, 1, 3), "positions")
    return operation.network.add_reshape(
        turned, target_shape=(0, 0, -1), zero_copies=True, name=operation.layer_name(part)
    )


def _operands(operation: Operation, flat: bool) -> _Operands:
    query, key, value = (operation.input(index) for index in range(3))
    ranks = [len(operation.shape(index)) for index in range(3)]
    if ranks not in ([3, 3, 3], [4, 4, 4]):
        raise operation.error(
            f"queries, keys and values have the ranks {ranks}: expected 3 or 4, the same of all"
        )
    if flat:
        query = _split_heads(operation, query, operation.integer("q_num_heads", 0), "query")
        groups = operation.integer("kv_num_heads", 0)
        key = _split_heads(operation, key, groups, "key")
        value = _split_heads(operation, value, groups, "value")
    cached: int | None = 0
    aligned = True
    if operation.has_input(4) != operation.has_input(5):
        raise operation.error("it has a past key or a past value: expected both or none")
    if operation.has_input(4):
        if operation.has_input(6):
            raise operation.error("it has a cache and numbers of keys: expected one of them")
        length = operation.shape(4)[2] if len(operation.shape(4)) == 4 else None
        cached = length if isinstance(length, int) else None
        now = operation.shape_of(key)[2]
        aligned = now is not None and now == operation.shape_of(query)[2]
        key, value = (
            operation.network.add_concat(
                [operation.input(index), now], axis=2, name=operation.layer_name(part)
            )
            for index, now, part in ((4, key, "present_key"), (5, value, "present_value"))
        )
    return _Operands(query, key, value, cached, aligned)


def _mask(
    operation: Operation, operands: _Operands, *, without_causal: bool = False
) -> Value | None:
    """Return the keys each query sees, by mask and attributes."""
    given = _padded_mask(operation, operands)
    hidden = None if without_causal else _visible(operation, operands)
    if hidden is None or given is None:
        return given if hidden is None else hidden
    if given.info.data_type is DataType.BOOLEAN:
        return operation.network.add_logical_binary(
            given,
            hidden,
            operation=LogicalBinaryOperation.LOGICAL_AND,
            name=operation.layer_name("both_masks"),
        )
    nothing = operation.number(-np.inf, given, "hidden")
    return operation.network.add_where(
        hidden, given, nothing, name=operation.layer_name("both_masks")
    )


def _padded_mask(operation: Operation, operands: _Operands) -> Value | None:
    """Return the node's mask; keys behind its end are hidden."""
    mask = operation.optional_input(3)
    if mask is None:
        return None
    if not operation.shape_of(mask):
        raise operation.error("the mask is a scalar: expected rank 1 or more")
    last, keys = operation.shape_of(mask)[-1], operation.shape_of(operands.key)[2]
    if last == keys or not isinstance(last, int) or not isinstance(keys, int):
        return mask
    if last == 1 and operation.opset < 24:  # it is for all keys
        return mask
    if last > keys:
        raise operation.error(f"the mask is for {last} keys: expected at most {keys}")
    rank = len(operation.shape_of(mask))
    hides = 0 if mask.info.data_type is DataType.BOOLEAN else -math.inf
    return operation.network.add_pad(
        mask,
        pad_list=[(0, 0)] * (rank - 1) + [(0, keys - last)],
        pad_value=hides,
        name=operation.layer_name("padded_mask"),
    )


def _visible(operation: Operation, operands: _Operands) -> Value | None:
    """Return the keys each query sees by its place.

    Place, window and number of keys decide.
    """
    left = operation.integer("left_window_size", -1)
    right = operation.integer("right_window_size", -1)
    if min(left, right) < -1:
        raise _wrong_window(operation)
    bounds = [] if left < 0 else [(ComparisonOperation.LESS_OR_EQUAL, left)]
    if right >= 0:
        bounds.append((ComparisonOperation.GREATER_OR_EQUAL, -right))
    if operation.flag("is_causal"):
        bounds.append((ComparisonOperation.GREATER_OR_EQUAL, 0))
    counts = operation.optional_input(6)
    if not bounds and counts is None:
        return None
    distance = _distances(operation, operands)
    if counts is None:
        return _compared_now(operation, distance, bounds)
    counts = cast(operation, counts, DataType.SIGNED64, "counts")
    counts = reshape(operation, counts, (-1, 1, 1, 1), "counts_by_item")
    keys = operation.integers_constant(range(distance.shape[1]), "keys")
    seen = compare(operation, ComparisonOperation.LESS, keys, counts, "keys_that_count")
    if not bounds:
        return seen
    # The last query is the last key that counts.
    behind = operation.network.add_constant(
        distance - distance.shape[0], name=operation.layer_name("places")
    )
    places = binary(operation, BinaryOperation.ADD, behind, counts, "distances")
    for relation, bound in bounds:
        limit = operation.number(bound, places, "limit")
        near = compare(operation, relation, places, limit, "near")
        seen = operation.network.add_logical_binary(
            seen,
            near,
            operation=LogicalBinaryOperation.LOGICAL_AND,
            name=operation.layer_name("seen"),
        )
    return seen


def _distances(operation: Operation, operands: _Operands) -> NDArray[np.int64]:
    """Return each key's distance before each query, [queries, keys]."""
    queries = operation.shape_of(operands.query)[2]
    keys = operation.shape_of(operands.key)[2]
    if not isinstance(queries, int) or not isinstance(keys, int) or operands.cached is None:
        raise NotKnownYetError("the numbers of its queries and keys are not known")
    if queries * keys > _MOST_SCORES:
        raise RefusedError(
            f"the mask of {queries} queries and {keys} keys would be too large: expected at most "
            f"{_MOST_SCORES} elements"
        )
    distances: NDArray[np.int64] = (
        operands.cached + np.arange(queries)[:, np.newaxis] - np.arange(keys)
    )
    return distances


def _compared_now(
    operation: Operation,
    distance: NDArray[np.int64],
    bounds: Sequence[tuple[ComparisonOperation, int]],
) -> Value:
    seen = np.ones(distance.shape, np.bool_)
    for relation, bound in bounds:
        below = relation is ComparisonOperation.LESS_OR_EQUAL
        seen &= distance <= bound if below else distance >= bound
    return operation.network.add_constant(seen, name=operation.layer_name("seen"))


def _scores(
    operation: Operation, operands: _Operands, mask: Value | None, scale: float, softcap: float
) -> Value:
    """Return the products of queries and keys.

    Cap, mask and softmax are applied on request.
    """
    stage = operation.integer("qk_matmul_output_mode")
    if not 0 <= stage <= 3:
        raise operation.error(f"the attribute 'qk_matmul_output_mode' is {stage}: expected 0 to 3")
    query, key, network = operands.query, operands.key, operation.network
    shapes = operation.shape_of(query), operation.shape_of(key)
    (_, heads, queries, size), (_, groups, keys, _) = shapes
    known = (heads, queries, size, groups, keys)
    if not all(isinstance(dim, int) for dim in known):
        raise NotKnownYetError("the shapes of its queries and keys are not known")
    factor = scale if scale else 1 / math.sqrt(max(int(size or 0), 1))
    # The heads that share keys are the rows of one product.
    together = int(heads or 0) // max(int(groups or 0), 1) * int(queries or 0)
    rows = reshape(operation, query, (-1, int(groups or 0), together, int(size or 0)), "rows")
    scores = network.add_batch_mat_mul(
        rows, key, transpose_y=True, name=operation.layer_name("products")
    )
    scores = activation(operation, scores, ActivationFunction.LINEAR, factor, part="scaled")
    scores = reshape(
        operation, scores, (-1, int(heads or 0), int(queries or 0), int(keys or 0)), "scores"
    )
    if stage >= 1 and softcap:
        scores = activation(
            operation, scores, ActivationFunction.TANH, softcap, 1 / softcap, "capped"
        )
    if stage >= 2 and mask is not None:
        scores = _masked(operation, scores, mask)
    if stage < 3:
        return scores
    return _softmax(operation, scores, mask)


def _masked(operation: Operation, scores: Value, mask: Value) -> Value:
    if mask.info.data_type is not DataType.BOOLEAN:
        return binary(operation, BinaryOperation.ADD, scores, mask, "masked")
    nothing = operation.number(-np.inf, scores, "hidden")
    return operation.network.add_where(mask, scores, nothing, name=operation.layer_name("masked"))


def _softmax(operation: Operation, scores: Value, mask: Value | None) -> Value:
    """Return softmax along the keys.

    It is 0 for a query that sees none.
    """
    weights = operation.network.add_softmax(scores, axis=-1, name=operation.layer_name("weights"))
    if mask is None:
        return weights
    # Softmax of a row of minus infinities is NaN, which equals nothing.
    right = compare(operation, ComparisonOperation.EQUAL, weights, weights, "right")
    zero = operation.number(0, weights, "zero")
    return operation.network.add_where(
        right, weights, zero, name=operation.layer_name("qk_matmul_output")
    )


@operator("RotaryEmbedding")
def rotary_embedding(operation: Operation) -> Value:
    """Add RotaryEmbedding; positions choose rows of the tables."""
    value = operation.input()
    flat = len(operation.shape()) == 3
    if flat:
        value = _split_heads(operation, value, operation.integer("num_heads", 0), "input")
    turned = operation.integer("rotary_embedding_dim")
    cos, sin = (_table(operation, index, turned // 2) for index in (1, 2))
    result = operation.network.add_rotary_embedding(
        value,
        cos,
        sin,
        interleaved=operation.flag("interleaved"),
        name=operation.layer_name("heads" if flat else ""),
    )
    return _merged_heads(operation, result, "") if flat else result


def _table(operation: Operation, index: int, pairs: int) -> Value:
    """Return the sines or cosines per item and position.

    There are no more pairs than are turned.
    """
    table, part = operation.input(index), operation.schema.inputs[index].name
    if operation.has_input(3):
        places = _checked_positions(operation, operation.input(3), operation.shape(index)[0])
        table = operation.network.add_gather(table, places, axis=0, name=operation.layer_name(part))
    if not operation.shape_of(table):
        raise operation.error(f"the input {part!r} is a scalar: expected rank 2 or 3")
    width = operation.shape_of(table)[-1]
    if pairs == 0 or width == pairs:
        return table
    rank = len(operation.shape_of(table))
    mask = (1 << (rank - 1)) - 1
    return operation.network.add_strided_slice(
        table,
        begin=(0,) * rank,
        end=(*(0,) * (rank - 1), pairs),
        stride=(1,) * rank,
        begin_mask=mask,
        end_mask=mask,
        name=operation.layer_name(f"{part}_turned"),
    )


@operator("RotaryEmbedding", domain=MICROSOFT)
def microsoft_rotary_embedding(operation: Operation) -> Value:
    """Add RotaryEmbedding; a position of each item, or of all, chooses rows of the tables.

    As in onnxruntime, the attributes ``scale`` and ``is_packed_batching`` have no effect.
    """
    value, rank = operation.input(), len(operation.shape())
    if rank not in (3, 4):
        raise operation.error(f"the input has rank {rank}: expected 3 or 4")
    pairs, length = operation.shape(2)[-1], operation.shape()[rank - 2]
    turned = operation.integer("rotary_embedding_dim")
    if not isinstance(pairs, int) or not isinstance(length, int):
        raise NotKnownYetError("the number of its positions or angles is not known")
    _check_length(length)
    if turned not in (0, 2 * pairs):
        raise operation.error(
            f"it turns {turned} numbers: expected {2 * pairs}, two for each angle"
        )
    if rank == 3:
        heads, width = operation.integer("num_heads"), operation.shape()[2]
        if not isinstance(width, int):
            raise NotKnownYetError("the width of its input is not known")
        value = _split_heads(operation, value, heads or width // max(2 * pairs, 1), "input")
    result = operation.network.add_rotary_embedding(
        value,
        *_angles(operation, (2, 3), _positions_from(operation, 1, length)),
        interleaved=operation.flag("interleaved"),
        name=operation.layer_name("heads" if rank == 3 else ""),
    )
    return _merged_heads(operation, result, "") if rank == 3 else result


def _check_length(length: int) -> None:
    """Refuse positions that would take the memory of a list too large."""
    if length > _MOST_POSITIONS:
        raise RefusedError(f"its sequence has {length} positions")


def _positions_from(operation: Operation, index: int, length: int) -> Value:
    """Return the positions in an input: [N, length], or an offset of all.

    A negative one is moved behind the end of the table, where it is an error: Gather would count
    it from there.
    """
    positions = operation.input(index)
    if len(operation.shape(index)) == 1:
        steps = operation.number(np.arange(length), positions, "steps")
        positions = binary(operation, BinaryOperation.ADD, positions, steps, "positions")
    return _checked_positions(operation, positions, operation.shape(2)[0])


def _checked_positions(operation: Operation, positions: Value, size: Dimension) -> Value:
    """Return positions in a table of ``size`` rows, negative ones moved behind its end."""
    if not isinstance(size, int):
        raise NotKnownYetError("the number of its tables' rows is not known")
    outside = operation.number(size, positions, "outside")
    is_negative = _shared(
        operation,
        "Comparison",
        [positions, operation.number(0, positions, "zero")],
        "is_negative",
        operation=ComparisonOperation.LESS,
    )
    return _shared(operation, "Where", [is_negative, outside, positions], "places")


def _angles(operation: Operation, tables: tuple[int, int], positions: Value) -> list[Value]:
    """Return the cosines and sines of positions."""
    return [
        _shared(operation, "Gather", [operation.input(index), positions], part, axis=0)
        for index, part in zip(tables, ("cos", "sin"), strict=True)
    ]


@operator("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(operation: Operation) -> Sequence[Value]:
    """Add RotaryEmbedding, TensorScatter into the caches, and CachedAttention.

    Keys of an item that count are those of the cache and the new ones: seqlens_k + 1. A prompt that
    is shorter than others is padded at its end. A seqlens_k below 0 is an error of the run.
    """
    _refuse_variants(operation)
    query, key, value = _grouped_operands(operation)
    scales = [
        _cache_scale(operation, index, part, rows)
        for index, part, rows in ((3, "key", key), (4, "value", value))
    ]
    _await_growth(operation)
    length = operation.shape_of(query)[2]
    if not isinstance(length, int):
        raise NotKnownYetError("the number of its new positions is not known")
    _check_length(length)
    counts = _shared(operation, "Cast", [operation.input(5)], "last", output=DataType.SIGNED64)
    if len(operation.shape(5)) != 1:
        counts = _shared(operation, "Reshape", [counts], "last_places", target_shape=_batch(counts))
    counts = _with_number(operation, BinaryOperation.ADD, counts, 1, "counts")
    ends = _ends(operation, counts, length)
    past = _with_number(operation, BinaryOperation.SUB, ends, length, "past")
    if operation.flag("do_rotary"):
        angles = _angles(operation, (7, 8), _rotary_positions(operation, past, length))
        query, key = (
            operation.network.add_rotary_embedding(
                each,
                *angles,
                interleaved=operation.flag("rotary_interleaved"),
                name=operation.layer_name(f"{part}_turned"),
            )
            for each, part in ((query, "query"), (key, "key"))
        )
    capacity, sliding = _capacity(operation, length), None
    if operation.flag("sliding_window_cache"):
        sliding = _sliding_cache(operation, counts, past, length)
        capacity = sliding.size + length
        counts, ends, past = (
            _shared_binary(operation, BinaryOperation.SUB, each, sliding.dropped, part)
            for each, part in ((counts, "rows"), (ends, "last_rows"), (past, "past_rows"))
        )
    caches, read = [], []
    new = (3, key, "key"), (4, value, "value")
    for (index, new_rows, part), scale in zip(new, scales, strict=True):
        stored = new_rows if scale is None else _rounded_rows(operation, new_rows, scale, part)
        cache = _with_new_rows(operation, index, stored, past, capacity, f"present_{part}")
        caches.append(cache if sliding is None else _slid(operation, cache, sliding, part))
        read.append(cache if scale is None else _real_rows(operation, cache, scale, part))
    keys, values = read
    causal = operation.flag("causal")
    if not causal and not operation.has_input(3):  # where no cache refuses an end below 0
        counts = _least(operation, counts, ends, "checked_counts")
    made = operation.network.add_cached_attention(
        query,
        keys,
        values,
        ends if causal else counts,
        _grouped_bias(operation, keys),
        _sink(operation, query),
        scale=operation.real("scale", 0.0),
        causal=causal,
        window=max(operation.integer("local_window_size"), 0),
        softcap=operation.real("softcap"),
        name=operation.layer_name("heads"),
    )
    return [_merged_heads(operation, made, ""), *caches]


class _SlidingCache(NamedTuple):
    """A cache of the last rows, from which a batch of the oldest is dropped when it is full.

    Attributes:
        size: How many rows it has.
        dropped: How many rows of each item it has dropped before this run, [N].
        dropping: How many this run drops, [N].
    """

    size: int
    dropped: Value
    dropping: Value


def _sliding_cache(operation: Operation, counts: Value, past: Value, length: int) -> _SlidingCache:
    """Return how the cache moves.

    After T rows it has dropped the least multiple of size - window + 1 that leaves it no more than
    it holds, so that the rows of a window are always there.

    Raises:
        RefusedError: There is no cache, or a bias of positions that it has not.
        ParseError: A window does not fit into it.
    """
    window = operation.integer("local_window_size")
    if not operation.has_input(3) or operation.has_input(10):
        what = "attention_bias" if operation.has_input(3) else "no past_key"
        raise RefusedError(
            f"its cache moves with the window (sliding_window_cache), and has {what}"
        )
    size = operation.shape(3)[2]
    if not isinstance(size, int):
        raise NotKnownYetError("the size of its cache is not known")
    if not 0 < window <= size or size + length > _MOST_POSITIONS:
        raise operation.error(
            f"the attribute 'local_window_size' is {window}: expected 1 to {size}, the rows of the "
            "cache that moves with it (sliding_window_cache)"
        )
    step = size - window + 1

    def dropped(rows: Value, part: str) -> Value:
        over = _with_number(operation, BinaryOperation.ADD, rows, step - 1 - size, f"{part}_over")
        over = _with_number(operation, BinaryOperation.MAXIMUM, over, 0, f"{part}_too_many")
        batches = _with_number(operation, BinaryOperation.DIV, over, step, f"{part}_batches")
        return _with_number(operation, BinaryOperation.MUL, batches, step, f"{part}_dropped")

    before, after = dropped(past, "past"), dropped(counts, "present")
    now = _shared_binary(operation, BinaryOperation.SUB, after, before, "dropping")
    return _SlidingCache(size, before, now)


def _slid(operation: Operation, rows: Value, sliding: _SlidingCache, part: str) -> Value:
    """Return the rows of a cache [N, heads, rows, numbers] behind those that it drops."""
    shape = operation.shape_of(rows)
    batch, heads, count, width = (dim if isinstance(dim, int) else -1 for dim in shape)
    if min(batch, heads, count, width) < 0:
        raise NotKnownYetError("the shape of its cache is not known")
    first = _shared(
        operation, "Reshape", [sliding.dropping], "first_rows", target_shape=(batch, 1, 1)
    )
    places = _with_number(operation, BinaryOperation.ADD, first, np.arange(sliding.size), "places")
    last = _with_number(operation, BinaryOperation.MINIMUM, places, count - 1, "places_inside")
    starts = np.arange(batch * heads).reshape(batch, heads, 1) * count
    flat = _with_number(operation, BinaryOperation.ADD, last, starts, "places_of_all")
    table = reshape(operation, rows, (batch * heads * count, width), f"{part}_rows")
    return operation.network.add_gather(
        table, flat, axis=0, name=operation.layer_name(f"slid_{part}")
    )


def _ends(operation: Operation, counts: Value, length: int) -> Value:
    """Return where the new rows of each item end in the cache, a prompt's padding among them.

    It is below ``length`` where a count is below 1, so that the run is refused as no row of a cache
    is before the first one.
    """
    if length == 1 and operation.has_input(3):
        return counts
    ends = _with_number(operation, BinaryOperation.MAXIMUM, counts, length, "ends")
    # This is at least the end above for counts from 1 on, and at most -length for others.
    scaled = _with_number(operation, BinaryOperation.MUL, counts, 2 * length, "scaled")
    most = _with_number(operation, BinaryOperation.SUB, scaled, length, "most")
    return _least(operation, ends, most, "checked_ends")


def _least(operation: Operation, one: Value, other: Value, part: str) -> Value:
    return _shared_binary(operation, BinaryOperation.MINIMUM, one, other, part)


def _cache_scale(operation: Operation, index: int, part: str, new: Value) -> Value | None:
    """Return the steps of a cache in integers, of all or of each head and number; else None."""
    name, kinds = f"{part[0]}_quant_type", ("NONE", "PER_TENSOR", "PER_CHANNEL")
    kind = operation.text(name, kinds)
    if kind == "NONE":
        return None
    bits = operation.integer("kv_cache_bit_width", 0)
    if bits != 8 or operation.data_type(index) is not DataType.SIGNED8:
        stored = operation.data_type(index).arm_name
        raise RefusedError(f"its cache is {stored} of {bits} bits, not Signed8")
    _, heads, _, size = operation.shape_of(new)
    if not isinstance(heads, int) or not isinstance(size, int):
        raise NotKnownYetError("the sizes of its heads are not known")
    shape = (1, 1, 1, 1) if kind == "PER_TENSOR" else (1, heads, 1, size)
    given = operation.input(12 if part == "key" else 13)
    return reshape(operation, given, shape, f"{part}_scale")


def _rounded_rows(operation: Operation, value: Value, scale: Value, part: str) -> Value:
    """Return round(x / scale), halves to even, saturated to 8 bits."""
    steps = binary(operation, BinaryOperation.DIV, value, scale, f"{part}_steps")
    steps = unary(operation, UnaryOperation.ROUND, steps, f"{part}_whole_steps")
    bounded = ActivationFunction.BOUNDED_RELU
    steps = activation(operation, steps, bounded, 127.0, -128.0, f"{part}_saturated")
    steps = cast(operation, steps, DataType.SIGNED32, f"{part}_whole")
    return cast(operation, steps, DataType.SIGNED8, f"{part}_stored")


def _real_rows(operation: Operation, cache: Value, scale: Value, part: str) -> Value:
    real = cast(operation, cache, scale.info.data_type, f"{part}_read")
    return binary(operation, BinaryOperation.MUL, real, scale, f"{part}_real")


def _refuse_variants(operation: Operation) -> None:
    """Refuse attributes and inputs that no layer computes, by their names."""
    if operation.integer("qk_output") or any(operation.outputs[3:]):
        raise RefusedError("its products of queries and keys are an output (qk_output)")
    if operation.has_input(3) != operation.has_input(4):
        raise operation.error("it has a past key or a past value: expected both or none")


def _grouped_operands(operation: Operation) -> tuple[Value, Value, Value]:
    """Return queries, keys and values, [N, heads, positions, numbers], normalized if asked."""
    heads, groups = operation.integer("num_heads", 0), operation.integer("kv_num_heads", 0)
    if min(heads, groups) < 1 or heads % groups or heads > _MOST_HEADS:
        raise operation.error(
            f"it has {heads} heads of queries and {groups} of keys: expected a multiple of these, "
            f"at most {_MOST_HEADS}"
        )
    if operation.has_input(1) != operation.has_input(2):
        raise operation.error("it has keys or values: expected both or none")
    if operation.has_input(1):
        flat = [operation.input(index) for index in range(3)]
    else:
        width, together = operation.shape()[-1], heads + 2 * groups
        if not isinstance(width, int):
            raise NotKnownYetError("the width of its input is not known")
        if width % together:
            raise operation.error(
                f"its input has {width} columns: expected those of {together} heads"
            )
        sizes = [width // together * count for count in (heads, groups, groups)]
        flat = _split(operation, operation.input(), sizes)
    query, key, value = (
        _split_heads(operation, each, count, part)
        for each, count, part in zip(
            flat, (heads, groups, groups), ("query", "key", "value"), strict=True
        )
    )
    return (
        _head_norm(operation, query, 14, "query_normalized"),
        _head_norm(operation, key, 15, "key_normalized"),
        value,
    )


def _head_norm(operation: Operation, value: Value, index: int, part: str) -> Value:
    weight = operation.optional_input(index)
    if weight is None:
        return value
    return operation.network.add_rms_normalization(
        value,
        weight,
        axis=-1,
        eps=operation.real("qk_norm_epsilon"),
        name=operation.layer_name(part),
    )


def _rotary_positions(operation: Operation, past: Value, length: int) -> Value:
    """Return [N, length]: those given, or those behind the past."""
    if operation.has_input(9):
        return _checked_positions(operation, operation.input(9), operation.shape(7)[0])
    first = _shared(operation, "Reshape", [past], "first", target_shape=(*_batch(past), 1))
    for layer, _ in first.uses:
        return layer.output  # of an earlier node: nothing else reads it
    zero, limit, one = (
        operation.number(number, past, part)
        for number, part in ((0, "zero"), (length, "limit"), (1, "one"))
    )
    steps = operation.network.add_range(zero, limit, one, name=operation.layer_name("steps"))
    return binary(operation, BinaryOperation.ADD, first, steps, "positions")


def _batch(value: Value) -> tuple[int]:
    """Return the first dimension for a reshape, -1 if it is not known."""
    size = value.info.shape[0] if value.info.shape else None
    return (size if isinstance(size, int) else -1,)


def _with_number(
    operation: Operation, function: BinaryOperation, value: Value, number: ArrayLike, part: str
) -> Value:
    other = operation.number(number, value, f"{part}_number")
    return _shared_binary(operation, function, value, other, part)


def _shared_binary(
    operation: Operation, function: BinaryOperation, one: Value, other: Value, part: str
) -> Value:
    return _shared(operation, "ElementwiseBinary", [one, other], part, operation=function)


def _shared(
    operation: Operation,
    kind: str,
    inputs: Sequence[Value],
    part: str,
    /,
    output: DataType | None = None,
    **parameters: Any,
) -> Value:
    """Return the output of a layer, of an earlier node's if that made an equal one.

    All layers of a decoder are told the same lengths: what follows from them is computed once.
    """
    network = operation.network
    descriptor = LAYERS[kind].descriptor(**parameters)
    for layer, _ in inputs[0].uses:
        if layer.type == kind and layer.descriptor == descriptor:
            same = len(layer.inputs) == len(inputs)
            if same and all(map(_are_same, layer.inputs, inputs)):
                return layer.output
    return network.add(
        kind, inputs, descriptor, name=operation.layer_name(part), outputs=[output]
    ).output


def _are_same(one: Value | None, other: Value) -> bool:
    if one is None or one.constant is None or other.constant is None:
        return one is other
    return one.info == other.info and np.array_equal(one.constant, other.constant)


def _await_growth(operation: Operation) -> None:
    """Wait for the number of all positions, which is the new size of the caches.

    It is not needed where the file says that they keep their size.

    Raises:
        NotKnownYetError: It is to be waited for.
    """
    if operation.graph.is_late or not operation.has_input(3):
        return
    total, made = operation.input(6), operation.outputs[1:2]
    declared = operation.network.declared_shapes.get(made[0]) if made else None
    keeps_size = declared is not None and None not in declared and declared == operation.shape(3)
    is_known = total.constant is not None or _follows_from_shapes(total)
    if not (is_known or keeps_size or operation.flag("sliding_window_cache")):
        raise NotKnownYetError("how large its caches become is not known", awaited=6, grows=True)


def _capacity(operation: Operation, length: int) -> int | None:
    """Return how many positions the caches get, None for as many as they have.

    They grow where the number of all positions is known and larger.

    Raises:
        ParseError: There are more positions than those of the cache and ``length`` new ones.
    """
    if not operation.has_input(3):
        return None
    total = operation.input(6)
    if total.constant is None and not _follows_from_shapes(total):
        return None
    count, size = operation.only(6, operation.known(6)), operation.shape(3)[2]
    if not isinstance(size, int):
        raise NotKnownYetError("the size of its cache is not known")
    if count <= size:
        return size
    if count > size + length:
        raise operation.error(
            f"the input {operation.input_name(6)} is {count}: expected at most {size + length}, "
            f"{length} rows behind those of the cache"
        )
    return int(count)


def _follows_from_shapes(value: Value) -> bool:
    """Return whether a value is known where the shapes of all inputs are."""
    pending, seen = [value], {value}
    while pending:
        layer = pending.pop().producer
        if layer.type == "Input":
            return False
        if layer.type == "Shape":
            continue
        for each in layer.inputs:
            if each is not None and each not in seen:
                seen.add(each)
                pending.append(each)
    return True


def _with_new_rows(
    operation: Operation, index: int, new: Value, past: Value, capacity: int | None, part: str
) -> Value:
    """Return the cache with new rows behind those of the past."""
    cache = operation.optional_input(index)
    if cache is None:
        return new
    size = operation.shape(index)[2]
    if capacity is not None and isinstance(size, int) and capacity > size:
        cache = operation.network.add_pad(
            cache,
            pad_list=[(0, 0), (0, 0), (0, capacity - size), (0, 0)],
            name=operation.layer_name(f"{part}_with_room"),
        )
    return operation.network.add_tensor_scatter(
        cache, new, past, axis=2, name=operation.layer_name(part)
    )


def _grouped_bias(operation: Operation, keys: Value) -> Value | None:
    """Return the bias; elements behind its end are ignored."""
    bias = operation.optional_input(10)
    if bias is None:
        return None
    rank = len(operation.shape(10))
    given, size = operation.shape(10)[-1:], operation.shape_of(keys)[2]
    if rank != 4 or not isinstance(given[0], int) or not isinstance(size, int):
        raise NotKnownYetError("the shapes of its bias and its cache are not known")
    if given[0] in (1, size):
        return bias
    if given[0] > size:
        raise operation.error(f"the bias is for {given[0]} keys: expected at most {size}")
    return operation.network.add_pad(
        bias, pad_list=[(0, 0)] * 3 + [(0, size - given[0])], name=operation.layer_name("bias")
    )


def _sink(operation: Operation, query: Value) -> Value | None:
    """Return a score of each head beside those of keys: given ones, or 0 of smooth softmax."""
    if operation.has_input(11):
        return operation.input(11)
    if operation.integer("smooth_softmax") != 1:
        return None
    return operation.number(np.zeros(operation.integer("num_heads", 0)), query, "sink")


_MOST_KEYS = 2**24


@operator("Attention", domain=MICROSOFT)
def microsoft_attention(operation: Operation) -> Sequence[Value]:
    """Add one product for queries, keys and values, then Attention."""
    if operation.has_input(4) or operation.flag("do_rotary"):
        raise RefusedError("it has a cache of past keys or turns its queries (do_rotary)")
    network, heads = operation.network, operation.integer("num_heads", 0)
    product = network.add_batch_mat_mul(
        operation.input(), operation.input(1), name=operation.layer_name("projected")
    )
    bias = operation.optional_input(2)
    if bias is not None:
        product = binary(operation, BinaryOperation.ADD, product, bias, "biased")
    sizes = _projected_sizes(operation)
    parts = [
        _split_heads(operation, part, heads, name)
        for part, name in zip(
            _split(operation, product, sizes), ("query", "key", "value"), strict=True
        )
    ]
    return [_attended(operation, parts, mask=3, added=5)]


def _projected_sizes(operation: Operation) -> tuple[int, int, int]:
    widths = operation.integers("qkv_hidden_sizes")
    width = operation.shape(1)[-1]
    if widths is None:
        if not isinstance(width, int):
            raise NotKnownYetError("the shape of its weights is not known")
        widths = (width // 3,) * 3
    if len(widths) != 3 or min(widths) < 1 or sum(widths) != width:
        raise operation.error(
            f"the sizes of queries, keys and values are {list(widths)}: expected three that make "
            f"{width}"
        )
    return widths[0], widths[1], widths[2]


def _split(operation: Operation, value: Value, sizes: Sequence[int]) -> list[Value]:
    parts, start = [], 0
    for size, name in zip(sizes, ("queries", "keys", "values"), strict=True):
        parts.append(
            operation.network.add_strided_slice(
                value,
                begin=(0, 0, start),
                end=(0, 0, start + size),
                stride=(1, 1, 1),
                begin_mask=0b011,
                end_mask=0b011,
                name=operation.layer_name(name),
            )
        )
        start += size
    return parts


@operator("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(operation: Operation) -> Sequence[Value]:
    """Add Attention; further outputs are the extended keys and values."""
    network, heads = operation.network, operation.integer("num_heads", 0)
    parts = [operation.input(index) for index in _required(operation)]
    ranks = [len(operation.shape_of(part)) for part in parts]
    if ranks not in ([3, 3, 3], [3, 4, 4]):
        raise operation.error(
            f"queries, keys and values have the ranks {ranks}: expected 3, or 4 of keys and values"
        )
    bias = operation.optional_input(3)
    if bias is not None:
        parts = _with_bias(operation, parts, bias)
    apart = []
    for part, name in zip(parts, ("query", "key", "value"), strict=True):
        flat = len(operation.shape_of(part)) == 3
        apart.append(_split_heads(operation, part, heads, name) if flat else part)
    if operation.has_input(6) and operation.has_input(7):
        for index, past in ((1, 6), (2, 7)):
            apart[index] = network.add_concat(
                [operation.input(past), apart[index]],
                axis=2,
                name=operation.layer_name("present"),
            )
    return [_attended(operation, apart, mask=4, added=5), *apart[1:]]


def _required(operation: Operation) -> tuple[int, int, int]:
    if not operation.has_input(1) or not operation.has_input(2):
        raise RefusedError("its queries, keys and values are packed into one tensor")
    return (0, 1, 2)


def _with_bias(operation: Operation, parts: Sequence[Value], bias: Value) -> list[Value]:
    """Add the bias's parts to queries, keys and values."""
    sizes = []
    for part in parts:
        shape = operation.shape_of(part)
        if len(shape) != 3 or not isinstance(shape[2], int):
            raise RefusedError("it has a bias, but keys that are split into heads already")
        sizes.append(shape[2])
    row = reshape(operation, bias, (1, 1, -1), "bias")
    biases = _split(operation, row, sizes)
    return [
        binary(operation, BinaryOperation.ADD, part, own, "biased")
        for part, own in zip(parts, biases, strict=True)
    ]


def _attended(operation: Operation, parts: Sequence[Value], *, mask: int, added: int) -> Value:
    """Add the layer.

    ``mask`` and ``added`` are the places of the mask and of the added term.
    """
    query, key, value = parts
    hidden = _key_mask(operation, operation.optional_input(mask), key)
    bias = operation.optional_input(added)
    if hidden is not None and bias is not None:
        nothing = operation.number(operation.real("mask_filter_value"), bias, "hidden")
        bias = operation.network.add_where(
            hidden, bias, nothing, name=operation.layer_name("bias_of_seen")
        )
    made = operation.network.add_attention(
        query,
        key,
        value,
        hidden if bias is None else bias,
        scale=operation.real("scale", 0.0),
        causal=operation.flag("unidirectional"),
        causal_from_end=operation.flag("unidirectional"),
        name=operation.layer_name("heads"),
    )
    return _merged_heads(operation, made, "")


def _key_mask(operation: Operation, given: Value | None, key: Value) -> Value | None:
    """Return a mask that broadcasts to [N, heads, queries, keys].

    A mask with one number for each item gives the number of keys, the others are for each key 1 or
    0.
    """
    if given is None:
        return None
    rank = len(operation.shape_of(given))
    given = cast(operation, given, DataType.SIGNED32, "mask")
    if rank == 1:
        batch, keys = operation.shape_of(key)[0], operation.shape_of(key)[2]
        if not isinstance(keys, int) or keys > _MOST_KEYS or operation.shape_of(given)[0] != batch:
            raise RefusedError("its mask is not just a number of keys for each item")
        counts = reshape(operation, given, (-1, 1, 1, 1), "counts")
        places = operation.number(np.arange(keys), counts, "keys")
        return compare(operation, ComparisonOperation.LESS, places, counts, "seen")
    groups = {
        2: [[0], [], [], [1]],
        3: [[0], [], [1], [2]],
        4: [[0], [1], [2], [3]],
    }.get(rank)
    if groups is None:
        raise RefusedError(f"its mask has rank {rank}")
    grid = reshape_to_groups(operation, given, groups, "mask_of_scores")
    zero = operation.number(0, grid, "zero")
    return compare(operation, ComparisonOperation.GREATER, grid, zero, "seen")
