# SPDX-License-Identifier: MIT
"""Queries and edits of networks that passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.graph._order import Kinds
from armnn.layers import Descriptor, LayerType, infer_outputs
from armnn.layers.elementwise import (
    AdditionDescriptor,
    DivisionDescriptor,
    ElementwiseBinaryDescriptor,
    MaximumDescriptor,
    MinimumDescriptor,
    MultiplicationDescriptor,
    SubtractionDescriptor,
)
from armnn.types import BinaryOperation

_BINARY_LAYERS = {
    AdditionDescriptor: BinaryOperation.ADD,
    DivisionDescriptor: BinaryOperation.DIV,
    MaximumDescriptor: BinaryOperation.MAXIMUM,
    MinimumDescriptor: BinaryOperation.MINIMUM,
    MultiplicationDescriptor: BinaryOperation.MUL,
    SubtractionDescriptor: BinaryOperation.SUB,
}
"""The layer types that Arm NN had before ElementwiseBinary."""


BINARY: tuple[type[Descriptor], ...] = (ElementwiseBinaryDescriptor, *_BINARY_LAYERS)
"""The descriptors of layers that :func:`binary_operation` knows."""


def walk(network: Network, kinds: Kinds | None = None) -> Iterator[Layer]:
    """Yield the layers that compute something, in topological order.

    Layers that the caller removes meanwhile are left out, and new layers are not visited.

    Args:
        network: The network.
        kinds: The descriptors of the layers that are wanted.
    """
    for layer in network.topological_order().computing(kinds):
        if layer in network:
            yield layer


def holds(network: Network, kinds: Kinds, are_wanted: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a network has a layer of some kinds.

    A pass that needs one has nothing to look for without it.

    Args:
        network: The network.
        kinds: The descriptors of the layers.
        are_wanted: Says of such parameters whether they count.
    """
    found = network.topological_order().computing(kinds)
    return bool(found) if are_wanted is None else any(are_wanted(each.descriptor) for each in found)


def first_input(layer: Layer) -> Value:
    """Return the value in a layer's required first input slot."""
    return cast("Value", layer.inputs[0])


def only_reader(value: Value) -> Layer | None:
    """Return a value's reader, None if there are several."""
    if len(value.uses) != 1:
        return None
    ((reader, _),) = value.uses
    return reader


def may_absorb(layer: Layer, other: Layer) -> bool:
    """Return whether backend hints allow merging two layers.

    The other one's hint would be lost, so it must have none or the same.
    """
    return other.backend_hint in (None, layer.backend_hint)


def awaits_parameters(layer: Layer) -> bool:
    """Return whether a parameter is the value of an input.

    The descriptor alone is incomplete then.
    """
    return layer.spec.has_filling and any(
        value is not None and layer.spec.input_slot(index).fills is not None
        for index, value in enumerate(layer.inputs)
    )


def binary_operation(layer: Layer) -> BinaryOperation | None:
    """Return a layer's binary operation, None if it has none."""
    if isinstance(layer.descriptor, ElementwiseBinaryDescriptor):
        return layer.descriptor.operation
    return _BINARY_LAYERS.get(type(layer.descriptor))


@dataclass(frozen=True, slots=True, eq=False)
class NumberOperand:
    """A layer of two operands, one of them a number.

    The number is the same for all elements.

    Attributes:
        operation: The operation that it computes.
        value: The other operand.
        position: Which input ``value`` is.
        number: The number.
    """

    operation: BinaryOperation
    value: Value
    position: int
    number: float


def number_operand(layer: Layer) -> NumberOperand | None:
    """Return a layer's arithmetic with a number, None without one."""
    operation = binary_operation(layer)
    if operation is None:
        return None
    for position, value in enumerate(layer.inputs):
        data = None if value is None else value.constant
        other = layer.inputs[1 - position]
        if data is not None and data.size == 1 and other is not None:
            return NumberOperand(operation, other, 1 - position, float(data.reshape(())))
    return None


def rewire(
    network: Network, layer: Layer, inputs: Sequence[Value | None], descriptor: Descriptor
) -> bool:
    """Give a layer other inputs and parameters.

    The outputs must keep their infos, else nothing changes. Layers that nothing reads any more are
    removed.

    Returns:
        Whether it was done.
    """
    try:
        infos = infer_outputs(
            layer.spec,
            descriptor,
            [None if value is None else value.info for value in inputs],
            [None if value is None else value.constant for value in inputs],
            layer.requested,
        )
    except InvalidArgumentError:
        return False
    if infos != layer.output_infos:
        return False
    before = layer.inputs
    network.replace_inputs(layer, inputs)
    network.replace_descriptor(layer, descriptor)
    discard_unread(network, before)
    return True


def bypass(network: Network, layer: Layer, value: Value) -> None:
    """Remove a layer; its readers read ``value`` instead.

    The layer has one output.
    """
    network.replace_uses(layer.output, value)
    discard_unread(network, layer.outputs)


def replace_layer(
    network: Network,
    layer: Layer,
    layer_type: LayerType | str,
    inputs: Sequence[Value | None],
    descriptor: Descriptor,
) -> bool:
    """Replace a layer by one of another type.

    It has a single output, whose info must stay, else nothing changes. The new layer takes over
    name and hint; layers that nothing reads any more are removed.

    Returns:
        Whether it was done.
    """
    name = layer.name
    try:
        new = network.add(
            layer_type,
            inputs,
            descriptor,
            name=network.unique_name(name),
            outputs=[layer.output.info],
        )
    except InvalidArgumentError:
        return False
    if new.output.info != layer.output.info:
        network.remove(new)
        return False
    new.backend_hint = layer.backend_hint
    bypass(network, layer, new.output)
    network.rename(new, name)
    return True


def discard_unread(network: Network, values: Sequence[Value | None]) -> None:
    """Remove the producers of unread values, and their producers.

    A producer that others read stays.
    """
    pending = [value.producer for value in reversed(values) if value is not None]
    while pending:
        layer = pending.pop()
        if layer.type == "Input" or layer not in network:
            continue
        if layer.is_read:
            continue
        pending += [value.producer for value in reversed(layer.inputs) if value is not None]
        network.remove(layer)
