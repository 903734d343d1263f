# SPDX-License-Identifier: MIT
"""Activations, separate or fused into other operators."""

from __future__ import annotations

from collections.abc import Callable

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, add_layer
from armnn.parsing.flatbuffers import FlatTable
from armnn.types import ActivationFunction, DataType
from armnn_parser_tflite._bindings import ActivationFunctionType
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.weights import real_like

FUSED = {
    ActivationFunctionType.RELU: (ActivationFunction.RELU, 0.0, 0.0),
    ActivationFunctionType.RELU_N1_TO_1: (ActivationFunction.BOUNDED_RELU, 1.0, -1.0),
    ActivationFunctionType.RELU6: (ActivationFunction.BOUNDED_RELU, 6.0, 0.0),
    ActivationFunctionType.TANH: (ActivationFunction.TANH, 1.0, 1.0),
}
"""The activations that other operators apply to their results: function, a and b."""


def fused(operation: Operation, options: FlatTable, make: Callable[[str], Value]) -> Value:
    """Add a layer and its fused activation.

    Args:
        operation: The operator.
        options: Its parameters, with ``FusedActivationFunction``.
        make: Adds the layer under the name that it is given.

    Raises:
        RefusedError: No layer computes the activation.
    """
    number = options.integer("FusedActivationFunction")
    if number == ActivationFunctionType.NONE:
        return make(operation.layer_name())
    if number not in FUSED:
        raise RefusedError(f"its activation number {number} is not supported")
    function, a, b = FUSED[number]
    value = make(operation.layer_name("linear"))
    return add_layer(operation, "Activation", [value], function=function, a=a, b=b)


def activation(
    operation: Operation, function: ActivationFunction, a: float = 0.0, b: float = 0.0
) -> Value:
    """Add an Activation layer."""
    value, made = operation.input(), operation.info()
    return add_layer(operation, "Activation", [value], output=made, function=function, a=a, b=b)


def _activation_operator(
    name: str, function: ActivationFunction, a: float = 0.0, b: float = 0.0, *, newest: int = 1
) -> None:
    @operator(name, newest=newest)
    def convert(operation: Operation) -> Value:
        return activation(operation, function, a, b)


_activation_operator("RELU", ActivationFunction.RELU, newest=3)
_activation_operator("RELU6", ActivationFunction.BOUNDED_RELU, 6.0, newest=3)
_activation_operator("RELU_N1_TO_1", ActivationFunction.BOUNDED_RELU, 1.0, -1.0)
_activation_operator("RELU_0_TO_1", ActivationFunction.BOUNDED_RELU, 1.0)
_activation_operator("LOGISTIC", ActivationFunction.SIGMOID, newest=3)
_activation_operator("TANH", ActivationFunction.TANH, 1.0, 1.0, newest=3)
_activation_operator("ELU", ActivationFunction.ELU, 1.0)
_activation_operator("HARD_SWISH", ActivationFunction.HARD_SWISH)
_activation_operator("SQUARE", ActivationFunction.SQUARE)


@operator("LEAKY_RELU", newest=2)
def leaky_relu(operation: Operation) -> Value:
    """Add LeakyReLu."""
    alpha = operation.options("LeakyReluOptions").real("Alpha")
    return activation(operation, ActivationFunction.LEAKY_RELU, alpha)


@operator("GELU", newest=2)
def gelu(operation: Operation) -> Value:
    """Add Gelu, or its approximation by TanH."""
    approximate = operation.options("GeluOptions").flag("Approximate")
    function = ActivationFunction.GELU_TANH if approximate else ActivationFunction.GELU
    return activation(operation, function)


@operator("PRELU")
def prelu(operation: Operation) -> Value:
    """Add Prelu."""
    value = operation.input()
    alpha = real_like(operation, operation.input(1), value, "real_alpha")
    if alpha.info.data_type is DataType.QSYMM_S8:
        raise RefusedError("its slopes have a scale for each channel")
    return operation.network.add_prelu(
        value, alpha, name=operation.layer_name(), output=operation.info()
    )
