# SPDX-License-Identifier: MIT
"""Attention to caches of keys and values, and rotary embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from armnn.layers.attention import CachedAttentionDescriptor, RotaryEmbeddingDescriptor
from armnn.types import DataType
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.elements import INDICES, INTEGERS, REALS, accessors, elements_of
from armnn_backend_cl.launches import Check, In, Launch, Out, Refused
from armnn_backend_cl.layers.table import lowers, program, require, shape_of
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer

_MOST: Final = 1024
"""The most numbers of a query or a value: a group keeps one query in local memory."""


@lowers("CachedAttention")
def cached_attention(layer: Layer) -> Sequence[Launch]:
    """Weight the values of the keys that count."""
    require(layer, *REALS, but=["lengths", "mask"])
    require(layer, *INDICES, but=["query", "key", "value", "mask", "sink", "output"])
    require(layer, *REALS, DataType.BOOLEAN, but=["lengths"])
    d = cast("CachedAttentionDescriptor", layer.descriptor)
    q, k, v = (shape_of(info) for info in layer.input_infos[:3])
    (items, heads, queries, size), (_, groups, keys, _), values = q, k, v[3]
    if not 0 < size <= _MOST or values > _MOST:
        raise Refused(f"queries have {size} numbers and values {values}, expected 1 to {_MOST}")
    lengths, mask, sink = (layer.input(name) for name in ("lengths", "mask", "sink"))
    assert lengths is not None
    macros: dict[str, object] = {"GROUP": GROUP, "SIZE": size, "SHARE": -(-max(values, 1) // GROUP)}
    macros["I"] = INTEGERS[lengths.info.data_type]
    strides: tuple[int, ...] = (0,) * 4
    if mask is not None:
        macros["MASKED" if mask.info.data_type is DataType.BOOLEAN else "ADDED"] = 1
        strides = View.of(shape_of(mask.info)).broadcast((items, heads, queries, keys)).strides
    macros |= {} if sink is None else {"SUNK": 1}
    given = layer.input_infos
    text = accessors(
        q=elements_of(given[0]),
        k=elements_of(given[1]),
        v=elements_of(given[2]),
        mask=elements_of(given[0] if mask is None else mask.info),
        sink=elements_of(given[0] if sink is None else sink.info),
        y=elements_of(layer.output_infos[0]),
    )
    check = Check(
        f"layer {layer.name!r} ({layer.type}): a cache of {keys} keys cannot have {{}}: expected 0 "
        f"to {keys}"
    )
    arguments = (
        In(0),
        In(1),
        In(2),
        In(3),
        In(0 if mask is None else 4),
        In(0 if sink is None else 5),
        Out(0),
        check,
        heads,
        groups,
        queries,
        keys,
        values,
        int(lengths.info.num_elements != 1),
        (*strides, 0, 0, 0, 0),
        d.scale or 1 / math.sqrt(size),
        d.softcap,
        int(d.causal),
        d.window,
    )
    source = program(text, "tree.cl", "attention.cl", **macros)
    rows = items * heads * queries if values else 0
    return [Launch(source, "attend_in_cache", arguments, rows, groups=True)]


@lowers("RotaryEmbedding")
def rotary_embedding(layer: Layer) -> Sequence[Launch]:
    """Turn pairs of features by angles."""
    require(layer, *REALS)
    d = cast("RotaryEmbeddingDescriptor", layer.descriptor)
    x, cosines, sines = layer.input_infos
    (items, heads, positions, features), pairs = shape_of(x), shape_of(cosines)[-1]
    angles = View.of(shape_of(cosines)).broadcast((items, positions, pairs))
    of_item, of_position, _ = angles.strides
    sizes, (strides,) = walked(View((items, heads, positions), (of_item, 0, of_position)))
    y = layer.output_infos[0]
    text = accessors(
        x=elements_of(x), cosines=elements_of(cosines), sines=elements_of(sines), y=elements_of(y)
    )
    arguments = (
        In(0),
        In(1),
        In(2),
        Out(0),
        y.num_elements,
        features,
        pairs,
        1 if d.interleaved else pairs,
        sizes,
        strides,
    )
    return [Launch(program(text, "rotary.cl"), "rotate_pairs", arguments, y.num_elements)]
