# SPDX-License-Identifier: MIT
"""The attention operators of onnxruntime: Attention and MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armnn.parsing.conversion import NotKnownYetError, RefusedError, cast, compare, reshape
from armnn.types import BinaryOperation, ComparisonOperation, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.domains import MICROSOFT
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.operators.attention import merged_heads, split_heads
from armnn_parser_onnx.shapes import reshape_to_groups

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation


_MOST_KEYS = 2**24


@operator("Attention", domain=MICROSOFT)
def attention(operation: Operation) -> Sequence[Value]:
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
        split_heads(operation, part, heads, name)
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
        apart.append(split_heads(operation, part, heads, name) if flat else part)
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
            raise RefusedError("its keys have heads already, but a bias")
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
    hidden = _mask(operation, operation.optional_input(mask), key)
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
    return merged_heads(operation, made, "")


def _mask(operation: Operation, given: Value | None, key: Value) -> Value | None:
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
            raise RefusedError("its mask says more than how many keys of each item count")
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
