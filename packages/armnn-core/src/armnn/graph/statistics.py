# SPDX-License-Identifier: MIT
"""The size of a network: parameters and multiply-adds, per layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from armnn.graph.layer import Layer, Value
from armnn.graph.network import Network
from armnn.layers import Inputs


def has_multiply_adds(layer: Layer) -> bool:
    """Return whether layers of that type multiply and add."""
    return layer.spec.multiply_adds is not None


def multiply_adds_of(layer: Layer) -> int | None:
    """Return the multiplications whose products a layer adds up.

    None where a shape that they depend on is not known. Only layers that sum products
    (convolutions, matrix products, attention, recurrent layers) have any; zero padding counts as
    data, as is usual.
    """
    count = layer.spec.multiply_adds
    if count is None:
        return 0
    inputs, outputs = layer.input_infos, layer.output_infos
    if not all(info is None or info.is_static for info in (*inputs, *outputs)):
        return None
    return count(layer.descriptor, Inputs(layer.spec, inputs, ()), outputs)


@dataclass(frozen=True, slots=True)
class LayerStatistics:
    """The size of one layer.

    Attributes:
        layer: The layer.
        parameters: The elements of the constants that it computes with.
        own_parameters: The parameters that no layer before it computes with.
        multiply_adds: The multiplications whose products it adds up; see
            :func:`armnn.graph.statistics.multiply_adds_of`.
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
        parameter_bytes: Their bytes in memory.
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
