# SPDX-License-Identifier: MIT
"""Functions of one element: Activation and Prelu."""

from __future__ import annotations

from collections.abc import Callable

from armnn.types import ActivationFunction
from armnn_parser_onnx.export.operation import Operation, exports


@exports("Activation")
def activation(op: Operation) -> str:
    """Write the function's operator, else the descriptor's formula."""
    return _FUNCTIONS[op.d.function](op)


@exports("Prelu")
def prelu(op: Operation) -> str:
    """Write PRelu, with Expand for wider slopes.

    PRelu's slope broadcasts to the input only.
    """
    x = op.x
    if op.shape("input") != op.output_shape:
        x = op.emit("Expand", x, op.integers(op.output_shape))
    return op.emit("PRelu", x, op.input("alpha"))


def _plain(op_type: str) -> Callable[[Operation], str]:
    def write(op: Operation) -> str:
        return op.emit(op_type, op.x)

    return write


def _linear(op: Operation) -> str:
    scaled = op.emit("Mul", op.x, op.constant(op.d.a))
    return op.emit("Add", scaled, op.constant(op.d.b))


def _tanh(op: Operation) -> str:
    y = op.emit("Tanh", op.x if op.d.b == 1 else op.emit("Mul", op.x, op.constant(op.d.b)))
    return y if op.d.a == 1 else op.emit("Mul", y, op.constant(op.d.a))


def _bounded_relu(op: Operation) -> str:
    return op.emit("Clip", op.x, op.constant(op.d.b), op.constant(op.d.a))


def _with(op_type: str, **parameters: str) -> Callable[[Operation], str]:
    """Return a writer with attributes a and b.

    They are the descriptor's.
    """

    def write(op: Operation) -> str:
        attributes = {name: float(getattr(op.d, field)) for name, field in parameters.items()}
        return op.emit(op_type, op.x, **attributes)

    return write


def _gelu(approximate: str) -> Callable[[Operation], str]:
    def write(op: Operation) -> str:
        return op.emit("Gelu", op.x, approximate=approximate)

    return write


def _square(op: Operation) -> str:
    return op.emit("Mul", op.x, op.x)


def _swish(op: Operation) -> str:
    gate = op.emit("Sigmoid", op.emit("Mul", op.x, op.constant(op.d.a)))
    return op.emit("Mul", op.x, gate)


_FUNCTIONS: dict[ActivationFunction, Callable[[Operation], str]] = {
    ActivationFunction.SIGMOID: _plain("Sigmoid"),
    ActivationFunction.TANH: _tanh,
    ActivationFunction.LINEAR: _linear,
    ActivationFunction.RELU: _plain("Relu"),
    ActivationFunction.BOUNDED_RELU: _bounded_relu,
    ActivationFunction.SOFT_RELU: _plain("Softplus"),
    ActivationFunction.LEAKY_RELU: _with("LeakyRelu", alpha="a"),
    ActivationFunction.ABS: _plain("Abs"),
    ActivationFunction.SQRT: _plain("Sqrt"),
    ActivationFunction.SQUARE: _square,
    ActivationFunction.ELU: _with("Elu", alpha="a"),
    ActivationFunction.HARD_SWISH: _plain("HardSwish"),
    ActivationFunction.GELU: _gelu("none"),
    ActivationFunction.SOFT_SIGN: _plain("Softsign"),
    ActivationFunction.MISH: _plain("Mish"),
    ActivationFunction.SELU: _with("Selu", alpha="a", gamma="b"),
    ActivationFunction.CELU: _with("Celu", alpha="a"),
    ActivationFunction.HARD_SIGMOID: _with("HardSigmoid", alpha="a", beta="b"),
    ActivationFunction.THRESHOLDED_RELU: _with("ThresholdedRelu", alpha="a"),
    ActivationFunction.SHRINK: _with("Shrink", lambd="a", bias="b"),
    ActivationFunction.SWISH: _swish,
    ActivationFunction.GELU_TANH: _gelu("tanh"),
}
