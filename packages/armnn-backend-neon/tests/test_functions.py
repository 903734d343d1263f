# SPDX-License-Identifier: MIT
"""Functions keep their bounds over all float32, every level."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ActivationFunction, DataType, Network, TensorInfo, UnaryOperation

Array = NDArray[Any]

SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.7, 88.8, -87.4, -104], "f4"
)


def everywhere() -> Array:
    """Return all signs and exponents with many mantissas, and specials."""
    bits = np.random.default_rng(5).integers(0, 2**32, 200_000, dtype=np.uint32)
    near = np.linspace(-12, 12, 100_001, dtype=np.float32)
    return np.concatenate([bits.view(np.float32), near, SPECIAL])


def run(layer: Callable[[Network, Any], Any], x: Array) -> Array:
    """Compute a layer of one input on CpuAcc."""
    network = Network()
    made = layer(network, network.add_input("x", TensorInfo(x.shape, DataType.FLOAT32)))
    network.add_output("y", made)
    with armnn.Runtime() as runtime:
        (result,) = runtime.load_model(network, backends=["CpuAcc"]).run({"x": x}).values()
        return np.array(result)


def activation(function: ActivationFunction) -> Callable[[Network, Any], Any]:
    return lambda network, x: network.add_activation(x, function=function, a=1.0, b=1.0)


def unary(operation: UnaryOperation) -> Callable[[Network, Any], Any]:
    return lambda network, x: network.add_elementwise_unary(x, operation=operation)


ERF = np.vectorize(math.erf, otypes=[np.float64])

# The bound is relative, in units of the last place of the exact result.
FUNCTIONS = [
    pytest.param(unary(UnaryOperation.EXP), np.exp, 3, id="exp"),
    pytest.param(unary(UnaryOperation.LOG), np.log, 3, id="log"),
    pytest.param(unary(UnaryOperation.ERF), ERF, 2, id="erf"),
    pytest.param(unary(UnaryOperation.SQRT), np.sqrt, 1, id="sqrt"),
    pytest.param(unary(UnaryOperation.CEIL), np.ceil, 0, id="ceil"),
    pytest.param(unary(UnaryOperation.ROUND), np.rint, 0, id="round"),
    pytest.param(lambda network, x: network.add_floor(x), np.floor, 0, id="floor"),
    pytest.param(activation(ActivationFunction.TANH), np.tanh, 4, id="tanh"),
    pytest.param(
        activation(ActivationFunction.SIGMOID), lambda x: 1 / (1 + np.exp(-x)), 4, id="sigmoid"
    ),
]


@pytest.mark.parametrize(("layer", "exact", "bound"), FUNCTIONS)
def test_a_function_keeps_its_bound(
    layer: Callable[[Network, Any], Any],
    exact: Callable[[Array], Array],
    bound: int,
    level: str,
) -> None:
    x = everywhere()
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        nearest = expected.astype(np.float32)
    actual = run(layer, x)
    assert np.array_equal(np.isnan(actual), np.isnan(nearest))
    # Below the smallest normal number the last place does not shrink any more.
    size = np.maximum(np.abs(nearest), np.float32(np.finfo(np.float32).tiny))
    finite = np.isfinite(nearest)
    off = np.abs(actual[finite].astype(np.float64) - expected[finite]) / np.spacing(size[finite])
    assert off.max() <= max(bound, 0.5)
    infinite = np.isinf(nearest)
    assert np.array_equal(actual[infinite], nearest[infinite])
