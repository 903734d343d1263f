# SPDX-License-Identifier: MIT
"""Activations keep their bounds and NaN over all float32.

That is tested on every level. The bound is in units of the last place of the exact result or, where
that is smaller, of x or 1: factors near zero are differences of numbers near one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn import ActivationFunction as Function
from armnn import Network, TensorInfo

Array: TypeAlias = NDArray[Any]

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.7, 88.8, -87.4, -104, 3.4e38]
FIFTH = float(np.float32(0.2))
SELU_A, SELU_B = float(np.float32(1.6732632)), float(np.float32(1.0507010))

erfc = np.vectorize(math.erfc, otypes=[np.float64])


def everywhere() -> Array:
    """Return all signs and exponents with many mantissas, and specials.

    Numbers around zero are included.
    """
    bits = np.random.default_rng(6).integers(0, 2**32, 100_000, dtype=np.uint32)
    near = np.linspace(-12, 12, 60_001, dtype=np.float32)
    return np.concatenate([bits.view(np.float32), near, np.array(SPECIAL, np.float32)])


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x: Array, a: float) -> Array:
    return np.where(x > 0, x, a * np.expm1(x))


def sigmoid(x: Array) -> Array:
    return np.where(x > 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# Function, its a and b, what it is, and the bound.
ACTIVATIONS: list[tuple[Function, float, float, Callable[[Array], Array], float]] = [
    (Function.SIGMOID, 0.0, 0.0, sigmoid, 2.0),
    (Function.TANH, 1.5, 0.75, lambda x: 1.5 * np.tanh(0.75 * x), 3.5),
    (Function.LINEAR, 2.5, -1.25, lambda x: 2.5 * x - 1.25, 3.0),
    (Function.RELU, 0.0, 0.0, lambda x: np.maximum(x, 0), 0.0),
    (Function.BOUNDED_RELU, 6.0, -1.0, lambda x: np.clip(x, -1, 6), 0.0),
    (Function.SOFT_RELU, 0.0, 0.0, softplus, 4.0),
    (Function.LEAKY_RELU, 0.2, 0.0, lambda x: np.where(x > 0, x, FIFTH * x), 0.5),
    (Function.ABS, 0.0, 0.0, np.abs, 0.0),
    (Function.SQRT, 0.0, 0.0, np.sqrt, 0.5),
    (Function.SQUARE, 0.0, 0.0, np.square, 0.5),
    (Function.ELU, 1.5, 0.0, lambda x: elu(x, 1.5), 4.0),
    (Function.HARD_SWISH, 0.0, 0.0, lambda x: x * (np.clip(x + 3, 0, 6) / 6), 3.0),
    (Function.GELU, 0.0, 0.0, lambda x: 0.5 * x * erfc(-x * math.sqrt(0.5)), 3.0),
    (Function.SOFT_SIGN, 0.0, 0.0, lambda x: x / (1 + np.abs(x)), 2.0),
    (Function.MISH, 0.0, 0.0, lambda x: x * np.tanh(softplus(x)), 5.0),
    (Function.SELU, SELU_A, SELU_B, lambda x: SELU_B * elu(x, SELU_A), 5.0),
    (Function.CELU, 1.5, 0.0, lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5)), 4.0),
    (Function.HARD_SIGMOID, 0.2, 0.5, lambda x: np.clip(FIFTH * x + 0.5, 0, 1), 2.0),
    (Function.THRESHOLDED_RELU, 1.0, 0.0, lambda x: np.where(x <= 1, 0, x), 0.0),
    (
        Function.SHRINK,
        0.5,
        0.25,
        lambda x: np.where(x < -0.5, x + 0.25, np.where(x <= 0.5, 0, x - 0.25)),
        0.5,
    ),
    (Function.SWISH, 1.0, 0.0, lambda x: x * sigmoid(x), 3.0),
    (Function.GELU_TANH, 0.0, 0.0, gelu_tanh, 3.0),
]


def test_there_is_a_bound_for_every_activation() -> None:
    assert [row[0] for row in ACTIVATIONS] == list(Function)


@pytest.mark.parametrize("row", ACTIVATIONS, ids=lambda row: row[0].name)
def test_an_activation_keeps_its_bound(row: Any, run_network: Callable[..., Array]) -> None:
    function, a, b, exact, bound = row
    x = everywhere()
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        nearest = expected.astype(np.float32)
    network = Network()
    value = network.add_input("x", TensorInfo(x.shape))
    network.add_output("y", network.add_activation(value, function=function, a=a, b=b))
    actual = run_network(network, x=x)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(nearest))
    infinite = np.isinf(nearest)
    np.testing.assert_array_equal(actual[infinite], nearest[infinite])
    finite = np.isfinite(nearest)
    size = np.maximum(np.abs(nearest), np.minimum(np.abs(x), np.float32(1)))
    unit = np.spacing(np.maximum(size, np.finfo(np.float32).tiny)[finite])
    off = np.abs(actual[finite] - expected[finite]) / unit
    assert off.max() <= bound
