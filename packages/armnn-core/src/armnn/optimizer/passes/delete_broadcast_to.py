# SPDX-License-Identifier: MIT
"""Let broadcasting layers read a BroadcastTo's input."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.layers.reshaping import BroadcastToDescriptor
from armnn.optimizer.passes._pattern import first_input, may_absorb, rewire, walk

_BROADCASTING = (
    "Addition",
    "Comparison",
    "Division",
    "ElementwiseBinary",
    "LogicalBinary",
    "Maximum",
    "Minimum",
    "Multiplication",
    "Prelu",
    "Subtraction",
    "Where",
)


def delete_broadcast_to(network: Network) -> int:
    """Remove BroadcastTo before layers that broadcast themselves.

    (Arm NN: BroadcastToOptimizationLayer.) These layers broadcast by NumPy's rules. It must be
    known that the shape of their output stays. A BroadcastTo that others read too stays for them.

    Returns:
        How many inputs were replaced.
    """
    wide = [layer.output for layer in walk(network, BroadcastToDescriptor)]
    readers = dict.fromkeys(reader for value in wide for reader, _ in value.uses)
    return sum(
        _skip(network, layer, index)
        for layer in (walk(network) if readers else ())
        if layer in readers and layer.type in _BROADCASTING
        for index in range(len(layer.inputs))
    )


def _skip(network: Network, layer: Layer, index: int) -> bool:
    wide = layer.inputs[index]
    if wide is None or not isinstance(wide.producer.descriptor, BroadcastToDescriptor):
        return False
    if not layer.output.info.is_static:
        return False
    source = first_input(wide.producer)
    if not source.info.is_type_space_match(wide.info) or not may_absorb(layer, wide.producer):
        return False
    inputs = [*layer.inputs[:index], source, *layer.inputs[index + 1 :]]
    return rewire(network, layer, inputs, layer.descriptor)
