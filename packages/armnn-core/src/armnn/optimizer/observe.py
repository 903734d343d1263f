# SPDX-License-Identifier: MIT
"""Debug layers behind the layers of a network."""

from __future__ import annotations

from dataclasses import dataclass

from armnn.graph import Network, Value


@dataclass(frozen=True, slots=True)
class Observation:
    """The tensor that an inserted Debug layer shows.

    The Debug layer holds it in ``compiled``; the runtime itself runs such a layer.

    Attributes:
        layer: The name of the layer that makes the tensor.
        slot: Which of its outputs it is.
    """

    layer: str
    slot: int


def insert_debug(network: Network) -> int:
    """Insert a Debug layer behind each output that is read.

    (Arm NN: InsertDebugLayer, InsertDebugToFileLayer.) Constants and what no layer reads are not
    shown. The name of a Debug layer is Arm NN's: "DebugLayerAfter", the layer's name, its output.

    Returns:
        How many were inserted.
    """
    values = [
        value
        for layer in network.topological_order()
        if layer.data is None and layer.type != "Debug"
        for value in layer.outputs
        if value.uses and not any(reader.type == "Debug" for reader, _ in value.uses)
    ]
    for value in values:
        _observe(network, value)
    return len(values)


def _observe(network: Network, value: Value) -> None:
    readers = tuple(value.uses)
    observation = Observation(value.producer.name, value.index)
    name = network.unique_name(f"DebugLayerAfter{observation.layer}_{observation.slot}")
    debug = network.add("Debug", [value], name=name)
    debug.compiled = observation
    for layer, index in readers:
        network.replace_input(layer, index, debug.output)
