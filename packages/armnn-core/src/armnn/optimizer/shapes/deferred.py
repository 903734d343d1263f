# SPDX-License-Identifier: MIT
"""Deferred operators: awaited data and the layers they become."""

from __future__ import annotations

from armnn.errors import ParseError
from armnn.graph import DeferredOperator, Layer, Network, Value


def deferred_operator(layer: Layer) -> DeferredOperator | None:
    """Return a StandIn layer's operator, None for other layers."""
    held = layer.compiled  # None of nearly all, and to ask an abstract class takes long
    return held if held is not None and isinstance(held, DeferredOperator) else None


def awaited_values(layer: Layer) -> tuple[Value, ...]:
    """Return the inputs whose data a deferred operator still awaits."""
    operator = deferred_operator(layer)
    if operator is None:
        return ()
    awaited = (layer.inputs[index] for index in operator.awaits)
    return tuple(value for value in awaited if value is not None and value.constant is None)


def resolve_deferred(network: Network, layer: Layer) -> tuple[Layer, ...]:
    """Replace a deferred operator by layers, if possible.

    Args:
        network: Is changed.
        layer: Any layer.

    Returns:
        The layers that are new, in topological order; none if the operator still waits.

    Raises:
        ParseError: The operator cannot be computed with these shapes and values, or became values
            that are stored in another way than declared.
    """
    operator = deferred_operator(layer)
    if operator is None:
        return ()
    inputs = [value for value in layer.inputs if value is not None]
    if awaited_values(layer) or not all(value.info.is_static for value in inputs):
        return ()
    before = len(network)
    values = operator.resolve(network, inputs)
    for old, new in zip(layer.outputs, values, strict=True):
        if old.info.data_type.numpy_dtype != new.info.data_type.numpy_dtype:
            raise ParseError(
                f"the output {old.name!r} of the operator {operator.operator} is "
                f"{new.info.data_type.arm_name}: the model says {old.info.data_type.arm_name}"
            )
        network.replace_uses(old, new)
    return network.layers[before:]
