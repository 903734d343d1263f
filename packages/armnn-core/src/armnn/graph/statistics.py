# SPDX-License-Identifier: MIT
"""The size of a network: parameters and multiply-adds, per layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from armnn._dataclasses import dataclass
from armnn.layers.matmul import ELLIPSIS

if TYPE_CHECKING:
    from armnn.graph.layer import Layer, Value
    from armnn.graph.network import Network
    from armnn.layers.convolution import TransposeConvolution2dDescriptor
    from armnn.layers.matmul import EinsumDescriptor


@dataclass(frozen=True, slots=True)
class LayerStatistics:
    """The size of one layer.

    Attributes:
        layer: The layer.
        parameters: The elements of the constants that it computes with.
        own_parameters: Those of them that no layer before it computes with.
        multiply_adds: The multiplications whose products it adds up, None where a shape that they
            depend on is not known. Only layers that sum products (convolutions, matrix products,
            attention, recurrent layers) have any; zero padding counts as data, as is usual.
    """

    layer: Layer
    parameters: int
    own_parameters: int
    multiply_adds: int | None


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """The size of a network.

    Attributes:
        layers: One entry per layer that computes, in topological order.
        parameters: The elements of its constants, each constant counted once.
        parameter_bytes: What they take in memory.
        multiply_adds: The sum over the layers, None if it is not known for one of them.
    """

    layers: tuple[LayerStatistics, ...]
    parameters: int
    parameter_bytes: int
    multiply_adds: int | None


def statistics_of(network: Network) -> NetworkStatistics:
    """Count the parameters and the multiply-adds of a network."""
    layers = [
        layer
        for layer in network.topological_order()
        if layer.type not in ("Input", "Output", "Constant")
    ]
    seen: dict[int, Value] = {}  # by the data itself: two constants may be one array
    rows = []
    for layer in layers:
        values = _parameters(layer)
        own = {id(v.constant): v for v in values if id(v.constant) not in seen}
        seen |= own
        rows.append(
            LayerStatistics(layer, _count(values), _count(own.values()), multiply_adds_of(layer))
        )
    known = [row.multiply_adds for row in rows if row.multiply_adds is not None]
    return NetworkStatistics(
        tuple(rows),
        _count(seen.values()),
        sum(value.info.size_bytes for value in seen.values()),
        sum(known) if len(known) == len(rows) else None,
    )


def has_multiply_adds(layer: Layer) -> bool:
    """Return whether layers of that type multiply and add."""
    return layer.type in _MULTIPLY_ADDS


def multiply_adds_of(layer: Layer) -> int | None:
    """Return the multiply-adds of one layer; see :class:`LayerStatistics`."""
    count = _MULTIPLY_ADDS.get(layer.type)
    if count is None:
        return 0
    infos = [*layer.input_infos, *layer.output_infos]
    if not all(info is None or info.is_static for info in infos):
        return None
    return count(layer)


def _parameters(layer: Layer) -> tuple[Value, ...]:
    """Return a layer's constants, each once, without shapes."""
    return tuple(
        dict.fromkeys(
            value
            for index, value in enumerate(layer.inputs)
            if value is not None
            and value.constant is not None
            and not layer.spec.input_slot(index).shapes_output
        )
    )


def _count(values: Iterable[Value]) -> int:
    return sum(value.info.num_elements for value in values)


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
