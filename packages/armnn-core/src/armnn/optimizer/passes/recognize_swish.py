# SPDX-License-Identifier: MIT
"""Swish, recognised in products of a value and its sigmoid."""

from __future__ import annotations

from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._pattern import (
    BINARY,
    binary_operation,
    first_input,
    holds,
    may_absorb,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation


def recognize_swish(network: Network) -> int:
    """Replace x * sigmoid(x) in floating point by Swish.

    Ramachandran et al. 2017; also called SiLU. Nothing else may read the sigmoid.

    Returns:
        How many were replaced.
    """
    if not holds(network, ActivationDescriptor, _is_sigmoid):
        return 0
    return sum(_replace(network, layer) for layer in walk(network, BINARY))


def _replace(network: Network, layer: Layer) -> bool:
    if binary_operation(layer) is not BinaryOperation.MUL:
        return False
    for position, gate in enumerate(layer.inputs):
        x = layer.inputs[1 - position]
        if gate is None or x is None or not _is_gate(gate, x) or x.info != layer.output.info:
            continue
        if only_reader(gate) is not layer or not may_absorb(layer, gate.producer):
            continue
        descriptor = ActivationDescriptor(function=ActivationFunction.SWISH, a=1)
        return replace_layer(network, layer, "Activation", [x], descriptor)
    return False


def _is_gate(gate: Value, x: Value) -> bool:
    maker = gate.producer
    return (
        isinstance(maker.descriptor, ActivationDescriptor)
        and _is_sigmoid(maker.descriptor)
        and first_input(maker) is x
        and x.info.data_type.is_float
    )


def _is_sigmoid(activation: ActivationDescriptor) -> bool:
    return activation.function is ActivationFunction.SIGMOID
