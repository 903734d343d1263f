# SPDX-License-Identifier: MIT
"""Functions of elements, which broadcast: activations, arithmetic, comparison, choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from armnn.layers.activation import ActivationDescriptor
from armnn.layers.elementwise import (
    ComparisonDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    IsInfDescriptor,
    LogicalBinaryDescriptor,
)
from armnn.layers.normalization import BatchNormalizationDescriptor
from armnn.types import (
    ActivationFunction,
    ArmnnEnum,
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)
from armnn_backend_cl.chains import FUNCTIONS, Chain, Function, Operand, chain_of
from armnn_backend_cl.elements import (
    ANY,
    INTEGERS,
    NUMBERS,
    REALS,
    Elements,
    accessors,
    elements_of,
    reals_of,
    stored_alike,
    width_of,
)
from armnn_backend_cl.launches import In, Launch, Out, Refused, Weights
from armnn_backend_cl.layers.table import (
    constant,
    lowers,
    program,
    require,
    require_alike,
    shape_of,
)
from armnn_backend_cl.views import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.tensor import TensorInfo

_E = TypeVar("_E", bound=ArmnnEnum)

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

_INTEGER_BINARY: Final = {
    BinaryOperation.ADD: "(W)x + (W)y",
    BinaryOperation.SUB: "(W)x - (W)y",
    BinaryOperation.MUL: "(W)x * (W)y",
    BinaryOperation.DIV: "y == 0 ? 0 : y == MINUS_ONE ? -(W)x : x / y",
    BinaryOperation.MAXIMUM: "x > y ? x : y",
    BinaryOperation.MINIMUM: "x < y ? x : y",
    BinaryOperation.SQ_DIFF: "((W)x - (W)y) * ((W)x - (W)y)",
    BinaryOperation.FMOD: "y == 0 || y == MINUS_ONE ? 0 : x % y",
    BinaryOperation.MOD: (
        "y == 0 || y == MINUS_ONE ? 0 : x % y != 0 && (x < 0) != (y < 0) ? x % y + y : x % y"
    ),
    BinaryOperation.FLOOR_DIV: (
        "y == 0 ? 0 : y == MINUS_ONE ? -(W)x : x / y - (x % y != 0 && (x < 0) != (y < 0))"
    ),
    BinaryOperation.BITWISE_AND: "x & y",
    BinaryOperation.BITWISE_OR: "x | y",
    BinaryOperation.BITWISE_XOR: "x ^ y",
    BinaryOperation.SHIFT_LEFT: "(ulong)y < 8 * sizeof(x) ? (W)x << y : 0",
    BinaryOperation.SHIFT_RIGHT: "(ulong)y < 8 * sizeof(x) ? x >> y : x < 0 ? -1 : 0",
}
"""Operations of integers, which wrap around as ``W``, an unsigned type, does.

``y == MINUS_ONE`` is false of unsigned types.
"""

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

_INTEGER_UNARY: Final = {
    UnaryOperation.ABS: "abs(x)",
    UnaryOperation.NEG: "-(W)x",
    UnaryOperation.CEIL: "x",
    UnaryOperation.ROUND: "x",
    UnaryOperation.SIGN: "(x > 0) - (x < 0)",
    UnaryOperation.BITWISE_NOT: "~x",
}

_INTEGER_ACTIVATIONS: Final = {
    ActivationFunction.RELU: "x > 0 ? x : 0",
    ActivationFunction.ABS: _INTEGER_UNARY[UnaryOperation.ABS],
    ActivationFunction.SQUARE: "(W)x * (W)x",
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
    source = program(accessors(r=chain.result), chain.text, "elementwise.cl")
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
    require_alike(layer, NUMBERS)
    if _is_integer(layer):
        return _function(layer, _chosen(_INTEGER_ACTIVATIONS, d.function, layer))
    return _function(layer, ACTIVATIONS[d.function], d.a, d.b)


@function("Prelu")
def prelu(layer: Layer) -> Function:
    """Multiply elements that are not positive by alpha."""
    require(layer, *REALS)
    return _function(layer, "x > 0 ? x : y * x")


@function("ElementwiseBinary", *_BINARY_LAYERS)
def binary(layer: Layer) -> Function:
    """Combine pairs of numbers."""
    require_alike(layer, NUMBERS)
    d = layer.descriptor
    operation = (
        d.operation
        if isinstance(d, ElementwiseBinaryDescriptor)
        else _BINARY_LAYERS[str(layer.type)]
    )
    table = _INTEGER_BINARY if _is_integer(layer) else _BINARY
    return _function(layer, _chosen(table, operation, layer))


@function("ElementwiseUnary")
def unary(layer: Layer) -> Function:
    """Apply the operation of the descriptor."""
    d = cast("ElementwiseUnaryDescriptor", layer.descriptor)
    if d.operation is UnaryOperation.LOGICAL_NOT:
        require(layer, DataType.BOOLEAN)
        return _function(layer, "!x")
    require_alike(layer, NUMBERS)
    table = _INTEGER_UNARY if _is_integer(layer) else _UNARY
    return _function(layer, _chosen(table, d.operation, layer))


@function("Floor")
def floor(layer: Layer) -> Function:
    """Round down."""
    require_alike(layer, NUMBERS)
    return _function(layer, "x" if _is_integer(layer) else "floor(x)")


@function("Comparison")
def comparison(layer: Layer) -> Function:
    """Compare pairs of numbers."""
    d = cast("ComparisonDescriptor", layer.descriptor)
    require_alike(layer, ANY, but=["output"])
    return _function(layer, _COMPARISONS[d.operation])


@function("LogicalBinary")
def logical_binary(layer: Layer) -> Function:
    """Combine pairs of truth values."""
    d = cast("LogicalBinaryDescriptor", layer.descriptor)
    require(layer, DataType.BOOLEAN)
    return _function(layer, _LOGICAL[d.operation])


@function("Where")
def where(layer: Layer) -> Function:
    """Choose between two tensors, whose elements are moved if all are stored alike."""
    require_alike(layer, ANY, but=["condition"])
    infos = [layer.output_infos[0], *layer.input_infos[1:]]
    moved = width_of(layer.output_infos[0]) if stored_alike(*infos) else ""
    return _function(layer, "x ? y : z", moved=moved)


@function("IsNaN")
def is_nan(layer: Layer) -> Function:
    """Return whether elements are not numbers."""
    require(layer, *REALS, but=["output"])
    return _function(layer, "isnan(x)")


@function("IsInf")
def is_inf(layer: Layer) -> Function:
    """Return whether elements are infinite, with a sign that is asked for."""
    d = cast("IsInfDescriptor", layer.descriptor)
    require(layer, *REALS, but=["output"])
    signs = [
        sign
        for sign, is_wanted in (("> 0", d.detect_positive), ("< 0", d.detect_negative))
        if is_wanted
    ]
    wanted = " || ".join(f"x {sign}" for sign in signs)
    return _function(layer, f"isinf(x) && ({wanted})" if signs else "0")


@function("Cast", "Quantize", "Dequantize", "ConvertFp16ToFp32", "ConvertFp32ToFp16")
def convert(layer: Layer) -> Function:
    """Convert elements to another type.

    Real numbers are cut off on their way to integers, which saturate, and NaN is 0 there; an
    integer keeps its lower bits.
    """
    require(layer, *ANY)
    (given,), (made,) = layer.input_infos, layer.output_infos
    assert given is not None
    if made.data_type is DataType.BOOLEAN:
        expression = "x != 0"
    elif made.data_type in INTEGERS and given.data_type in REALS:
        expression = f"isnan(x) ? 0 : convert_{INTEGERS[made.data_type]}_sat_rtz(x)"
    else:
        expression = "x"
    return _function(layer, expression)


@function("BatchNormalization")
def batch_normalization(layer: Layer) -> Function:
    """Multiply and add numbers of each channel, worked out from its constants."""
    d = cast("BatchNormalizationDescriptor", layer.descriptor)
    require(layer, *REALS)
    eps = np.float32(d.eps)
    names = ("mean", "variance", "beta", "gamma")
    stored = [cast("NDArray[Any]", constant(layer, name)) for name in names]
    infos = [cast("Value", layer.input(name)).info for name in names]

    def factor(
        _mean: NDArray[Any], variance: NDArray[Any], _beta: NDArray[Any], gamma: NDArray[Any]
    ) -> NDArray[Any]:
        factors: NDArray[Any] = gamma / np.sqrt(variance + eps)
        return factors

    def offset(
        mean: NDArray[Any], variance: NDArray[Any], beta: NDArray[Any], gamma: NDArray[Any]
    ) -> NDArray[Any]:
        offsets: NDArray[Any] = beta - mean * factor(mean, variance, beta, gamma)
        return offsets

    def packed(name: str, values: Callable[..., NDArray[Any]]) -> Weights:
        return Weights(
            tuple(stored),
            (name, d.eps, *infos),
            lambda *arrays: values(
                *(reals_of(info)(array) for info, array in zip(infos, arrays, strict=True))
            ),
        )

    value, shape = layer.inputs[0], shape_of(layer.input_infos[0])
    assert value is not None
    channel = d.channel_axis % len(shape)
    ones = [1] * (len(shape) - 1 - channel)
    per_channel = View.of([shape[channel], *ones]).broadcast(shape)
    return Function(
        "fma(x, y, z)",
        (
            Operand(value, View.of(shape), elements_of(value.info)),
            Operand(packed("factor", factor), per_channel),
            Operand(packed("offset", offset), per_channel),
        ),
        elements_of(layer.output_infos[0]),
    )


def _is_integer(layer: Layer) -> bool:
    return layer.output_infos[0].data_type in INTEGERS


def _chosen(table: Mapping[_E, str], operation: _E, layer: Layer) -> str:
    """Return the expression of an operation.

    Raises:
        Refused: It has none for the type of the layer.
    """
    if operation not in table:
        kind = layer.output_infos[0].data_type.arm_name
        raise Refused(f"GpuAcc has no kernels for {operation.arm_name} of {kind}")
    return table[operation]


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
    moving = Elements(moved, moved)
    operands = []
    for place, value in enumerate(layer.inputs):
        assert value is not None
        view = View.of(value.info.static_shape).broadcast(made.static_shape)
        elements = moving if moved and place else elements_of(value.info)
        operands.append(Operand(value, view, elements))
    result = moving if moved else elements_of(made)
    if made.data_type in INTEGERS:
        wrapping = "(ulong)" if result.value.endswith("long") else "(uint)"
        none_is = result.value.startswith("u")
        expression = expression.replace("(W)", wrapping)
        expression = expression.replace("y == MINUS_ONE", "false" if none_is else "y == -1")
    return Function(expression, tuple(operands), result, a, b)
