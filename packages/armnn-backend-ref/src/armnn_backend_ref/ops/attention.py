# SPDX-License-Identifier: MIT
"""What transformers are made of: Attention and RotaryEmbedding."""

from __future__ import annotations

import math

import numpy as np

from armnn.layers.attention import AttentionDescriptor, RotaryEmbeddingDescriptor
from armnn_backend_ref.ops._registry import Array, op


@op("Attention")
def attention(
    d: AttentionDescriptor, query: Array, key: Array, value: Array, mask: Array | None
) -> Array:
    """Return values weighted by their keys' match with the queries."""
    batch, heads, queries, size = query.shape
    groups, keys = key.shape[1:3]
    scale = d.scale if d.scale else 1 / math.sqrt(max(size, 1))
    # The heads that share keys are the rows of one product.
    rows = heads * queries // max(groups, 1)
    scaled = (query * query.dtype.type(scale)).reshape(batch, groups, rows, size)
    scores = scaled @ key.swapaxes(-2, -1)
    if d.softcap:
        scores = d.softcap * np.tanh(scores / d.softcap)
    scores = scores.reshape(batch, heads, queries, keys)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    if d.causal:
        last = keys - queries if d.causal_from_end else 0
        scores = np.where(np.tri(queries, keys, last, dtype=np.bool_), scores, -np.inf)
    weights = _softmax(scores).reshape(batch, groups, rows, keys)
    result: Array = (weights @ value).reshape(batch, heads, queries, value.shape[3])
    return result


def _softmax(scores: Array) -> Array:
    """Return softmax along the last axis.

    It is 0 where all scores are minus infinity.
    """
    highest = scores.max(-1, keepdims=True, initial=-np.inf)
    weights: Array = np.exp(scores - np.where(np.isneginf(highest), 0, highest))
    total = weights.sum(-1, keepdims=True)
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
