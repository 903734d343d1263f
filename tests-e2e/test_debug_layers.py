# SPDX-License-Identifier: MIT
"""Intermediate tensors of debugging are those of marked outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn.profiling import Recorder
from armnn_parser_onnx.export import to_onnx

RANDOM = np.random.default_rng(41)
FEEDS = {"x": RANDOM.normal(size=(1, 3, 9, 9)).astype(np.float32)}


def numbers(*shape: int) -> np.ndarray:
    return (RANDOM.normal(size=shape) / 4).astype(np.float32)


def pictures() -> Network:
    network = Network("pictures")
    x = network.add_input("x", TensorInfo((1, 3, 9, 9)))
    weights, pads = numbers(8, 3, 3, 3), {"pad_left": 1, "pad_right": 1}
    conv = network.add_convolution2d(x, weights, numbers(8), name="conv", **pads)
    relu = network.add_activation(conv, function="ReLu", name="relu")
    other = network.add_convolution2d(relu, numbers(8, 8, 1, 1), name="other")
    value = network.add_addition(relu, other, name="residual")
    value = network.add_multiplication(value, numbers(8, 1, 1), name="scaled")
    value = network.add_addition(value, numbers(8, 1, 1), name="shifted")
    value = network.add_reshape(value, target_shape=(1, -1), name="flat")
    network.add_output("y", network.add_softmax(value, name="softmax"))
    return network


NETWORK = pictures()
NAMES = ["conv", "relu", "other", "residual", "scaled", "shifted", "flat", "softmax"]


@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc", "CpuRef"]])
def test_values_are_those_of_a_run_with_all_outputs_marked(backends: list[str]) -> None:
    marked = NETWORK.clone()
    for name in NAMES:
        marked.add_output(name, marked.find(name).output)
    expected = armnn.load_model(marked, ["CpuRef"]).run(FEEDS)
    seen: dict[str, np.ndarray] = {}

    def keep(layer: str, slot: int, array: np.ndarray) -> None:
        assert slot == 0
        seen[layer] = array

    outputs = armnn.load_model(NETWORK, backends, debug=keep).run(FEEDS)
    assert list(seen) == ["x", *NAMES]
    for name in NAMES:
        np.testing.assert_allclose(seen[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(outputs["y"], seen["softmax"])


@pytest.mark.parametrize("backends", [["CpuRef"], ["CpuAcc", "CpuRef"]])
def test_fused_layers_compute_what_debugging_shows(backends: list[str]) -> None:
    fused = armnn.load_model(NETWORK, backends)
    debugged = armnn.load_model(NETWORK, backends, debug=lambda *_: None)
    y, shown = (model.run(FEEDS)["y"] for model in (fused, debugged))
    np.testing.assert_allclose(y, shown, rtol=1e-5, atol=1e-7)
    kinds = [[row.type for row in model.report] for model in (fused, debugged)]
    assert "Fused" in kinds[0] or backends != ["CpuRef"]
    assert "Fused" not in kinds[1]


def test_a_model_from_a_cache_shows_the_same(tmp_path: Path) -> None:
    file, cache = tmp_path / "net.onnx", tmp_path / "cache"
    cache.mkdir(mode=0o700)
    file.write_bytes(to_onnx(NETWORK))
    runs: list[dict[str, np.ndarray]] = []
    recorder = Recorder()
    for _ in range(2):
        seen: dict[str, np.ndarray] = {}
        model = armnn.load_model(
            file,
            ["CpuAcc"],
            cache_dir=cache,
            profiler=recorder,
            debug=lambda layer, _slot, array, seen=seen: seen.update({layer: array}),
        )
        model.run(FEEDS)
        model.unload()
        runs.append(seen)
    outcomes = [event.details.get("outcome", "") for event in recorder.events]
    assert "taken from the cache" in outcomes
    assert list(runs[0]) == list(runs[1])
    assert len(runs[0]) == 1 + len(NAMES)
    for name, array in runs[0].items():
        np.testing.assert_array_equal(runs[1][name], array, err_msg=name)
