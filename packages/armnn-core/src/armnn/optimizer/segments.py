# SPDX-License-Identifier: MIT
"""Cutting a network behind layers of data-dependent shapes."""

from __future__ import annotations

from collections.abc import Iterable

from armnn.graph import Layer, Network, Value
from armnn.optimizer.prepared import Segments
from armnn.optimizer.shapes.branches import CONTROL_FLOW
from armnn.optimizer.shapes.deferred import deferred_operator


def split(network: Network) -> Segments:
    """Cut a specialised network behind the layers of known inputs.

    A layer is in the head if the shapes of its inputs are known and so are those of its outputs,
    or if its outputs are the data-dependent ones that the rest waits for (NonZero). Branches wait
    for their condition, deferred operators for what they await.
    """
    order = network.topological_order()
    if all(map(_is_settled, order)):
        return Segments(network, None)
    inside: dict[Layer, None] = {}
    for layer in order:
        if _can_be_prepared(layer) and all(v is None or v.producer in inside for v in layer.inputs):
            inside[layer] = None
    head = list(inside)
    rest = [layer for layer in order if layer not in inside]
    if not rest:
        return Segments(network, None)
    crossing = _crossing(rest, inside)
    names = {value: f"{value.name} (crossing {i})" for i, value in enumerate(crossing)}
    return Segments(_head(network, head, names), _rest(network, rest, names), tuple(names.values()))


def _is_settled(layer: Layer) -> bool:
    """Return whether a layer is ready if its producers are."""
    if layer.type in CONTROL_FLOW or layer.compiled is not None:
        return False
    for value in layer.outputs:  # noqa: SIM110  # a generator takes twice the time
        if not value.info.is_static:
            return False
    return True


def _can_be_prepared(layer: Layer) -> bool:
    if layer.type in CONTROL_FLOW or deferred_operator(layer) is not None:
        return False
    if not all(info is None or info.is_static for info in layer.input_infos):
        return False
    return layer.spec.data_dependent or all(info.is_static for info in layer.output_infos)


def _crossing(rest: Iterable[Layer], head: dict[Layer, None]) -> tuple[Value, ...]:
    return tuple(
        dict.fromkeys(
            value
            for layer in rest
            for value in layer.inputs
            if value is not None and value.producer in head and value.constant is None
        )
    )


def _head(network: Network, layers: list[Layer], names: dict[Value, str]) -> Network:
    part = Network(network.name, network.metadata)
    values = part.insert_copies(layers, {})
    for value, name in names.items():
        part.add_output(name, values[value])
    part.remove_unused()
    return part


def _rest(network: Network, layers: list[Layer], names: dict[Value, str]) -> Network:
    part = Network(f"{network.name} (rest)", network.metadata)
    values = {value: part.add_input(name, value.info) for value, name in names.items()}
    constants = dict.fromkeys(
        value.producer
        for layer in layers
        for value in layer.inputs
        if value is not None and value.constant is not None
    )
    part.insert_copies([*constants, *layers], values)
    return part
