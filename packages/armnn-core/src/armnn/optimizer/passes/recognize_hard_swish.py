# SPDX-License-Identifier: MIT
"""Arithmetic that says HardSwish becomes the activation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._pattern import (
    binary_operation,
    first_input,
    may_absorb,
    number_operand,
    only_reader,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation

if TYPE_CHECKING:
    from armnn.graph import Layer, Network, Value


def recognize_hard_swish(network: Network) -> int:
    """Replace x * min(max(0, x + 3), 6) / 6 in floating point, however it is written.

    The division may stand anywhere behind the clip, as a multiplication too, or before it: then
    the clip is HardSigmoid, min(max(0, x / 6 + 1/2), 1) (Howard et al. 2019; ONNX: HardSwish).
    Nothing else may read what is computed on the way.

    Returns:
        How many were replaced.
    """
    return sum(_replace(network, layer) for layer in walk(network))


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """factor * value + offset, and the layers that compute it."""

    value: Value
    factor: float = 1.0
    offset: float = 0.0
    layers: tuple[Layer, ...] = ()


def _replace(network: Network, layer: Layer) -> bool:
    if len(layer.outputs) != 1 or not layer.output.info.data_type.is_float:
        return False
    outside = _line(layer.output)
    product = outside.value.producer
    if outside.offset != 0 or binary_operation(product) is not BinaryOperation.MUL:
        return False
    for position, x in enumerate(product.inputs):
        gate = product.inputs[1 - position]
        if x is None or gate is None or x.info != layer.output.info:
            continue
        passed = _passed_on_the_way(x, gate, outside.factor)
        if passed is None:
            continue
        inside = [*outside.layers, product, *passed]
        if not _are_private(inside, layer):
            continue
        descriptor = ActivationDescriptor(function=ActivationFunction.HARD_SWISH)
        return replace_layer(network, layer, "Activation", [x], descriptor)
    return False


def _passed_on_the_way(x: Value, gate: Value, factor: float) -> list[Layer] | None:
    """Return the layers from ``x`` to ``gate`` if ``x * gate * factor`` is HardSwish of ``x``."""
    behind = _line(gate)
    clip = behind.value.producer
    bounds = clip.descriptor
    if (
        behind.offset != 0
        or not isinstance(bounds, ActivationDescriptor)
        or bounds.function is not ActivationFunction.BOUNDED_RELU
        or bounds.b != 0
    ):
        return None
    before = _line(first_input(clip), until=x)
    scale = behind.factor * factor
    said = (scale * before.factor, scale * before.offset, scale * bounds.a)
    if before.value is not x or not all(
        math.isclose(number, expected, rel_tol=1e-6)  # constants are rounded to float32
        for number, expected in zip(said, (1 / 6, 1 / 2, 1), strict=True)
    ):
        return None
    return [*behind.layers, clip, *before.layers]


def _line(value: Value, until: Value | None = None) -> _Line:
    """Follow a value back through multiplications by and additions of numbers."""
    line = _Line(value)
    while True:
        layer = line.value.producer
        step = None if line.value is until else _step(layer)
        if step is None:
            return line
        line = _Line(
            step.value,
            line.factor * step.factor,
            line.factor * step.offset + line.offset,
            (*line.layers, layer),
        )


def _step(layer: Layer) -> _Line | None:
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        if descriptor.function is not ActivationFunction.LINEAR:
            return None
        return _Line(first_input(layer), descriptor.a, descriptor.b)
    operand = number_operand(layer)
    if operand is None:
        return None
    number = operand.number
    match operand.operation:
        case BinaryOperation.ADD:
            return _Line(operand.value, 1.0, number)
        case BinaryOperation.SUB if operand.position == 0:
            return _Line(operand.value, 1.0, -number)
        case BinaryOperation.MUL:
            return _Line(operand.value, number)
        case BinaryOperation.DIV if operand.position == 0 and number != 0:
            return _Line(operand.value, 1 / number)
        case _:
            return None


def _are_private(layers: list[Layer], last: Layer) -> bool:
    """Whether only these layers read each other, and no hint keeps them apart."""
    return all(
        layer is last or (only_reader(layer.output) is not None and may_absorb(last, layer))
        for layer in layers
    )
