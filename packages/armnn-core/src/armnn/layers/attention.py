# SPDX-License-Identifier: MIT
"""The layers of transformers: Attention, CachedAttention and RotaryEmbedding.

Names in the shapes: N items of the batch, H heads of the queries, G heads of keys and values, S
queries, L keys, D numbers of a query or key, V of a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    is_multiple,
    known_better,
    require_broadcast,
    require_rank,
    require_shape,
    same_dimension,
)
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, result, slot
from armnn.tensor import TensorInfo, format_shape


def _attended(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    query, key = require_rank(inputs, "query", 4), require_rank(inputs, "key", 4)
    batch, heads, queries, size = query
    value = require_rank(inputs, "value", 4)
    require_shape(inputs, "key", (batch, key[1], key[2], size))
    require_shape(inputs, "value", (batch, key[1], key[2], value[3]))
    if not is_multiple(heads, key[1]):
        raise ShapeError(
            f"the queries of shape {format_shape(query)} have {heads} heads: expected a "
            f"multiple of the {key[1]} heads of the keys"
        )
    if inputs.get("mask") is not None:
        require_broadcast(inputs, "mask", (batch, heads, queries, key[2]))
    return [(known_better(batch, key[0]), heads, queries, value[3])]


def _attention_products(
    _descriptor: Descriptor, inputs: Inputs, _outputs: Sequence[TensorInfo]
) -> int:
    """Count multiply-adds: each query with every key and value."""
    *heads, queries, size = inputs.sizes("query")
    keys, values = inputs.sizes("value")[-2:]
    return math.prod(heads) * queries * keys * (size + values)


@layer(
    1019,
    inputs=[
        slot("query", "Shape [N,H,S,D]."),
        slot("key", "[N,G,L,D]; H is a multiple of G."),
        slot("value", "Shape [N,G,L,V]."),
        slot(
            "mask",
            "Broadcasts to [N,H,S,L]: Boolean, which keys a query sees, or numbers that are added "
            "to the scores.",
            optional=True,
        ),
    ],
    outputs=[result("output", "Shape [N,H,S,V].", like="query")],
    infer=_attended,
    numerics=Numerics(overflows="scores are sums of products in float32"),
    axes="batch, heads, positions and features",
    multiply_adds=_attention_products,
)
class AttentionDescriptor(Descriptor):
    """softmax(scale * query * key^T + mask) * value, in heads.

    Vaswani et al. 2017; ONNX: Attention-24. With fewer heads of keys than of queries, H / G
    neighboring heads share one (Ainslie et al. 2023). The output of a query that sees no key is 0.

    Attributes:
        scale: The factor of the scores; 0 for 1 / sqrt(D).
        causal: Whether query i sees the keys up to i only.
        causal_from_end: Whether the last query is beside the last key instead, so that query i
            sees the keys up to i + L - S: those before the queries come from a cache.
        softcap: The scores become softcap * tanh(score / softcap) before the mask; 0 for not.
    """

    scale: float = parameter(0.0, at_least=0)
    causal: bool = False
    causal_from_end: bool = False
    softcap: float = parameter(0.0, at_least=0)


def _attended_in_cache(descriptor: CachedAttentionDescriptor, inputs: Inputs) -> Shapes:
    shapes = _attended(descriptor, inputs)
    batch, heads = inputs.shape("query")[:2]
    require_broadcast(inputs, "lengths", (known_better(batch, inputs.shape("key")[0]),))
    require_shape(inputs, "sink", (heads,))
    return shapes


@layer(
    1033,
    inputs=[
        slot("query", "Shape [N,H,S,D]."),
        slot("key", "[N,G,L,D], a cache of up to L keys; H is a multiple of G."),
        slot("value", "Shape [N,G,L,V]."),
        slot(
            "lengths",
            "[N], or one for all items: integers, how many keys count. The last query is beside "
            "the last of these.",
        ),
        slot(
            "mask",
            "Broadcasts to [N,H,S,L]: Boolean, which keys a query sees, or numbers that are added "
            "to the scores.",
            optional=True,
        ),
        slot(
            "sink",
            "[H], a score of each head without a value, which takes its share of the weights.",
            optional=True,
        ),
    ],
    outputs=[result("output", "Shape [N,H,S,V].", like="query")],
    infer=_attended_in_cache,
    numerics=Numerics(overflows="scores are sums of products in float32"),
    axes="batch, heads, positions and features",
    multiply_adds=_attention_products,
)
class CachedAttentionDescriptor(Descriptor):
    """Attention to the first keys of a cache; an input has their number.

    ONNX: Attention-24 with nonpad_kv_seqlen; onnxruntime: GroupQueryAttention. The cache has a
    capacity, so no step of a decoder has a new shape: TensorScatter writes keys and values into it,
    and ``lengths`` counts them. What is behind them is not read. Query i is at position p = lengths
    - S + i. The output of a query that sees no key is 0. A length above L or below 0 is an error.

    Attributes:
        scale: The factor of the scores; 0 for 1 / sqrt(D).
        causal: Whether a query sees the keys up to its position p only.
        window: How many keys before and at its position a query sees, those above p - window; 0 for
            all.
        softcap: The scores become softcap * tanh(score / softcap) before the mask; 0 for not.
    """

    scale: float = parameter(0.0, at_least=0)
    causal: bool = True
    window: int = parameter(0, at_least=0)
    softcap: float = parameter(0.0, at_least=0)


def _rotated(_descriptor: RotaryEmbeddingDescriptor, inputs: Inputs) -> Shapes:
    shape = require_rank(inputs, "input", 4)
    cosines = require_rank(inputs, "cos", 2, 3)
    pairs = cosines[-1]
    require_broadcast(inputs, "cos", (shape[0], shape[2], pairs))
    if not same_dimension(cosines[-2], shape[2]):
        raise ShapeError(
            f"the input 'cos' has shape {format_shape(cosines)}: expected {shape[2]} positions, as "
            f"the input of shape {format_shape(shape)} has"
        )
    require_shape(inputs, "sin", cosines)
    if isinstance(pairs, int) and isinstance(shape[3], int) and 2 * pairs > shape[3]:
        raise ShapeError(
            f"the input 'cos' of shape {format_shape(cosines)} turns {2 * pairs} numbers: the "
            f"input of shape {format_shape(shape)} has {shape[3]}"
        )
    return [shape]


@layer(
    1020,
    inputs=[
        slot("input", "Shape [N,H,S,D]."),
        slot("cos", "[N,S,P], [1,S,P] or [S,P]: the cosines of P angles for each position."),
        slot("sin", "The sines, of the same shape."),
    ],
    infer=_rotated,
    numerics=Numerics(terms=2),
    axes="batch, heads, positions and features",
)
class RotaryEmbeddingDescriptor(Descriptor):
    """Rotary position embedding: pairs of numbers turned by angles.

    Su et al. 2021; ONNX: RotaryEmbedding. (a, b) becomes (a * cos - b * sin, a * sin + b * cos) for
    the first P pairs; the other elements stay.

    Attributes:
        interleaved: Whether a pair stands side by side, else P numbers apart.
    """

    interleaved: bool = False
