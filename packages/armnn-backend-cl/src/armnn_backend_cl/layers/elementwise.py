# SPDX-License-Identifier: MIT
"""Functions of elements, which broadcast: activations, arithmetic, comparison, choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

import numpy as np

from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import (
    ComparisonDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    LogicalBinaryDescriptor,
)
from armnn.layers.normalization import BatchNormalizationDescriptor
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_backend_cl.chains import FUNCTIONS, Chain, Function, Operand, chain_of
from armnn_backend_cl.launches import In, Launch, Out, Refused, Weights
from armnn_backend_cl.layers.table import (
    TYPE_NAMES,
    WIDTHS,
    constant,
    lowers,
    program,
    require,
    shape_of,
)
from armnn_backend_cl.views import View

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

ACTIVATIONS: Final = {
    ActivationFunction.SIGMOID: "1 / (1 + exp(-x))",
    ActivationFunction.TANH: "a * tanh(b * x)",
    ActivationFunction.LINEAR: "a * x + b",
    ActivationFunction.RELU: "x < 0 ? 0 : x",
    ActivationFunction.BOUNDED_RELU: "x < b ? fmin(a, b) : x > a ? a : x",
    ActivationFunction.SOFT_RELU: "fmax(x, 0.0f) + log1p(exp(-fabs(x)))",
    ActivationFunction.LEAKY_RELU: "x > 0 ? x : a * x",
    ActivationFunction.ABS: "fabs(x)",
    ActivationFunction.SQRT: "sqrt(x)",
    ActivationFunction.SQUARE: "x * x",
    ActivationFunction.ELU: "x > 0 ? x : a * expm1(x)",
    ActivationFunction.HARD_SWISH: "x * (clamp(x + 3, 0.0f, 6.0f) / 6)",
    ActivationFunction.GELU: "x * (0.5f * erfc(x * -0.70710678f))",
    ActivationFunction.SOFT_SIGN: "x / (1 + fabs(x))",
    ActivationFunction.MISH: "x * tanh(fmax(x, 0.0f) + log1p(exp(-fabs(x))))",
    ActivationFunction.SELU: "b * (x > 0 ? x : a * expm1(x))",
    ActivationFunction.CELU: "x > 0 ? x : a * expm1(x / a)",
    ActivationFunction.HARD_SIGMOID: "a * x + b < 0 ? 0 : a * x + b > 1 ? 1 : a * x + b",
    ActivationFunction.THRESHOLDED_RELU: "x <= a ? 0 : x",
    ActivationFunction.SHRINK: "x > a ? x - b : x >= -a ? 0 : x + b",
    ActivationFunction.SWISH: "x / (1 + exp(-a * x))",
    # 1 / (1 + exp(-2 z)) is 0.5 + 0.5 tanh(z), and 0 where tanh() is not quite -1.
    ActivationFunction.GELU_TANH: ("x / (1 + exp(-1.5957691f * (x + 0.044715f * x * x * x)))"),
}

_BINARY: Final = {
    BinaryOperation.ADD: "x + y",
    BinaryOperation.SUB: "x - y",
    BinaryOperation.MUL: "x * y",
    BinaryOperation.DIV: "x / y",
    BinaryOperation.MAXIMUM: "x > y || isnan(x) ? x : y",
    BinaryOperation.MINIMUM: "x < y || isnan(x) ? x : y",
    BinaryOperation.SQ_DIFF: "(x - y) * (x - y)",
    BinaryOperation.POWER: "pow(x, y)",
    BinaryOperation.FMOD: "fmod(x, y)",
    BinaryOperation.MOD: (
        "fmod(x, y) != 0 && (fmod(x, y) < 0) != (y < 0) ? fmod(x, y) + y : fmod(x, y)"
    ),
    BinaryOperation.FLOOR_DIV: "floor(x / y)",
}

_BINARY_LAYERS: Final = {
    "Addition": BinaryOperation.ADD,
    "Subtraction": BinaryOperation.SUB,
    "Multiplication": BinaryOperation.MUL,
    "Division": BinaryOperation.DIV,
    "Maximum": BinaryOperation.MAXIMUM,
    "Minimum": BinaryOperation.MINIMUM,
}

_UNARY: Final = {
    UnaryOperation.ABS: "fabs(x)",
    UnaryOperation.EXP: "exp(x)",
    UnaryOperation.SQRT: "sqrt(x)",
    UnaryOperation.RSQRT: "1 / sqrt(x)",
    UnaryOperation.NEG: "-x",
    UnaryOperation.LOG: "log(x)",
    UnaryOperation.SIN: "sin(x)",
    UnaryOperation.CEIL: "ceil(x)",
    UnaryOperation.ERF: "erf(x)",
    UnaryOperation.ROUND: "rint(x)",
    UnaryOperation.SIGN: "isnan(x) ? x : sign(x)",
    UnaryOperation.COS: "cos(x)",
    UnaryOperation.TAN: "tan(x)",
    UnaryOperation.ASIN: "asin(x)",
    UnaryOperation.ACOS: "acos(x)",
    UnaryOperation.ATAN: "atan(x)",
    UnaryOperation.SINH: "sinh(x)",
    UnaryOperation.COSH: "cosh(x)",
    UnaryOperation.ASINH: "asinh(x)",
    UnaryOperation.ACOSH: "acosh(x)",
    UnaryOperation.ATANH: "atanh(x)",
    UnaryOperation.RECIPROCAL: "1 / x",
}

_COMPARISONS: Final = {
    ComparisonOperation.EQUAL: "x == y",
    ComparisonOperation.NOT_EQUAL: "x != y",
    ComparisonOperation.GREATER: "x > y",
    ComparisonOperation.GREATER_OR_EQUAL: "x >= y",
    ComparisonOperation.LESS: "x < y",
    ComparisonOperation.LESS_OR_EQUAL: "x <= y",
}

_LOGICAL: Final = {
    LogicalBinaryOperation.LOGICAL_AND: "x && y",
    LogicalBinaryOperation.LOGICAL_OR: "x || y",
    LogicalBinaryOperation.LOGICAL_XOR: "!x != !y",
}


def _alone(layer: Layer) -> Sequence[Launch]:
    """Return the launch of a layer that is a chain of its own."""
    places = {value: In(place) for place, value in enumerate(layer.inputs) if value is not None}
    return [launch_of(chain_of([layer], places), layer.output.info)]


def launch_of(chain: Chain, info: TensorInfo) -> Launch:
    """Return the launch of a chain whose results are the elements of a tensor."""
    arguments = (*chain.arguments, Out(0), info.num_elements)
    source = program(chain.text, "elementwise.cl")
    return Launch(source, "elementwise", arguments, info.num_elements)


_F = TypeVar("_F", bound=Callable[["Layer"], Function])


def function(*layer_types: str) -> Callable[[_F], _F]:
    """Enter the decorated function into the tables of functions and of layers."""

    def enter(function: _F) -> _F:
        for name in layer_types:
            FUNCTIONS[name] = function
        lowers(*layer_types)(_alone)
        return function

    return enter


@function("Activation")
def activation(layer: Layer) -> Function:
    """Apply the function of the descriptor."""
    d = cast("ActivationDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    return _function(layer, ACTIVATIONS[d.function], d.a, d.b)


@function("Prelu")
def prelu(layer: Layer) -> Function:
    """Multiply what is not positive by alpha."""
    require(layer, DataType.FLOAT32)
    return _function(layer, "x > 0 ? x : y * x")


@function("ElementwiseBinary", *_BINARY_LAYERS)
def binary(layer: Layer) -> Function:
    """Combine pairs of numbers."""
    require(layer, DataType.FLOAT32)
    d = layer.descriptor
    operation = (
        d.operation
        if isinstance(d, ElementwiseBinaryDescriptor)
        else _BINARY_LAYERS[str(layer.type)]
    )
    return _function(layer, _BINARY[operation])


@function("ElementwiseUnary")
def unary(layer: Layer) -> Function:
    """Apply the operation of the descriptor."""
    d = cast("ElementwiseUnaryDescriptor", layer.descriptor)
    if d.operation is UnaryOperation.LOGICAL_NOT:
        require(layer, DataType.BOOLEAN)
        return _function(layer, "!x")
    require(layer, DataType.FLOAT32)
    return _function(layer, _UNARY[d.operation])


@function("Floor")
def floor(layer: Layer) -> Function:
    """Round down."""
    require(layer, DataType.FLOAT32)
    return _function(layer, "floor(x)")


@function("Comparison")
def comparison(layer: Layer) -> Function:
    """Compare pairs of numbers."""
    d = cast("ComparisonDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32, but=["output"])
    return _function(layer, _COMPARISONS[d.operation])


@function("LogicalBinary")
def logical_binary(layer: Layer) -> Function:
    """Combine pairs of truth values."""
    d = cast("LogicalBinaryDescriptor", layer.descriptor)
    require(layer, DataType.BOOLEAN)
    return _function(layer, _LOGICAL[d.operation])


@function("Where")
def where(layer: Layer) -> Function:
    """Choose between two tensors; their elements are moved as they are stored."""
    _, x, y = layer.input_infos
    assert x is not None
    assert y is not None
    (made,) = layer.output_infos
    if not (x.is_type_space_match(made) and y.is_type_space_match(made)) or made.is_per_axis:
        raise Refused("the inputs and the output store real values in different steps")
    if made.data_type.bits not in WIDTHS:
        raise Refused(f"the output is {made.data_type.arm_name}, expected at least 8 bits")
    return _function(layer, "x ? y : z", moved=WIDTHS[made.data_type.bits])


@function("IsNaN")
def is_nan(layer: Layer) -> Function:
    """Return whether elements are not numbers."""
    require(layer, DataType.FLOAT32, but=["output"])
    return _function(layer, "isnan(x)")


@function("BatchNormalization")
def batch_normalization(layer: Layer) -> Function:
    """Multiply and add numbers of each channel, worked out from its constants."""
    d = cast("BatchNormalizationDescriptor", layer.descriptor)
    require(layer, DataType.FLOAT32)
    mean, variance, beta, gamma = (
        constant(layer, name) for name in ("mean", "variance", "beta", "gamma")
    )
    assert mean is not None
    assert variance is not None
    assert beta is not None
    assert gamma is not None
    eps = np.float32(d.eps)
    factor = Weights(
        (gamma, variance),
        ("factor", d.eps),
        lambda gamma, variance: gamma / np.sqrt(variance + eps),
    )
    offset = Weights(
        (beta, mean, gamma, variance),
        ("offset", d.eps),
        lambda beta, mean, gamma, variance: beta - mean * (gamma / np.sqrt(variance + eps)),
    )
    value, shape = layer.inputs[0], shape_of(layer.input_infos[0])
    assert value is not None
    channel = d.channel_axis % len(shape)
    ones = [1] * (len(shape) - 1 - channel)
    per_channel = View.of([mean.size, *ones]).broadcast(shape)
    return Function(
        "fma(x, y, z)",
        (
            Operand(value, View.of(shape)),
            Operand(factor, per_channel),
            Operand(offset, per_channel),
        ),
    )


def _function(
    layer: Layer, expression: str, a: float = 0.0, b: float = 0.0, moved: str = ""
) -> Function:
    """Return a function of the elements of a layer's inputs.

    Args:
        layer: The layer.
        expression: The function of ``x``, ``y`` and ``z``, the elements of the inputs.
        a: A parameter of the function.
        b: Another one.
        moved: The type of the output and of all inputs but the first, if these are only moved.
    """
    (made,) = layer.output_infos
    operands = []
    for place, value in enumerate(layer.inputs):
        assert value is not None
        view = View.of(value.info.static_shape).broadcast(made.static_shape)
        name = moved if moved and place else TYPE_NAMES[value.info.data_type]
        operands.append(Operand(value, view, name))
    return Function(expression, tuple(operands), moved or TYPE_NAMES[made.data_type], a, b)
