# SPDX-License-Identifier: MIT
"""Conformance cases of Activation and Prelu, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.types import ActivationFunction, DataType
from armnn_conformance.cases import EXACT, LayerCase, case, cases
from armnn_conformance.operands import FLOATS, REAL, SIGNED, high_ranks, tensor, values

A, B = 1.5, 0.25


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _elu(x: float, a: float) -> float:
    return x if x > 0 else a * (math.exp(x) - 1)


def _shrink(x: float, a: float, b: float) -> float:
    if x > a:
        return x - b
    return x + b if x < -a else 0.0


_F = ActivationFunction
_FORMULAS: dict[ActivationFunction, Callable[[float, float, float], float]] = {
    _F.SIGMOID: lambda x, _a, _b: _sigmoid(x),
    _F.TANH: lambda x, a, b: a * math.tanh(b * x),
    _F.LINEAR: lambda x, a, b: a * x + b,
    _F.RELU: lambda x, _a, _b: max(x, 0.0),
    _F.BOUNDED_RELU: lambda x, a, b: min(a, max(b, x)),
    _F.SOFT_RELU: lambda x, _a, _b: math.log(1 + math.exp(x)),
    _F.LEAKY_RELU: lambda x, a, _b: x if x > 0 else a * x,
    _F.ABS: lambda x, _a, _b: abs(x),
    _F.SQRT: lambda x, _a, _b: math.sqrt(x) if x >= 0 else math.nan,
    _F.SQUARE: lambda x, _a, _b: x * x,
    _F.ELU: lambda x, a, _b: _elu(x, a),
    _F.HARD_SWISH: lambda x, _a, _b: x * min(6.0, max(0.0, x + 3)) / 6,
    _F.GELU: lambda x, _a, _b: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    _F.SOFT_SIGN: lambda x, _a, _b: x / (1 + abs(x)),
    _F.MISH: lambda x, _a, _b: x * math.tanh(math.log(1 + math.exp(x))),
    _F.SELU: lambda x, a, b: b * _elu(x, a),
    _F.CELU: lambda x, a, _b: x if x > 0 else a * (math.exp(x / a) - 1),
    _F.HARD_SIGMOID: lambda x, a, b: max(0.0, min(1.0, a * x + b)),
    _F.THRESHOLDED_RELU: lambda x, a, _b: x if x > a else 0.0,
    _F.SHRINK: _shrink,
    _F.SWISH: lambda x, a, _b: x * _sigmoid(a * x),
    _F.GELU_TANH: lambda x, _a, _b: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
}


def _expected(function: ActivationFunction, x: NDArray[Any], a: float, b: float) -> NDArray[Any]:
    formula = _FORMULAS[function]
    return np.array([formula(number, a, b) for number in x.reshape(-1).tolist()]).reshape(x.shape)


@cases(ActivationDescriptor, types=REAL)
def activation(data_type: DataType) -> Iterator[LayerCase]:
    """Cover every function on both sides of zero.

    Parameters differ from their defaults.
    """
    for function in ActivationFunction:
        low = 0.0 if function is ActivationFunction.SQRT else -5.0
        x = values(data_type, (2, 3, 5), low, 5.0, seed=int(function))
        d = ActivationDescriptor(function=function, a=A, b=B)
        yield case(data_type, function.arm_name, d, [x], _expected(function, x.real, A, B))
    x = tensor(data_type, [[-1.5, -0.25, 0.0, 0.25, 1.5]])
    for function in (_F.BOUNDED_RELU, _F.THRESHOLDED_RELU, _F.SHRINK):
        d = ActivationDescriptor(function=function, a=1.5, b=-1.0)
        expected = _expected(function, x.real, 1.5, -1.0)
        yield case(data_type, f"{function.arm_name} at its bounds", d, [x], expected, edge=True)


@cases(ActivationDescriptor, types=FLOATS)
def activation_of_no_ordinary_number(data_type: DataType) -> Iterator[LayerCase]:
    """Infinity, NaN and the limits of the exponential."""
    x = tensor(data_type, [-np.inf, -200.0, 0.0, 200.0, np.inf, np.nan])
    rows = {
        ActivationFunction.SIGMOID: [0, 0, 0.5, 1, 1, np.nan],
        ActivationFunction.SOFT_RELU: [0, 0, math.log(2), 200, np.inf, np.nan],
        ActivationFunction.RELU: [0, 0, 0, 200, np.inf, np.nan],
        ActivationFunction.ELU: [-A, -A, 0, 200, np.inf, np.nan],
        ActivationFunction.ABS: [np.inf, 200, 0, 200, np.inf, np.nan],
        ActivationFunction.SQRT: [np.nan, np.nan, 0, math.sqrt(200), np.inf, np.nan],
        # All functions pass NaN on, although a comparison with it is false.
        ActivationFunction.BOUNDED_RELU: [B, B, B, A, A, np.nan],
        ActivationFunction.LEAKY_RELU: [-np.inf, -300, 0, 200, np.inf, np.nan],
        ActivationFunction.THRESHOLDED_RELU: [0, 0, 0, 200, np.inf, np.nan],
        ActivationFunction.SHRINK: [-np.inf, B - 200, 0, 200 - B, np.inf, np.nan],
        ActivationFunction.HARD_SIGMOID: [0, 0, B, 1, 1, np.nan],
    }
    for function, expected in rows.items():
        d = ActivationDescriptor(function=function, a=A, b=B)
        yield case(data_type, f"{function.arm_name} at infinity", d, [x], expected, edge=True)


@cases(ActivationDescriptor, types=REAL)
def activation_of_any_rank(data_type: DataType) -> Iterator[LayerCase]:
    """Cover a scalar and high ranks."""
    for name, shape in {"a scalar": (), **high_ranks(data_type)}.items():
        x = values(data_type, shape, -3.0, 3.0, seed=4)
        d = ActivationDescriptor(function=_F.LEAKY_RELU, a=B)
        yield case(data_type, name, d, [x], _expected(_F.LEAKY_RELU, x.real, B, 0), edge=True)


@cases(ActivationDescriptor, types=SIGNED)
def activation_of_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the functions that keep integers."""
    x = values(data_type, (2, 5), -9, 9, seed=3)
    rows = {
        ActivationFunction.RELU: np.maximum(x.real, 0),
        ActivationFunction.ABS: np.abs(x.real),
        ActivationFunction.SQUARE: x.real * x.real,
    }
    for function, expected in rows.items():
        d = ActivationDescriptor(function=function)
        yield case(data_type, function.arm_name, d, [x], expected, edge=True)


@cases(PreluDescriptor, types=REAL)
def prelu(data_type: DataType) -> Iterator[LayerCase]:
    """Cover slopes per channel, per element, and shared."""
    x = values(data_type, (2, 3, 4), -3.0, 3.0, seed=1)
    for name, sizes in (("a slope per channel", (4,)), ("a slope per element", (2, 3, 4))):
        slope = values(data_type, sizes, -1.0, 1.0, seed=2)
        expected = np.where(x.real > 0, x.real, slope.real * x.real)
        yield case(data_type, name, PreluDescriptor(), [x, slope], expected)
    slope = tensor(data_type, [[[0.5]]], constant=True)
    one = tensor(data_type, [[[-2.0]]])
    title = "a single number"
    yield case(data_type, title, PreluDescriptor(), [one, slope], one.real * 0.5, edge=True)
    for name, shape in high_ranks(data_type).items():
        x = values(data_type, shape, -3.0, 3.0, seed=3)
        slope = values(data_type, (3, 1, 2) if len(shape) == 5 else shape, -1.0, 1.0, seed=4)
        expected = np.where(x.real > 0, x.real, slope.real * x.real)
        yield case(data_type, name, PreluDescriptor(), [x, slope], expected, edge=True)
    zeros = tensor(data_type, [0.0, 1.0, 2.0])
    slope = tensor(data_type, [0.5, 0.5, 0.5])
    outputs = [zeros.info]
    title = "nothing below zero"
    d = PreluDescriptor()
    inputs = [zeros, slope]
    yield case(data_type, title, d, inputs, zeros.real, outputs=outputs, tolerance=EXACT, edge=True)
