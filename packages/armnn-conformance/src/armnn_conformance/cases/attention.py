# SPDX-License-Identifier: MIT
"""Conformance cases of Attention, CachedAttention and RotaryEmbedding, query by query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.attention import (
    AttentionDescriptor,
    CachedAttentionDescriptor,
    RotaryEmbeddingDescriptor,
)
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.operands import REAL, CaseTensor, tensor, values

_COARSE = {
    DataType.FLOAT32: Tolerance("sums, exponentials and a division", rtol=1e-4, atol=1e-5),
    DataType.FLOAT16: Tolerance("sums of float16 products", rtol=1e-2, atol=1e-2),
    DataType.BFLOAT16: Tolerance("sums of bfloat16 products", rtol=4e-2, atol=4e-2),
}


def _attend(
    d: AttentionDescriptor, q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], mask: Any = None
) -> NDArray[np.float64]:
    batch, heads, queries, size = q.shape
    keys = k.shape[2]
    result = np.zeros((batch, heads, queries, v.shape[3]))
    scale = d.scale if d.scale != 0 else 1 / math.sqrt(size)
    shift = keys - queries if d.causal_from_end else 0
    if mask is not None:
        mask = np.broadcast_to(mask, (batch, heads, queries, keys))
    for n, h, s in np.ndindex(batch, heads, queries):
        group = h // (heads // k.shape[1])
        weights = np.zeros(keys)
        for position in range(keys):
            score = scale * float(np.dot(q[n, h, s], k[n, group, position]))
            if d.softcap:
                score = d.softcap * math.tanh(score / d.softcap)
            hidden = d.causal and position > s + shift
            if mask is not None and mask.dtype == bool:
                hidden = hidden or not mask[n, h, s, position]
            elif mask is not None:
                score += float(mask[n, h, s, position])
            weights[position] = 0.0 if hidden else math.exp(score)
        if weights.any():
            result[n, h, s] = weights @ v[n, group] / weights.sum()
    return result


@cases(AttentionDescriptor, types=REAL)
def attention(data_type: DataType) -> Iterator[LayerCase]:
    """Cover scale, masks, soft cap, shared heads, one key.

    Causal masks are from both ends, and there are both kinds of given masks.
    """
    seen = tensor(DataType.BOOLEAN, np.array([[True, False, True], [False, False, False]]))
    added = values(data_type, (1, 4, 2, 3), seed=9)
    rows: list[tuple[str, AttentionDescriptor, tuple[int, int, int], CaseTensor | None, bool]]
    rows = [
        ("plain", AttentionDescriptor(), (4, 2, 3), None, False),
        ("a scale of its own", AttentionDescriptor(scale=0.75), (4, 2, 3), None, False),
        ("causal", AttentionDescriptor(causal=True), (4, 3, 3), None, False),
        (
            "causal from the end",
            AttentionDescriptor(causal=True, causal_from_end=True),
            (4, 2, 4),
            None,
            False,
        ),
        ("a soft cap", AttentionDescriptor(softcap=0.5), (4, 2, 3), None, False),
        ("a mask that hides all keys of a query", AttentionDescriptor(), (4, 2, 3), seen, True),
        ("a mask that is added", AttentionDescriptor(), (4, 2, 3), added, False),
        ("heads share keys", AttentionDescriptor(), (2, 2, 3), None, False),
        ("one key", AttentionDescriptor(), (1, 2, 1), None, True),
    ]
    for name, d, (groups, queries, keys), mask, edge in rows:
        q = values(data_type, (2, 4, queries, 3), seed=1)
        k = values(data_type, (2, groups, keys, 3), seed=2)
        v = values(data_type, (2, groups, keys, 5), seed=3)
        expected = _attend(d, q.real, k.real, v.real, None if mask is None else mask.real)
        operands = [q, k, v, mask] if mask is not None else [q, k, v]
        yield case(
            data_type, name, d, operands, expected, tolerance=_COARSE.get(data_type), edge=edge
        )


def _attend_in_cache(
    d: CachedAttentionDescriptor,
    operands: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    lengths: NDArray[Any],
    mask: NDArray[Any] | None,
    sink: NDArray[Any] | None,
) -> NDArray[np.float64]:
    q, k, v = operands
    batch, heads, queries, size = q.shape
    result = np.zeros((batch, heads, queries, v.shape[3]))
    scale = d.scale if d.scale != 0 else 1 / math.sqrt(size)
    if mask is not None:
        mask = np.broadcast_to(mask, (batch, heads, queries, k.shape[2]))
    for n, h, s in np.ndindex(batch, heads, queries):
        group, place = h // (heads // k.shape[1]), int(lengths[n]) - queries + s
        total = 0.0 if sink is None else math.exp(sink[h])
        for position in range(int(lengths[n])):
            if d.causal and position > place:
                continue
            if d.window and position <= place - d.window:
                continue
            score = scale * float(np.dot(q[n, h, s], k[n, group, position]))
            if d.softcap:
                score = d.softcap * math.tanh(score / d.softcap)
            if mask is not None and mask.dtype == bool:
                score = score if mask[n, h, s, position] else -math.inf
            elif mask is not None:
                score += float(mask[n, h, s, position])
            result[n, h, s] += math.exp(score) * v[n, group, position]
            total += math.exp(score)
        result[n, h, s] /= total if total else 1.0
    return result


@cases(CachedAttentionDescriptor, types=REAL)
def cached_attention(data_type: DataType) -> Iterator[LayerCase]:
    """Cover lengths of each item and of all, windows, sinks, masks and empty caches."""
    seen = tensor(DataType.BOOLEAN, np.arange(5) != 1)
    added = values(data_type, (1, 4, 2, 5), seed=9)
    sink = values(data_type, (4,), seed=8)
    rows: list[tuple[str, CachedAttentionDescriptor, int, Any, CaseTensor | None, bool, bool]]
    rows = [
        ("a length of each item", CachedAttentionDescriptor(), 2, [5, 3], None, False, False),
        ("one step", CachedAttentionDescriptor(), 1, [4, 1], None, False, False),
        (
            "one length of all items",
            CachedAttentionDescriptor(scale=0.75),
            2,
            4,
            None,
            False,
            False,
        ),
        (
            "all keys that count",
            CachedAttentionDescriptor(causal=False),
            2,
            [4, 2],
            None,
            False,
            False,
        ),
        ("a window", CachedAttentionDescriptor(window=2), 3, [5, 4], None, False, False),
        (
            "a soft cap and a mask",
            CachedAttentionDescriptor(softcap=0.5),
            2,
            [5, 3],
            seen,
            False,
            False,
        ),
        ("a mask that is added", CachedAttentionDescriptor(), 2, [5, 4], added, False, False),
        ("sinks", CachedAttentionDescriptor(window=1), 2, [5, 2], None, True, False),
        ("queries before the first key", CachedAttentionDescriptor(), 3, [2, 0], None, True, True),
        ("an empty cache", CachedAttentionDescriptor(), 1, [0], None, False, True),
    ]
    for name, d, queries, counts, mask, has_sink, edge in rows:
        q = values(data_type, (2, 4, queries, 3), seed=1)
        k = values(data_type, (2, 2, 5, 3), seed=2)
        v = values(data_type, (2, 2, 5, 4), seed=3)
        lengths = tensor(DataType.SIGNED64 if queries > 1 else DataType.SIGNED32, np.array(counts))
        expected = _attend_in_cache(
            d,
            (q.real, k.real, v.real),
            np.broadcast_to(lengths.stored, 2),
            None if mask is None else mask.real,
            sink.real if has_sink else None,
        )
        operands = {"query": q, "key": k, "value": v, "lengths": lengths}
        operands |= {} if mask is None else {"mask": mask}
        operands |= {"sink": sink} if has_sink else {}
        yield case(
            data_type, name, d, operands, expected, tolerance=_COARSE.get(data_type), edge=edge
        )


@cases(RotaryEmbeddingDescriptor, types=REAL)
def rotary_embedding(data_type: DataType) -> Iterator[LayerCase]:
    """Cover pairs side by side and apart, with angles.

    Angles are per item and shared; some numbers stay; there is a case of one step.
    """
    for name, shape, angles, interleaved, edge in (
        ("pairs apart", (2, 3, 4, 6), (4, 3), False, False),
        ("pairs side by side", (2, 3, 4, 6), (4, 3), True, False),
        ("angles for each item", (2, 1, 3, 4), (2, 3, 2), False, False),
        ("what lies behind stays", (1, 2, 3, 7), (1, 3, 2), True, True),
        ("one step", (1, 1, 1, 2), (1, 1), False, True),
    ):
        x = values(data_type, shape, seed=1)
        turned = np.random.default_rng(4).uniform(-3, 3, angles)
        cos, sin = tensor(data_type, np.cos(turned)), tensor(data_type, np.sin(turned))
        d = RotaryEmbeddingDescriptor(interleaved=interleaved)
        expected = _turn(x.real, cos.real, sin.real, interleaved)
        yield case(
            data_type, name, d, [x, cos, sin], expected, tolerance=_COARSE.get(data_type), edge=edge
        )


def _turn(
    x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], interleaved: bool
) -> NDArray[np.float64]:
    result = x.copy()
    pairs = cos.shape[-1]
    for n, h, s, p in np.ndindex(*x.shape[:3], pairs):
        first, second = (2 * p, 2 * p + 1) if interleaved else (p, p + pairs)
        at = (n if cos.shape[0] > 1 else 0, s, p) if cos.ndim == 3 else (s, p)
        a, b, c, d = x[n, h, s, first], x[n, h, s, second], cos[at], sin[at]
        result[n, h, s, first] = a * c - b * d
        result[n, h, s, second] = a * d + b * c
    return result
