# SPDX-License-Identifier: MIT
"""The multiply-adds of a layer, by its type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from armnn.graph.layer import Layer
    from armnn.layers.convolution import TransposeConvolution2dDescriptor
    from armnn.layers.matmul import EinsumDescriptor


def has_multiply_adds(layer: Layer) -> bool:
    """Return whether layers of that type multiply and add."""
    return layer.type in _MULTIPLY_ADDS


def multiply_adds_of(layer: Layer) -> int | None:
    """Return the multiplications whose products a layer adds up.

    None where a shape that they depend on is not known. Only layers that sum products
    (convolutions, matrix products, attention, recurrent layers) have any; zero padding counts as
    data, as is usual.
    """
    count = _MULTIPLY_ADDS.get(layer.type)
    if count is None:
        return 0
    infos = [*layer.input_infos, *layer.output_infos]
    if not all(info is None or info.is_static for info in infos):
        return None
    return count(layer)


def _shape(layer: Layer, name: str) -> tuple[int, ...]:
    """Return the shape of an input.

    An absent one has no elements.
    """
    value = layer.input(name)
    return (0,) if value is None else value.info.static_shape


def _convolution(layer: Layer) -> int:
    """Count multiply-adds with weights [O, ...].

    Each output element sums over all but the output channels.
    """
    return layer.output.info.num_elements * math.prod(_shape(layer, "weights")[1:])


def _depthwise(layer: Layer) -> int:
    """Count multiply-adds with weights [1, KH, KW, I*M].

    Each output element sums over one window.
    """
    return layer.output.info.num_elements * math.prod(_shape(layer, "weights")[1:3])


def _transpose_convolution(layer: Layer) -> int:
    """Count multiply-adds with weights [O, ...], transposed.

    Each input position is multiplied by a window of every output channel.
    """
    descriptor = cast("TransposeConvolution2dDescriptor", layer.descriptor)
    shape = _shape(layer, "input")
    channel_axis = descriptor.data_layout.channel_axis
    positions = [size for axis, size in enumerate(shape) if axis != channel_axis]
    return math.prod(positions) * math.prod(_shape(layer, "weights"))


def _convolution3d(layer: Layer) -> int:
    """Count multiply-adds with weights [KD, KH, KW, I, O].

    Each output element sums over all but the last axis.
    """
    return layer.output.info.num_elements * math.prod(_shape(layer, "weights")[:-1])


def _fully_connected(layer: Layer) -> int:
    """Count multiply-adds: each output row takes the matrix once."""
    return math.prod(layer.output.info.static_shape[:-1]) * math.prod(_shape(layer, "weights"))


def _batch_matmul(layer: Layer) -> int:
    """Count multiply-adds: the output's elements times K.

    The last two axes of the first operand are M and K, in either order; M is the output's.
    """
    output = layer.output.info
    rows = output.static_shape[-2]
    summed = math.prod(_shape(layer, "input")[-2:]) // rows if rows else 0
    return output.num_elements * summed


def _recurrent(layer: Layer) -> int:
    """Count multiply-adds: each step takes every matrix once.

    The same holds for peephole vectors.
    """
    weights = [
        math.prod(_shape(layer, input_slot.name))
        for input_slot in layer.spec.inputs
        if input_slot.name.endswith("_weights") and "layer_norm" not in input_slot.name
    ]
    return math.prod(_shape(layer, "input")[:-1]) * sum(weights)


def _mat_mul_integer(layer: Layer) -> int:
    """Count multiply-adds: the output's elements times K."""
    return layer.output.info.num_elements * _shape(layer, "input")[-1]


def _einsum(layer: Layer) -> int:
    """Count multiply-adds: each element sums over the other labels.

    A term after the second one takes one more product per number that is summed.
    """
    from armnn.layers.matmul import ELLIPSIS  # late: few models have an Einsum

    descriptor = cast("EinsumDescriptor", layer.descriptor)
    terms, output = descriptor.terms()
    summed: dict[str, int] = {}
    for term, info in zip(terms, layer.input_infos, strict=True):
        before, _, after = term.partition(ELLIPSIS)
        shape = () if info is None else info.static_shape
        ends = shape[: len(before)] + shape[len(shape) - len(after) :]
        for label, size in zip(before + after, ends, strict=True):
            if label not in output:
                summed[label] = max(size, summed.get(label, 0))
    products = layer.output.info.num_elements * math.prod(summed.values())
    return products * (len(terms) - 1)


def _attention(layer: Layer) -> int:
    """Count multiply-adds: each query with every key and value."""
    *heads, queries, size = _shape(layer, "query")
    keys, values = _shape(layer, "value")[-2:]
    return math.prod(heads) * queries * keys * (size + values)


def _sequence(layer: Layer) -> int:
    """Count multiply-adds: each step takes every matrix once.

    The matrices of both directions are in one input.
    """
    weights = (_shape(layer, name) for name in ("weights", "recurrent_weights"))
    peepholes = "peephole_weights" in (slot.name for slot in layer.spec.inputs)
    numbers = sum(map(math.prod, weights))
    numbers += math.prod(_shape(layer, "peephole_weights")) if peepholes else 0
    return math.prod(_shape(layer, "input")[:2]) * numbers


_MULTIPLY_ADDS: dict[str, Callable[[Layer], int]] = {
    "Convolution2d": _convolution,
    "DepthwiseConvolution2d": _depthwise,
    "TransposeConvolution2d": _transpose_convolution,
    "Convolution3d": _convolution3d,
    "ConvolutionInteger": _convolution,
    "FullyConnected": _fully_connected,
    "BatchMatMul": _batch_matmul,
    "Einsum": _einsum,
    "MatMulInteger": _mat_mul_integer,
    "Attention": _attention,
    "Lstm": _recurrent,
    "QLstm": _recurrent,
    "QuantizedLstm": _recurrent,
    "UnidirectionalSequenceLstm": _recurrent,
    "Rnn": _sequence,
    "Gru": _sequence,
    "SequenceLstm": _sequence,
}
