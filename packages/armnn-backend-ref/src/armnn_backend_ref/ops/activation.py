# SPDX-License-Identifier: MIT
"""Functions of one element: Activation and Prelu.

Overflow and invalid operations give infinity and NaN as IEEE 754 says; NaN stays NaN everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.types import ActivationFunction
from armnn_backend_ref.ops._erf import erf
from armnn_backend_ref.ops._registry import Array, op


@op("Activation")
def activation(d: ActivationDescriptor, x: Array) -> Array:
    """Apply ``d.function`` to each element.

    The formulas are those of the descriptor. ReLu, Abs and Square keep integers; Abs of the most
    negative one is itself and Square wraps around, as in C and NumPy.
    """
    return _FUNCTIONS[d.function](x, d.a, d.b)


@op("Prelu")
def prelu(_d: PreluDescriptor, x: Array, alpha: Array) -> Array:
    """Return x where it is positive, else ``alpha * x``."""
    # No product with zero, as in _leaky: one of an infinite or NaN alpha would be NaN.
    y: Array = np.where(x > 0, x, alpha * x)
    return y


def _positive_part(x: Array) -> Array:
    # NumPy's clip is three times as fast as its maximum with a scalar, but would promote integers.
    return np.clip(x, 0, np.inf) if x.dtype.kind == "f" else np.maximum(x, 0)


def _negative_part(x: Array) -> Array:
    return np.clip(x, -np.inf, 0) if x.dtype.kind == "f" else np.minimum(x, 0)


def _leaky(x: Array, slope: float) -> Array:
    return _two_sided(x, slope, _negative_part(x))


def _two_sided(x: Array, slope: float, tail: Array) -> Array:
    """Return x where it is positive, else ``slope * tail``.

    ``tail`` is zero where x is positive.
    """
    if not math.isfinite(slope):  # its product with zero would be NaN
        return np.where(x > 0, x, slope * tail)
    # The same values at a quarter of the time: no branches.
    return _positive_part(x) + slope * tail


def _sigmoid(x: Array) -> Array:
    # e^-x may overflow to infinity, whose reciprocal is the right limit.
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array) -> Array:
    # ln(1 + e^x) as it is written is infinite from 88.8 up, as it is in Arm NN.
    return _positive_part(x) + np.log1p(np.exp(-np.abs(x)))


def _elu(x: Array, a: float) -> Array:
    return _two_sided(x, a, np.expm1(_negative_part(x)))


def _hard_swish(x: Array) -> Array:
    gate: Array = np.clip(x + 3, 0, 6)
    # The product of x with the gate could overflow.
    return x * (gate / 6)


def _gelu(x: Array) -> Array:
    return x * (0.5 + 0.5 * erf(x * math.sqrt(0.5)))


def _gelu_tanh(x: Array) -> Array:
    return x * (0.5 + 0.5 * np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _selu(x: Array, a: float, b: float) -> Array:
    return b * _elu(x, a)


def _celu(x: Array, a: float) -> Array:
    return _two_sided(x, a, np.expm1(_negative_part(x) / a))


def _swish(x: Array, a: float) -> Array:
    # e^(-a * x) may overflow to infinity, which makes zero of a finite x.
    gated: Array = x / (1 + np.exp(-a * x))
    return gated


def _shrink(x: Array, a: float, b: float) -> Array:
    # The sides are asked for in the order that lets NaN through.
    shrunk: Array = np.where(x > a, x - b, np.where(x >= -a, 0, x + b))
    return shrunk


_FUNCTIONS: dict[ActivationFunction, Callable[[Array, float, float], Array]] = {
    ActivationFunction.SIGMOID: lambda x, _a, _b: _sigmoid(x),
    ActivationFunction.TANH: lambda x, a, b: a * np.tanh(b * x),
    ActivationFunction.LINEAR: lambda x, a, b: a * x + b,
    ActivationFunction.RELU: lambda x, _a, _b: _positive_part(x),
    ActivationFunction.BOUNDED_RELU: lambda x, a, b: np.clip(x, b, a),
    ActivationFunction.SOFT_RELU: lambda x, _a, _b: _softplus(x),
    ActivationFunction.LEAKY_RELU: lambda x, a, _b: _leaky(x, a),
    ActivationFunction.ABS: lambda x, _a, _b: np.abs(x),
    ActivationFunction.SQRT: lambda x, _a, _b: np.sqrt(x),
    ActivationFunction.SQUARE: lambda x, _a, _b: np.square(x),
    ActivationFunction.ELU: lambda x, a, _b: _elu(x, a),
    ActivationFunction.HARD_SWISH: lambda x, _a, _b: _hard_swish(x),
    ActivationFunction.GELU: lambda x, _a, _b: _gelu(x),
    ActivationFunction.SOFT_SIGN: lambda x, _a, _b: x / (1 + np.abs(x)),
    ActivationFunction.MISH: lambda x, _a, _b: x * np.tanh(_softplus(x)),
    ActivationFunction.SELU: _selu,
    ActivationFunction.CELU: lambda x, a, _b: _celu(x, a),
    ActivationFunction.HARD_SIGMOID: lambda x, a, b: np.clip(a * x + b, 0, 1),
    ActivationFunction.THRESHOLDED_RELU: lambda x, a, _b: np.where(x <= a, 0, x),
    ActivationFunction.SHRINK: _shrink,
    ActivationFunction.SWISH: lambda x, a, _b: _swish(x, a),
    ActivationFunction.GELU_TANH: lambda x, _a, _b: _gelu_tanh(x),
}
