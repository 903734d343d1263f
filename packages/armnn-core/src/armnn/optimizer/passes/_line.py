# SPDX-License-Identifier: MIT
"""Arithmetic with numbers as lines: factor times value plus offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from armnn.graph import Layer, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._pattern import (
    first_input,
    may_absorb,
    number_operand,
    only_reader,
)
from armnn.types import ActivationFunction, BinaryOperation

LONGEST = 16
"""Layers of arithmetic in a row that are looked at; no pattern has as many."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """factor * value + offset, and the layers that compute it."""

    value: Value
    factor: float = 1.0
    offset: float = 0.0
    layers: tuple[Layer, ...] = ()


def line_of(value: Value, until: Value | None = None) -> Line:
    """Follow a value back through additions and multiplications by numbers."""
    found = Line(value)
    for found in lines_of(value):
        if found.value is until:
            break
    return found


def lines_of(value: Value) -> Iterator[Line]:
    """Yield a value's lines, from itself to the arithmetic's start.

    It goes back :data:`LONGEST` layers at most: a loop that is written out may have thousands.
    """
    line = Line(value)
    while True:
        yield line
        if len(line.layers) == LONGEST:
            return
        layer = line.value.producer
        step = _step(layer)
        if step is None:
            return
        line = Line(
            step.value,
            line.factor * step.factor,
            line.factor * step.offset + line.offset,
            (*line.layers, layer),
        )


def _step(layer: Layer) -> Line | None:
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        if descriptor.function is not ActivationFunction.LINEAR:
            return None
        return Line(first_input(layer), descriptor.a, descriptor.b)
    operand = number_operand(layer)
    if operand is None:
        return None
    number = operand.number
    match operand.operation:
        case BinaryOperation.ADD:
            return Line(operand.value, 1.0, number)
        case BinaryOperation.SUB if operand.position == 0:
            return Line(operand.value, 1.0, -number)
        case BinaryOperation.MUL:
            return Line(operand.value, number)
        case BinaryOperation.DIV if operand.position == 0 and number != 0:
            return Line(operand.value, 1 / number)
        case _:
            return None


def are_private(layers: list[Layer], last: Layer) -> bool:
    """Return whether only these layers read each other.

    No hint may keep them apart.
    """
    return all(
        layer is last or (only_reader(layer.output) is not None and may_absorb(last, layer))
        for layer in layers
    )
