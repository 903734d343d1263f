# SPDX-License-Identifier: MIT
"""Activations: Relu, Clip, Gelu, Elu, PRelu and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import add_layer
from armnn.types import ActivationFunction, BinaryOperation, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation


def activation(
    operation: Operation,
    value: Value,
    function: ActivationFunction,
    a: float = 0.0,
    b: float = 0.0,
    part: str = "",
) -> Value:
    """Add an Activation layer."""
    return add_layer(operation, "Activation", [value], part, function=function, a=a, b=b)


def binary(
    operation: Operation, function: BinaryOperation, first: Value, second: Value, part: str = ""
) -> Value:
    """Add an ElementwiseBinary layer."""
    return add_layer(operation, "ElementwiseBinary", [first, second], part, operation=function)


@operator("Relu")
def relu(operation: Operation) -> Value:
    """Add ReLu; integers take Maximum, as activations are real functions."""
    value = operation.input()
    if value.info.data_type.is_float:
        return activation(operation, value, ActivationFunction.RELU)
    zero = operation.number(0, value, "zero")
    return binary(operation, BinaryOperation.MAXIMUM, value, zero)


def _activation_operator(name: str, function: ActivationFunction, *attributes: str) -> None:
    @operator(name)
    def convert(operation: Operation) -> Value:
        a, b = [*map(operation.real, attributes), 0.0, 0.0][:2]
        return activation(operation, operation.input(), function, a, b)


_activation_operator("LeakyRelu", ActivationFunction.LEAKY_RELU, "alpha")
_activation_operator("Elu", ActivationFunction.ELU, "alpha")
_activation_operator("Selu", ActivationFunction.SELU, "alpha", "gamma")
_activation_operator("Sigmoid", ActivationFunction.SIGMOID)
_activation_operator("HardSigmoid", ActivationFunction.HARD_SIGMOID, "alpha", "beta")
_activation_operator("HardSwish", ActivationFunction.HARD_SWISH)
_activation_operator("Softplus", ActivationFunction.SOFT_RELU)
_activation_operator("Softsign", ActivationFunction.SOFT_SIGN)
_activation_operator("Mish", ActivationFunction.MISH)
_activation_operator("Swish", ActivationFunction.SWISH, "alpha")
_activation_operator("ThresholdedRelu", ActivationFunction.THRESHOLDED_RELU, "alpha")


@operator("PRelu")
def prelu(operation: Operation) -> Value:
    """Add Prelu."""
    return operation.network.add_prelu(
        operation.input(), operation.input(1), name=operation.layer_name()
    )


@operator("Celu")
def celu(operation: Operation) -> Value:
    """Add Celu."""
    alpha = operation.real("alpha")
    if alpha == 0:
        raise operation.error("the attribute 'alpha' is 0: expected another number")
    return activation(operation, operation.input(), ActivationFunction.CELU, alpha)


@operator("Tanh")
def tanh(operation: Operation) -> Value:
    """Add TanH."""
    return activation(operation, operation.input(), ActivationFunction.TANH, 1.0, 1.0)


@operator("Gelu")
def gelu(operation: Operation) -> Value:
    """Add Gelu, or its approximation by the hyperbolic tangent."""
    exact = operation.text("approximate", ("none", "tanh")) == "none"
    function = ActivationFunction.GELU if exact else ActivationFunction.GELU_TANH
    return activation(operation, operation.input(), function)


@operator("Shrink")
def shrink(operation: Operation) -> Value:
    """Add Shrink; integers are shrunk as real numbers."""
    value, network = operation.input(), operation.network
    lambd, bias = operation.real("lambd"), operation.real("bias")
    if value.info.data_type.is_float:
        return activation(operation, value, ActivationFunction.SHRINK, lambd, bias)
    real = network.add_cast(value, name=operation.layer_name("real"), output=DataType.FLOAT64)
    shrunk = activation(operation, real, ActivationFunction.SHRINK, lambd, bias, "shrunk")
    return network.add_cast(shrunk, name=operation.layer_name(), output=value.info.data_type)


@operator("Clip")
def clip_by_attributes(operation: Operation) -> Value:
    """Clip between the attributes; an absent bound has no effect."""
    low = operation.real("min") if operation.has("min") else None
    high = operation.real("max") if operation.has("max") else None
    return _clip_real(operation, low, high)


@operator("Clip", since=11)
def clip(operation: Operation) -> Value:
    """Clip between the inputs; an absent bound has no effect.

    The inputs are constant or computed.
    """
    low, high = operation.constant(1), operation.constant(2)
    computed = (operation.has_input(1) and low is None) or (operation.has_input(2) and high is None)
    if operation.input().info.data_type.is_float and not computed:
        return _clip_real(operation, _bound(operation, low), _bound(operation, high))
    value = operation.input()
    for index, function in ((1, BinaryOperation.MAXIMUM), (2, BinaryOperation.MINIMUM)):
        bound = operation.optional_input(index)
        if bound is not None:
            last = index == 2 or not operation.has_input(2)
            value = binary(operation, function, value, bound, "" if last else "low")
    return value


def _bound(operation: Operation, array: NDArray[Any] | None) -> float | None:
    if array is None:
        return None
    if array.size != 1:
        raise operation.error(f"a bound has {array.size} elements: expected one")
    return float(array.reshape(-1)[0])


def _clip_real(operation: Operation, low: float | None, high: float | None) -> Value:
    value = operation.input()
    if low is not None and high is not None:
        return activation(operation, value, ActivationFunction.BOUNDED_RELU, high, low)
    if low == 0:
        return activation(operation, value, ActivationFunction.RELU)
    if low is not None:
        bound = operation.number(np.array(low), value, "low")
        return binary(operation, BinaryOperation.MAXIMUM, value, bound)
    if high is not None:
        bound = operation.number(np.array(high), value, "high")
        return binary(operation, BinaryOperation.MINIMUM, value, bound)
    return value
