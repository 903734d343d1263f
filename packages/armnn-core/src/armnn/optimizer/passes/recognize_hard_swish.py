# SPDX-License-Identifier: MIT
"""Arithmetic that says HardSwish becomes the activation."""

from __future__ import annotations

import math

from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._line import are_private, line_of
from armnn.optimizer.passes._pattern import (
    BINARY,
    binary_operation,
    first_input,
    holds,
    replace_layer,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation


def recognize_hard_swish(network: Network) -> int:
    """Replace x * min(max(0, x + 3), 6) / 6 by HardSwish.

    It is in floating point, in any notation. The division may stand anywhere behind the clip, as a
    multiplication too, or before it: then the clip is HardSigmoid, min(max(0, x / 6 + 1/2), 1)
    (Howard et al. 2019; ONNX: HardSwish). Nothing else may read what is computed on the way.

    Returns:
        How many were replaced.
    """
    if not holds(network, ActivationDescriptor, _is_clip):
        return 0
    return sum(_replace(network, layer) for layer in walk(network, (ActivationDescriptor, *BINARY)))


def _is_clip(bounds: ActivationDescriptor) -> bool:
    return bounds.function is ActivationFunction.BOUNDED_RELU and bounds.b == 0


def _replace(network: Network, layer: Layer) -> bool:
    if len(layer.outputs) != 1 or not layer.output.info.data_type.is_float:
        return False
    outside = line_of(layer.output)
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
        if not are_private(inside, layer):
            continue
        descriptor = ActivationDescriptor(function=ActivationFunction.HARD_SWISH)
        return replace_layer(network, layer, "Activation", [x], descriptor)
    return False


def _passed_on_the_way(x: Value, gate: Value, factor: float) -> list[Layer] | None:
    """Return the layers between ``x`` and ``gate`` in HardSwish.

    None if ``x * gate * factor`` is no HardSwish of ``x``.
    """
    behind = line_of(gate)
    clip = behind.value.producer
    bounds = clip.descriptor
    if behind.offset != 0 or not isinstance(bounds, ActivationDescriptor) or not _is_clip(bounds):
        return None
    before = line_of(first_input(clip), until=x)
    scale = behind.factor * factor
    numbers = (scale * before.factor, scale * before.offset, scale * bounds.a)
    if before.value is not x or not all(
        math.isclose(number, expected, rel_tol=1e-6)  # constants are rounded to float32
        for number, expected in zip(numbers, (1 / 6, 1 / 2, 1), strict=True)
    ):
        return None
    return [*behind.layers, clip, *before.layers]
