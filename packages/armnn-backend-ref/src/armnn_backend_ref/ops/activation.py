# SPDX-License-Identifier: MIT
"""Functions of one element: Activation and Prelu, and the error function, which NumPy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from armnn.layers.activation import ActivationDescriptor, PreluDescriptor
from armnn.types import ActivationFunction
from armnn_backend_ref.ops._registry import Array, op

_CHUNK = 8192  # elements whose intermediate results stay in the processor's cache

# erf(x) = x P(x^2) / Q(x^2) for |x| up to a limit beyond which it is 1 in that precision. Least
# squares in 60 digits, reweighted towards equal relative errors: 2e-8 and 4e-17.
_LIMIT_SINGLE = 3.93
_P_SINGLE = (
    1.1283791448600313, 0.19087734000904463, 0.05280245243807995, 0.003783512837974959,
    0.0002848777044923022, 2.0410406121168287e-06,
)  # fmt: skip
_Q_SINGLE = (
    1.0, 0.5024933458781656, 0.11429597655736384, 0.015005337149739376, 0.0011661203030571498,
    3.799797702104396e-05,
)  # fmt: skip
_LIMIT_DOUBLE = 5.95
_P_DOUBLE = (
    1.1283791670955126, 0.22055698635475074, 0.06618948528855419, 0.0069105176651421615,
    0.0008575514460067609, 5.718063674144711e-05, 3.913165835442427e-06, 1.7031193584339997e-07,
    6.783550008487076e-09, 1.7272161362752668e-10, 3.3332729042467865e-12, 2.209919779948726e-14,
    1.551701305530327e-17,
)  # fmt: skip
_Q_DOUBLE = (
    1.0, 0.5287968732376271, 0.13492452845715627, 0.02202896612827994, 0.0025712931598004026,
    0.0002268069840214713, 1.555564987768326e-05, 8.384364036918787e-07, 3.530514143765714e-08,
    1.1289756252621108e-09, 2.555864574209752e-11, 3.304098171402154e-13, 8.76062081121574e-16,
)  # fmt: skip


def erf(x: Array) -> Array:
    """Return the error function of each element, in ``x``'s type.

    The error is at most one unit in the last place for float32, at most ten for float64 (the mean
    is one), measured against ``math.erf``.
    """
    values = np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(values)
    for start in range(0, values.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        result[part] = _erf_chunk(values[part])
    return result.reshape(x.shape)


def _erf_chunk(x: Array) -> Array:
    double = x.dtype == np.float64
    limit = _LIMIT_DOUBLE if double else _LIMIT_SINGLE
    x = np.clip(x.astype(np.float64, copy=False), -limit, limit)
    squares = x * x
    x = x * _polynomial(_P_DOUBLE if double else _P_SINGLE, squares)
    x /= _polynomial(_Q_DOUBLE if double else _Q_SINGLE, squares)
    return np.clip(x, -1, 1, out=x)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Evaluate a polynomial, lowest power first, by Horner's rule."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value


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
    # Without branches: equal values in a quarter of the time.
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
