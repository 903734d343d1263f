# SPDX-License-Identifier: MIT
"""Batch normalization, and the arithmetic by rows that follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ActivationFunction, DataLayout, Network
from armnn.profiling import Recorder
from armnn.tensor import info_of

if TYPE_CHECKING:
    from armnn.graph import Value

Array: TypeAlias = NDArray[Any]

EPS = 1e-3
BOUNDED, TANH = ActivationFunction.BOUNDED_RELU, ActivationFunction.TANH


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def network_of(
    x: Array, rows: Array, steps: str, function: ActivationFunction, *, shows_all: bool
) -> Network:
    """Return a batch normalization and what follows it.

    Args:
        x: The input, channels last.
        rows: Mean, variance, beta, gamma, a factor and two terms.
        steps: What is done by rows, a letter each: "m" multiplies, "a" and "b" add.
        function: Of the sum.
        shows_all: Whether each value is an output, so that each layer is computed by itself.
    """
    mean, variance, beta, gamma, factor, first, second = rows
    network = Network("rows")
    value = network.add_batch_normalization(
        network.add_input("x", info_of(x)),
        mean,
        variance,
        beta,
        gamma,
        eps=EPS,
        data_layout=DataLayout.NHWC,
    )
    values: list[Value] = [value]
    for step in steps:
        if step == "m":
            value = network.add_multiplication(factor, value)
        else:
            value = network.add_addition(value, first if step == "a" else second)
        values.append(value)
    values.append(network.add_activation(value, function=function, a=1.0, b=0.1))
    for number, each in enumerate(values if shows_all else values[-1:]):
        network.add_output("y" if each is values[-1] else f"part {number}", each)
    return network


def run(network: Network, x: Array, threads: int) -> tuple[Array, int]:
    """Return the output "y", and how many kernels computed it."""
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    recorder = Recorder()
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
        y = np.array(loaded.run({"x": x}, profiler=recorder)["y"])
    kernels = [each for each in recorder.events if each.details.get("category") == "kernel"]
    return y, len(kernels)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("steps", ["", "m", "a", "ma", "am", "mab", "mm"])
@pytest.mark.parametrize("shape", [(2, 5, 3, 37), (1, 3, 3, 16), (1, 7, 1, 5)])
@pytest.mark.parametrize("function", [BOUNDED, TANH])
def test_what_follows_by_rows_has_the_bits_of_layers_by_themselves(
    level: str,
    shape: tuple[int, int, int, int],
    steps: str,
    function: ActivationFunction,
    threads: int,
) -> None:
    x, rows = random(*shape), random(7, shape[3])
    rows[1] = np.abs(rows[1])
    y, count = run(network_of(x, rows, steps, function, shows_all=False), x, threads)
    apart, _ = run(network_of(x, rows, steps, function, shows_all=True), x, threads)
    np.testing.assert_array_equal(y, apart)
    assert count == 1
    mean, variance, beta, gamma, factor, first, second = rows.astype(np.float64)
    right = (x - mean) / np.sqrt(variance + EPS) * gamma + beta
    for step in steps:
        right = right * factor if step == "m" else right + (first if step == "a" else second)
    right = np.clip(right, 0.1, 1.0) if function is BOUNDED else np.tanh(0.1 * right)
    np.testing.assert_allclose(y, right, atol=1e-5 * max(1.0, np.abs(right).max()))
