# SPDX-License-Identifier: MIT
"""Caches: inputs of which an output is a copy with some rows replaced, in place if possible.

Such a pair is a state that fills up where the rows follow each other: each run writes its own
behind those of earlier runs (TensorScatter), and layers read as many as there are
(CachedAttention).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from armnn.graph import Layer, Network, Value
from armnn.optimizer.plan import Cache, in_place_outputs

_PASSED_ON: Final = ("BroadcastTo", "Cast", "Reshape")
"""The layers through which a number goes as it is."""


def caches_of(network: Network) -> dict[str, Cache]:
    """Return the caches of a network, by input.

    The memory of each may be that of its output: no other layer reads the input.
    """
    return dict(_caches(network))


def _caches(network: Network) -> Iterator[tuple[str, Cache]]:
    in_place = in_place_outputs(network)
    for port in network.outputs:
        (made,) = port.inputs
        if made is None or port.name not in in_place:
            continue
        name, layer = in_place[port.name], made.producer
        (source,) = (each.output for each in network.inputs if each.name == name)
        rank = source.info.rank
        if rank is None or layer.type != "TensorScatter":
            yield name, Cache(port.name, 0, None, "", ())
            continue
        axis = layer.descriptor.axis % rank  # type: ignore[attr-defined]  # of a TensorScatter
        is_circular = layer.descriptor.circular  # type: ignore[attr-defined]  # as above
        rows = _rows(network, layer, axis)
        position = _input_of(layer.input("positions"))
        if rows is None or is_circular:
            position = ""
        lengths = [
            _input_of(reader.input("lengths"))
            for reader in made.consumers
            if any(slot.name == "lengths" for slot in reader.spec.inputs)
        ]
        counted = tuple(dict.fromkeys(name for name in lengths if name not in ("", position)))
        yield name, Cache(port.name, axis, rows, position, counted)


def _rows(network: Network, layer: Layer, axis: int) -> int | tuple[str, int] | None:
    """Return how many rows a run writes, or the input and the axis that say so."""
    updates = layer.input("updates")
    shape = None if updates is None else updates.info.shape
    size = None if shape is None else shape[axis]
    if size is None or isinstance(size, int):
        return size
    for each in network.inputs:
        for place, dim in enumerate(each.output.info.shape or ()):
            if dim == size:
                return each.name, place
    return None


def _input_of(value: Value | None) -> str:
    """Return the input that a number comes from as it is, "" for none."""
    while value is not None and value.producer.type in _PASSED_ON:
        value = value.producer.inputs[0]
    if value is None or value.producer.type != "Input" or not value.info.data_type.is_integer:
        return ""
    return value.producer.name
