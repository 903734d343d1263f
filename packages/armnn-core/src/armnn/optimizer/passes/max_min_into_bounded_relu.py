# SPDX-License-Identifier: MIT
"""Maximum and Minimum with one number each become BoundedReLu."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._pattern import (
    BINARY,
    binary_operation,
    may_absorb,
    number_operand,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation


def max_min_into_bounded_relu(network: Network) -> int:
    """Replace min(high, max(low, x)) in floating point (Arm NN: MaxMinIntoBoundedRelu).

    The other way round, max(low, min(high, x)) is the same as long as low is not above high.

    Returns:
        How many pairs were replaced.
    """
    return sum(_replace(network, layer) for layer in walk(network, BINARY))


def _replace(network: Network, layer: Layer) -> bool:
    if binary_operation(layer) not in (BinaryOperation.MAXIMUM, BinaryOperation.MINIMUM):
        return False  # as nearly all
    outer = number_operand(layer)
    if outer is None or not layer.output.info.data_type.is_float:
        return False
    inner_layer = outer.value.producer
    inner = number_operand(inner_layer)
    if (
        inner is None
        or only_reader(outer.value) is not layer
        or not may_absorb(layer, inner_layer)
        or not inner.value.info == outer.value.info == layer.output.info
    ):
        return False
    match inner.operation, outer.operation:
        case BinaryOperation.MAXIMUM, BinaryOperation.MINIMUM:
            low, high = inner.number, outer.number
        case BinaryOperation.MINIMUM, BinaryOperation.MAXIMUM if outer.number <= inner.number:
            low, high = outer.number, inner.number
        case _:
            return False
    descriptor = ActivationDescriptor(function=ActivationFunction.BOUNDED_RELU, a=high, b=low)
    return replace_layer(network, layer, "Activation", [inner.value], descriptor)
