# SPDX-License-Identifier: MIT
"""Layers of random graphs that compute each element for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers import Descriptor
from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.layers.elementwise import (
    AdditionDescriptor,
    DivisionDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    MaximumDescriptor,
    MinimumDescriptor,
    MultiplicationDescriptor,
    SubtractionDescriptor,
)
from armnn.layers.normalization import BatchNormalizationDescriptor
from armnn.types import ActivationFunction, BinaryOperation, DataLayout, UnaryOperation
from armnn_conformance.graphs._graph import Draw, GraphValue, LayerDraw, candidate

_ACTIVATIONS: tuple[tuple[ActivationFunction, float, float, Any], ...] = (
    (ActivationFunction.RELU, 0.0, 0.0, lambda x: np.maximum(x, 0)),
    (ActivationFunction.BOUNDED_RELU, 1.0, -0.5, lambda x: np.clip(x, -0.5, 1.0)),
    (ActivationFunction.LEAKY_RELU, 0.25, 0.0, lambda x: np.where(x > 0, x, 0.25 * x)),
    (ActivationFunction.TANH, 1.0, 1.0, np.tanh),
    (ActivationFunction.SIGMOID, 0.0, 0.0, lambda x: 1 / (1 + np.exp(-x))),
    (ActivationFunction.LINEAR, 0.5, 0.25, lambda x: 0.5 * x + 0.25),
    (ActivationFunction.ABS, 0.0, 0.0, np.abs),
)


@candidate(ActivationDescriptor)
def activation(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw one of some activation functions."""
    function, a, b, oracle = _ACTIVATIONS[draw.number(0, len(_ACTIVATIONS) - 1)]
    return LayerDraw(ActivationDescriptor(function=function, a=a, b=b), (x,), oracle)


@candidate(ActivationDescriptor)
def rectifier(_draw: Draw, x: GraphValue) -> LayerDraw:
    """Add the function that most backends have."""
    made = ActivationDescriptor(function=ActivationFunction.RELU)
    return LayerDraw(made, (x,), lambda x: np.maximum(x, 0))


@candidate(PreluDescriptor)
def prelu(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw a slope for each index of the last axis."""
    alpha = draw.constant([*[1] * (len(x.shape) - 1), x.shape[-1]], 0.1, 0.5)
    return LayerDraw(PreluDescriptor(), (x, alpha), lambda x, a: np.where(x > 0, x, a * x))


_BINARY: tuple[tuple[Descriptor, Callable[..., NDArray[Any]]], ...] = (
    (AdditionDescriptor(), np.add),
    (SubtractionDescriptor(), np.subtract),
    (MultiplicationDescriptor(), np.multiply),
    (MaximumDescriptor(), np.maximum),
    (MinimumDescriptor(), np.minimum),
    (ElementwiseBinaryDescriptor(operation=BinaryOperation.ADD), np.add),
    (ElementwiseBinaryDescriptor(operation=BinaryOperation.SUB), np.subtract),
    (ElementwiseBinaryDescriptor(operation=BinaryOperation.MUL), np.multiply),
)


def joined(draw: Draw, x: GraphValue, y: GraphValue) -> list[LayerDraw]:
    """Return binary layers of two values, in random order."""
    order = draw.random.permutation(len(_BINARY))
    return [LayerDraw(_BINARY[at][0], (x, y), _BINARY[at][1]) for at in order]


def _register_binary() -> None:
    """Register each operation with constants and with itself."""
    for descriptor, oracle in _BINARY[:6]:

        def broadcast(
            draw: Draw, x: GraphValue, made: Descriptor = descriptor, oracle: Any = oracle
        ) -> LayerDraw:
            constant = draw.constant([*[1] * (len(x.shape) - 1), x.shape[-1]])
            return LayerDraw(made, (x, constant), oracle)

        def same_shape(
            draw: Draw, x: GraphValue, made: Descriptor = descriptor, oracle: Any = oracle
        ) -> LayerDraw:
            constant = draw.constant(x.shape)
            operands = (x, constant) if draw.number(0, 1) else (constant, x)
            return LayerDraw(made, operands, oracle, any_batch=False)

        def doubled(
            _draw: Draw, x: GraphValue, made: Descriptor = descriptor, oracle: Any = oracle
        ) -> LayerDraw:
            return LayerDraw(made, (x, x), oracle)

        for drawing in (broadcast, same_shape, doubled):
            candidate(type(descriptor))(drawing)


_register_binary()


@candidate(DivisionDescriptor)
def division(draw: Draw, x: GraphValue) -> LayerDraw:
    """Divide by constants away from zero."""
    divisor = draw.constant([*[1] * (len(x.shape) - 1), x.shape[-1]], 0.5, 2)
    return LayerDraw(DivisionDescriptor(), (x, divisor), np.divide)


_UNARY: tuple[tuple[UnaryOperation, Any], ...] = (
    (UnaryOperation.ABS, np.abs),
    (UnaryOperation.NEG, np.negative),
    (UnaryOperation.SIN, np.sin),
)


@candidate(ElementwiseUnaryDescriptor)
def unary(draw: Draw, x: GraphValue) -> LayerDraw:
    """Draw a function that is defined for all numbers."""
    operation, oracle = _UNARY[draw.number(0, len(_UNARY) - 1)]
    return LayerDraw(ElementwiseUnaryDescriptor(operation=operation), (x,), oracle)


@candidate(BatchNormalizationDescriptor)
def batch_normalization(draw: Draw, x: GraphValue) -> LayerDraw | None:
    """Draw statistics for each channel."""
    if len(x.shape) != 4:
        return None
    layout = (DataLayout.NCHW, DataLayout.NHWC)[draw.number(0, 1)]
    axis = layout.channel_axis
    channels = [x.shape[axis]]
    mean, beta = draw.constant(channels), draw.constant(channels)
    variance, gamma = draw.constant(channels, 0.5, 2), draw.constant(channels, 0.5, 1)
    place = [1, 1, 1, 1]
    place[axis] = -1

    def oracle(x: Any, m: Any, v: Any, b: Any, g: Any) -> Any:
        m, v, b, g = (each.reshape(place) for each in (m, v, b, g))
        return (x - m) / np.sqrt(v + 1e-3) * g + b

    descriptor = BatchNormalizationDescriptor(eps=1e-3, data_layout=layout)
    return LayerDraw(descriptor, (x, mean, variance, beta, gamma), oracle)
