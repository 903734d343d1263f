# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.optimizer.assignment.conversions import exact_layers

RANDOM = np.random.default_rng(11)
DEPTH = 2000
X = RANDOM.uniform(0, 3, (2, DEPTH)).astype(np.float32)
WEIGHTS = RANDOM.integers(0, 127, (DEPTH, 3), np.int8)
BIAS = np.float32([300, -20, 0.25])
SCALE = np.float32(2e-5)


def dynamically_quantized() -> Network:
    """Return x * weights * SCALE + BIAS as tools write it."""
    network = Network("dynamic")
    x = network.add_input("x", TensorInfo(X.shape))
    steps, scale, zero_point = network.add_dynamic_quantize(x, name="steps")
    sums = network.add_mat_mul_integer(steps, WEIGHTS, zero_point, name="sums")
    scales = network.add_multiplication(scale, SCALE[np.newaxis], name="scales")
    bias = network.add_division(network.add_constant(BIAS), scales, name="bias in steps")
    bias = network.add_floor(bias, name="whole bias")
    stored = network.add_cast(bias, output=DataType.SIGNED32, name="stored bias")
    total = network.add_addition(sums, stored, name="total")
    real = network.add_cast(total, output=DataType.FLOAT32, name="real")
    scaled = network.add_multiplication(real, scales, name="scaled")
    network.add_output("y", network.add_activation(scaled, function="ReLu", name="relu"))
    return network


@pytest.mark.parametrize(("half", "error"), [("fp16", 2e-3), ("bf16", 8e-3)])
def test_sums_of_integers_are_scaled_in_float32(half: str, error: float) -> None:
    model = armnn.load_model(
        dynamically_quantized(), ["CpuRef"], **{f"reduce_fp32_to_{half}": True}
    )
    expected = np.maximum(X.astype(np.float64) @ WEIGHTS * SCALE + BIAS, 0)
    assert np.abs(X @ WEIGHTS).max() * 85 > 65504, "the sums fit into Float16"
    y = model.run({"x": X})["y"]
    np.testing.assert_allclose(y, expected, atol=error * expected.max())
    reduced = {row.layer for row in model.report if row.type.startswith("Convert")} | {
        row.layer for row in model.report if row.type == "Cast" and "convert" in row.layer
    }
    assert any("relu" in name for name in reduced)
    assert not any(name in each for each in reduced for name in ("scale", "bias", "real"))


def test_the_layers_around_sums_are_exact_up_to_the_scaling() -> None:
    order = dynamically_quantized().topological_order()
    assert {layer.name for layer in exact_layers(order)} == {
        "scales", "bias in steps", "whole bias", "stored bias", "total", "real", "scaled",
    }  # fmt: skip


def test_what_others_read_too_is_not_exact() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    half = network.add_multiplication(x, np.float32([0.5]), name="half")
    below = network.add_floor(half, name="below")
    network.add_output("i", network.add_cast(below, output=DataType.SIGNED32, name="cast"))
    network.add_output("y", half)
    assert {layer.name for layer in exact_layers(network.topological_order())} == {"below"}


def test_costly_layers_are_never_exact() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 4)))
    product = network.add_fully_connected(x, np.ones((4, 3), np.float32), name="product")
    network.add_output("i", network.add_cast(product, output=DataType.SIGNED32, name="cast"))
    assert exact_layers(network.topological_order()) == set()
