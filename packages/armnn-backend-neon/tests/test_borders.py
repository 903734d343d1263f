# SPDX-License-Identifier: MIT
"""A refused layer falls back with a reason, two borders."""

from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn import DataLayout, Network, TensorInfo

WEIGHTS = np.random.default_rng(2).standard_normal((4, 3, 3, 4), np.float32)


def network_around_a_refused_layer(layout: DataLayout) -> Network:
    network = Network("interrupted")
    value = network.add_input("x", TensorInfo(shape(layout)))
    order = (0, 1, 2, 3) if layout is DataLayout.NHWC else (0, 3, 1, 2)
    weights = np.ascontiguousarray(WEIGHTS.transpose(order))
    for name in ("before", "after"):
        value = network.add_convolution2d(value, weights, data_layout=layout, name=name)
        if name == "before":
            value = network.add_fake_quantization(value, min=-6.0, max=6.0, name="refused")
    network.add_output("y", value)
    return network


def shape(layout: DataLayout) -> tuple[int, ...]:
    return (1, 9, 8, 4) if layout is DataLayout.NHWC else (1, 4, 9, 8)


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
def test_a_refused_layer_makes_two_programs_and_no_copy(layout: DataLayout) -> None:
    network = network_around_a_refused_layer(layout)
    x = np.random.default_rng(3).standard_normal(shape(layout), np.float32)
    with armnn.Runtime() as runtime:
        optimized = runtime.optimize(network, ["CpuAcc", "CpuRef"])
        kinds = sorted(str(layer.type) for layer in optimized.network.layers)
        made = runtime.load_network(optimized).run({"x": x})["y"]
        right = runtime.load_model(network, backends=["CpuRef"]).run({"x": x})["y"]
    assert kinds == ["FakeQuantization", "Input", "Output", "PreCompiled", "PreCompiled"]
    np.testing.assert_allclose(made, right, rtol=1e-5, atol=1e-4)
    (fallback,) = optimized.report.fallbacks
    assert (fallback.layer, fallback.backend) == ("refused", "CpuRef")
    (refusal,) = fallback.refusals
    assert refusal.reason == "layers of type FakeQuantization are not computed here"
