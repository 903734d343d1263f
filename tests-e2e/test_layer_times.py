# SPDX-License-Identifier: MIT
"""Profiles of real backends: every multiply-add is in one row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.parsing.exporting import save
from armnn.profiling import Recorder, arm_nn_profile, layer_times
from armnn_tools.cli.main import main

# 6x6 places of 4 channels sum 3x3x3 products; 6x6x4 sum 3x3; 144 numbers meet a column each.
MULTIPLY_ADDS = {"conv": 36 * 4 * 27, "depthwise": 36 * 4 * 9, "dense": 144 * 10}


def network() -> armnn.Network:
    """Return a convolution, a depthwise one, and a dense layer."""
    rng = np.random.default_rng(3)
    net = armnn.Network("profiled")
    x = net.add_input("x", armnn.TensorInfo((1, 8, 8, 3)))
    kernel = rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
    y = net.add_convolution2d(x, kernel, data_layout="NHWC", name="conv")
    y = net.add_activation(y, function="ReLu", name="relu")
    window = rng.normal(size=(1, 3, 3, 4)).astype(np.float32)
    padding = dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom"), 1)
    y = net.add_depthwise_convolution2d(y, window, data_layout="NHWC", name="depthwise", **padding)
    y = net.add_reshape(y, target_shape=(1, 144), name="flat")
    matrix = rng.normal(size=(144, 10)).astype(np.float32)
    net.add_output("y", net.add_fully_connected(y, matrix, name="dense"))
    return net


def test_the_table_of_the_command_does_not_measure_the_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(network(), tmp_path / "m.armnn")
    options = ["--backends", "CpuAcc", "--profile", "--iterations", "20", "--json"]
    assert main(["run", str(tmp_path / "m.armnn"), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    plain, rows = found["latency"]["median_ms"], found["layer_times"]
    own = sum(row["milliseconds"] for row in rows if row["type"] != "PreCompiled")
    (part,) = (row["milliseconds"] for row in rows if row["type"] == "PreCompiled")
    assert own > 0
    assert part <= max(plain - own, 0) + 1e-3
    assert found["profiled_latency"]["iterations"] == 20


@pytest.mark.parametrize("backend", ["CpuRef", "CpuAcc"])
def test_each_layer_with_products_has_a_row(backend: str) -> None:
    model = armnn.load_model(network(), [backend])
    recorder = Recorder()
    for _ in range(3):
        model.run({"x": np.ones((1, 8, 8, 3), np.float32)}, profiler=recorder)
    times = layer_times(recorder.events, model.report)
    counted = {time.layer: time.multiply_adds for time in times if time.multiply_adds}
    assert counted == MULTIPLY_ADDS
    assert {time.backend for time in times} == {backend}
    assert 0 < sum(time.share for time in times) <= 1
    found = arm_nn_profile(recorder.events)["ArmNN"]["inference_measurements_#1"]
    workloads = [value for key, value in found["Execute_#2"].items() if "Workload" in key]
    kernels = [key for each in workloads for key in each if "KernelTimer/" in key]
    # CpuAcc compiles the network into one workload and times the kernels in it.
    if backend == "CpuAcc":
        assert len(workloads) == 1
        assert {key.partition("/")[2].partition("_#")[0] for key in kernels} >= set(counted)
    else:
        assert len(workloads) > len(counted)
        assert kernels == []
