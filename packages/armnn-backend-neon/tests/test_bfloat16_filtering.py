# SPDX-License-Identifier: MIT
"""Winograd's filtering between layers in bfloat16, under FastMathEnabled."""

from __future__ import annotations

import platform
import runpy
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataLayout, Network
from armnn.tensor import info_of

Array: TypeAlias = NDArray[Any]

BUILD = runpy.run_path(str(Path(__file__).resolve().parents[1] / "native_build/levels.py"))
LEVELS = {level.name: level for level in BUILD["levels_of"](platform.machine())}
FILTERS = [
    *(f"winograd_2d {side}" for side in (2, 4, 6)),
    *(f"winograd_1d {outputs} {axis}" for outputs in (4, 6) for axis in ("across", "down")),
]
CHANNELS = 39


def multiplies_bfloat16(name: str) -> bool:
    """Return whether a level or its base does."""
    level = LEVELS.get(name)
    return level is not None and (
        "gemm_bfloat16" in level.sources or multiplies_bfloat16(level.adds_to)
    )


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def rounded(x: Array) -> Array:
    """Return the nearest bfloat16 numbers, halves to even, as float32."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def run(steps: str, x: Array, threads: int) -> Array:
    """Run some of three layers.

    Args:
        steps: A letter each: "m" makes an image, "f" filters and adds it, "r" reads it.
        x: The input.
        threads: How many compute.
    """
    network = Network("layers")
    value = network.add_input("x", info_of(x))
    for step in steps:
        pads = dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), int(step == "f"))
        columns, side = 20 if step == "r" else CHANNELS, 3 if step == "f" else 1
        weights = random(columns, side, side, x.shape[3] if step == steps[0] else CHANNELS)
        made = network.add_convolution2d(
            value, weights, random(columns), data_layout=DataLayout.NHWC, **pads
        )
        if step == "f":
            made = network.add_addition(made, value)
            made = network.add_activation(made, function=armnn.ActivationFunction.RELU)
        value = made
    network.add_output("y", value)
    options = {"CpuAcc": {"FastMathEnabled": True, "NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"], backend_options=options)
        return np.array(loaded.run({"x": x})["y"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kernel", FILTERS)
def test_filtering_reads_and_stores_rounded_numbers(
    monkeypatch: pytest.MonkeyPatch, level: str, kernel: str, threads: int
) -> None:
    """So does its residual; its sums are float32."""
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", kernel)
    x = random(2, 13, 11, 24)
    made = run("mfr", x, threads)
    if not multiplies_bfloat16(level):
        np.testing.assert_array_equal(made, run("r", run("mf", x, threads), threads))
        return
    first = run("m", x, threads)
    exact, middle = (run("f", each, threads) for each in (first, rounded(first)))
    # The part behind rounds what it is given.
    np.testing.assert_array_equal(made, run("r", middle, threads))
    assert np.any(middle != exact)
    # The parts are filtered too, by sums in float32 of the weights as they are.
    weights = random(CHANNELS, 3, 3, CHANNELS).astype(np.float64)
    padded = np.pad(rounded(first), ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float64)
    sums = rounded(first) + random(CHANNELS).astype(np.float64)
    for i in range(3):
        for j in range(3):
            sums += padded[:, i : i + 13, j : j + 11] @ weights[:, i, j].T
    assert np.abs(middle - np.maximum(sums, 0)).max() < 2e-4 * np.abs(sums).max()
