# SPDX-License-Identifier: MIT
"""Arithmetic that says LayerNormalization becomes the layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import ElementwiseUnaryDescriptor
from armnn.layers.normalization import LayerNormalizationDescriptor
from armnn.layers.reduction import MeanDescriptor, ReduceDescriptor
from armnn.optimizer.passes._pattern import (
    BINARY,
    awaits_parameters,
    binary_operation,
    first_input,
    holds,
    may_absorb,
    number_operand,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation, ReduceOperation, UnaryOperation


def recognize_layer_normalization(network: Network) -> int:
    """Replace (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) over the last axes.

    A factor and then an addend for the elements of these axes become gamma and beta (Ba et al.
    2016). In floating point only; nothing else may read what is computed on the way.

    Returns:
        How many layers were replaced.
    """
    if not holds(network, _NEEDED, _may_take_part):
        return 0
    return sum(
        _replace_quotient(network, layer) or _absorb_constant(network, layer)
        for layer in walk(network, BINARY)
    )


_NEEDED = (ActivationDescriptor, ElementwiseUnaryDescriptor, LayerNormalizationDescriptor)


def _may_take_part(descriptor: Any) -> bool:
    """Return whether a layer is a root, or normalises already."""
    if isinstance(descriptor, ActivationDescriptor):
        return descriptor.function is ActivationFunction.SQRT
    if isinstance(descriptor, ElementwiseUnaryDescriptor):
        return descriptor.operation in (UnaryOperation.SQRT, UnaryOperation.RSQRT)
    return True


def _replace_quotient(network: Network, layer: Layer) -> bool:
    """Replace the arithmetic up to the quotient.

    The quotient may be written as a product.
    """
    operation = binary_operation(layer)
    if operation is BinaryOperation.DIV:
        operands = _operands(layer, BinaryOperation.DIV)
        if operands is None:
            return False
        centred, root = operands
        shifted = _unary(root.producer, UnaryOperation.SQRT)
        return shifted is not None and _put(network, layer, centred, root, shifted)
    operands = _operands(layer, operation) if operation is BinaryOperation.MUL else None
    if operands is None:
        return False
    for centred, root in (operands, operands[::-1]):
        shifted = _unary(root.producer, UnaryOperation.RSQRT)
        if shifted is not None and _put(network, layer, centred, root, shifted):
            return True
    return False


def _put(network: Network, layer: Layer, centred: Value, root: Value, shifted: Value) -> bool:
    epsilon = number_operand(shifted.producer)
    if epsilon is None or epsilon.operation is not BinaryOperation.ADD or epsilon.number < 0:
        return False
    variance = epsilon.value
    square = _mean_of(variance.producer)
    difference = _operands(centred.producer, BinaryOperation.SUB)
    if square is None or difference is None or _squared(square.producer) is not centred:
        return False
    x, mean = difference
    axis = _first_axis(mean.producer)
    if _mean_of(mean.producer) is not x or axis is None:
        return False
    if axis != _first_axis(variance.producer) or x.info != layer.output.info:
        return False
    inside = [value.producer for value in (centred, square, variance, shifted, root, mean)]
    if not _are_private(inside, layer):
        return False
    descriptor = LayerNormalizationDescriptor(axis=axis, eps=epsilon.number)
    return replace_layer(network, layer, "LayerNormalization", [x, None, None], descriptor)


def _operands(layer: Layer, operation: BinaryOperation) -> tuple[Value, Value] | None:
    """Return the operands of a float layer of that operation."""
    if binary_operation(layer) is not operation or not layer.output.info.data_type.is_float:
        return None
    first, second = layer.inputs
    return None if first is None or second is None else (first, second)


def _unary(layer: Layer, operation: UnaryOperation) -> Value | None:
    """Return the operand of that function, None for other layers."""
    descriptor = layer.descriptor
    if isinstance(descriptor, ElementwiseUnaryDescriptor):
        return first_input(layer) if descriptor.operation is operation else None
    root = operation is UnaryOperation.SQRT and isinstance(descriptor, ActivationDescriptor)
    if root and descriptor == ActivationDescriptor(function=ActivationFunction.SQRT):
        return first_input(layer)
    return None


def _squared(layer: Layer) -> Value | None:
    """Return the value that is squared.

    It is squared by the activation, as a power, or times itself.
    """
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        return first_input(layer) if descriptor.function is ActivationFunction.SQUARE else None
    power = number_operand(layer)
    if power is not None and power.operation is BinaryOperation.POWER and power.number == 2:
        return power.value if power.position == 0 else None
    operands = _operands(layer, BinaryOperation.MUL)
    return operands[0] if operands is not None and operands[0] is operands[1] else None


def _mean_of(layer: Layer) -> Value | None:
    """Return the operand of a mean that keeps its axes."""
    descriptor = layer.descriptor
    if isinstance(descriptor, ReduceDescriptor):
        if descriptor.reduce_operation is not ReduceOperation.MEAN:
            return None
    elif not isinstance(descriptor, MeanDescriptor):
        return None
    return first_input(layer) if descriptor.keep_dims and not awaits_parameters(layer) else None


def _first_axis(layer: Layer) -> int | None:
    """Return the first axis of a mean over last axes."""
    descriptor = layer.descriptor
    shape = layer.output.info.shape
    if shape is None or not isinstance(descriptor, (MeanDescriptor, ReduceDescriptor)):
        return None
    rank = len(shape)
    axes = sorted(axis % rank for axis in descriptor.axis) if rank else []
    return axes[0] if axes and axes == list(range(axes[0], rank)) else None


def _are_private(inside: Sequence[Layer], last: Layer) -> bool:
    """Return whether only these layers read each other.

    No hint may keep them apart.
    """
    readers = [*inside, last]
    return all(
        may_absorb(last, layer) and all(reader in readers for reader, _ in layer.output.uses)
        for layer in inside
    )


def _absorb_constant(network: Network, layer: Layer) -> bool:
    """Make a factor gamma, or an addend beta, if possible."""
    operation = binary_operation(layer)
    if operation not in (BinaryOperation.MUL, BinaryOperation.ADD):
        return False
    for position, value in enumerate(layer.inputs):
        other = layer.inputs[1 - position]
        if value is None or other is None or other.constant is None:
            continue
        before = value.producer
        if not isinstance(before.descriptor, LayerNormalizationDescriptor):
            continue
        inputs = [*before.inputs, None, None][:3]
        place = 1 if operation is BinaryOperation.MUL else 2
        taken = any(given is not None for given in inputs[place:])
        if taken or not _lies_on_axes(other, before):
            continue
        if only_reader(value) is layer and may_absorb(layer, before):
            inputs[place] = other
            return replace_layer(network, layer, "LayerNormalization", inputs, before.descriptor)
    return False


def _lies_on_axes(constant: Value, layer: Layer) -> bool:
    """Return whether a constant varies along normalised axes only."""
    shape, data = constant.info.shape, layer.output.info
    descriptor = layer.descriptor
    if shape is None or data.shape is None:
        return False
    if not isinstance(descriptor, LayerNormalizationDescriptor):
        return False
    rank = len(data.shape)
    axes = rank - descriptor.axis % rank
    return len(shape) <= axes and constant.info.data_type is data.data_type
