# SPDX-License-Identifier: MIT
"""Gelu, recognised in arithmetic with the error function."""

from __future__ import annotations

import math

from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import ElementwiseUnaryDescriptor
from armnn.optimizer.passes._line import Line, are_private, line_of, lines_of
from armnn.optimizer.passes._pattern import (
    BINARY,
    binary_operation,
    first_input,
    holds,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation, DataType, UnaryOperation


def recognize_gelu(network: Network) -> int:
    """Replace x / 2 * (1 + erf(x / sqrt(2))) by Gelu.

    It is in floating point, in any notation. The half may stand before, in or behind the product
    (Hendrycks and Gimpel 2016; ONNX: Gelu). Nothing else may read what is computed on the way.

    Returns:
        How many were replaced.
    """
    if not holds(network, ElementwiseUnaryDescriptor, _is_error_function):
        return 0
    return sum(_replace(network, layer) for layer in walk(network, (ActivationDescriptor, *BINARY)))


def _is_error_function(unary: ElementwiseUnaryDescriptor) -> bool:
    return unary.operation is UnaryOperation.ERF


def _replace(network: Network, layer: Layer) -> bool:
    if len(layer.outputs) != 1 or not layer.output.info.data_type.is_float:
        return False
    for outside in lines_of(layer.output):
        product = outside.value.producer
        if outside.offset == 0 and binary_operation(product) is BinaryOperation.MUL:
            for position, operand in enumerate(product.inputs):
                gate = product.inputs[1 - position]
                if operand is not None and gate is not None:
                    found = _root(operand, gate, outside)
                    if found is not None and _put(network, layer, product, outside, *found):
                        return True
    return False


def _root(operand: Value, gate: Value, outside: Line) -> tuple[Value, list[Layer]] | None:
    """Return x and the layers of Gelu's product.

    None if the product is no Gelu.
    """
    behind = line_of(gate)
    error = behind.value.producer
    descriptor = error.descriptor
    if not isinstance(descriptor, ElementwiseUnaryDescriptor) or not _is_error_function(descriptor):
        return None
    for inside in lines_of(operand):
        before = line_of(first_input(error), until=inside.value)
        scale = outside.factor * inside.factor
        numbers = (scale * behind.factor, scale * behind.offset, before.factor)
        if before.value is inside.value and inside.offset == before.offset == 0:
            near = _nearness(operand.info.data_type)
            wanted = (0.5, 0.5, math.sqrt(0.5))
            if all(
                math.isclose(number, expected, rel_tol=near)
                for number, expected in zip(numbers, wanted, strict=True)
            ):
                return inside.value, [*inside.layers, *behind.layers, error, *before.layers]
    return None


def _nearness(data_type: DataType) -> float:
    """Return the tolerance of constants rounded to a data type."""
    return {DataType.FLOAT16: 1e-3, DataType.BFLOAT16: 1e-2}.get(data_type, 1e-6)


def _put(
    network: Network, layer: Layer, product: Layer, outside: Line, x: Value, passed: list[Layer]
) -> bool:
    inside = [*outside.layers, product, *passed]
    if x.info != layer.output.info or not are_private(inside, layer):
        return False
    descriptor = ActivationDescriptor(function=ActivationFunction.GELU)
    return replace_layer(network, layer, "Activation", [x], descriptor)
