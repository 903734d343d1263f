# SPDX-License-Identifier: MIT
"""The layers of transformers: Attention, CachedAttention and RotaryEmbedding."""

from __future__ import annotations

import math

import numpy as np

from armnn.errors import ExecutionError
from armnn.layers.attention import (
    AttentionDescriptor,
    CachedAttentionDescriptor,
    RotaryEmbeddingDescriptor,
)
from armnn_backend_ref.ops._registry import Array, op


@op("Attention")
def attention(
    d: AttentionDescriptor, query: Array, key: Array, value: Array, mask: Array | None
) -> Array:
    """Return values weighted by their keys' match with the queries."""
    queries, keys = query.shape[2], key.shape[2]
    scores = _scores(d, query, key, mask)
    if d.causal:
        last = keys - queries if d.causal_from_end else 0
        scores = np.where(np.tri(queries, keys, last, dtype=np.bool_), scores, -np.inf)
    return _weighted(_softmax(scores), value)


@op("CachedAttention")
def cached_attention(
    d: CachedAttentionDescriptor,
    query: Array,
    key: Array,
    value: Array,
    lengths: Array,
    mask: Array | None,
    sink: Array | None,
) -> Array:
    """Return values weighted as Attention does, of the keys that count.

    Raises:
        ExecutionError: A length is not one of the cache.
    """
    batch, heads, queries, _ = query.shape
    capacity = key.shape[2]
    counts = np.broadcast_to(lengths, batch).astype(np.intp)
    wrong = (counts < 0) | (counts > capacity)
    if wrong.any():
        raise ExecutionError(
            f"a cache of {capacity} keys cannot have {int(counts[wrong][0])}: expected 0 to "
            f"{capacity}"
        )
    if mask is not None:
        mask = np.broadcast_to(mask, (batch, heads, queries, capacity))
    result = np.empty((*query.shape[:3], value.shape[3]), query.dtype)
    for n, count in enumerate(counts.tolist()):
        item = slice(n, n + 1)
        seen = None if mask is None else mask[item, ..., :count]
        scores = _scores(d, query[item], key[item, :, :count], seen)
        before = np.arange(count - queries, count)[:, np.newaxis] - np.arange(count)
        if d.causal:
            scores = np.where(before >= 0, scores, -np.inf)
        if d.window:
            scores = np.where(before < d.window, scores, -np.inf)
        result[item] = _weighted(_softmax(scores, sink), value[item, :, :count])
    return result


def _scores(
    d: AttentionDescriptor | CachedAttentionDescriptor,
    query: Array,
    key: Array,
    mask: Array | None,
) -> Array:
    """Return the capped and masked scores of each query, [N,H,S,L]."""
    batch, heads, queries, size = query.shape
    groups, keys = key.shape[1:3]
    scale = d.scale if d.scale else 1 / math.sqrt(max(size, 1))
    # The heads that share keys are the rows of one product.
    rows = heads * queries // max(groups, 1)
    scaled = (query * query.dtype.type(scale)).reshape(batch, groups, rows, size)
    scores: Array = scaled @ key.swapaxes(-2, -1)
    if d.softcap:
        scores = d.softcap * np.tanh(scores / d.softcap)
    scores = scores.reshape(batch, heads, queries, keys)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    return scores


def _weighted(weights: Array, value: Array) -> Array:
    """Return the sums of values by weights [N,H,S,L]."""
    batch, heads, queries, keys = weights.shape
    groups = value.shape[1]
    rows = weights.reshape(batch, groups, heads * queries // max(groups, 1), keys)
    result: Array = (rows @ value).reshape(batch, heads, queries, value.shape[3])
    return result


def _softmax(scores: Array, sink: Array | None = None) -> Array:
    """Return softmax along the last axis, beside a sink's score if there is one.

    It is 0 where all scores are minus infinity.
    """
    highest = scores.max(-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        beside = sink[:, np.newaxis, np.newaxis]  # of each head
        highest = np.maximum(highest, beside)
    highest = np.where(np.isneginf(highest), 0, highest)
    weights: Array = np.exp(scores - highest)
    total = weights.sum(-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(beside - highest)
    weights /= np.where(total == 0, 1, total)
    return weights


@op("RotaryEmbedding")
def rotary_embedding(d: RotaryEmbeddingDescriptor, x: Array, cos: Array, sin: Array) -> Array:
    """Turn each pair by its angle."""
    pairs = cos.shape[-1]
    cos, sin = np.expand_dims(cos, -3), np.expand_dims(sin, -3)  # for all heads
    if d.interleaved:
        first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    else:
        first, second = slice(0, pairs), slice(pairs, 2 * pairs)
    y = x.copy()
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., first] * sin + x[..., second] * cos
    return y
