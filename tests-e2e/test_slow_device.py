# SPDX-License-Identifier: MIT
"""`armnn tune` with GpuAcc whose kernels are slow: it is measured with its copies, and not used."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo

PLANTED = '''
"""GpuAcc with kernels that take a second, and without ArgMinMax."""
import time

from armnn_backend_cl.launches import LaunchingWorkload
from armnn_backend_cl.layers.table import LOWERINGS

del LOWERINGS["ArgMinMax"]
bind_in = LaunchingWorkload.bind_in


def slow_in(self, *memory):
    step = bind_in(self, *memory)

    def slow():
        time.sleep(1)
        step()

    return slow


LaunchingWorkload.bind_in = slow_in
'''


def network() -> Network:
    """Return layers of which GpuAcc takes enough that they are worth their copies, and one more."""
    net = Network("classifier")
    x = net.add_input("x", TensorInfo((16, 512)))
    weights = np.random.default_rng(0).normal(0, 0.05, (512, 512)).astype(np.float32)
    y = net.add_activation(net.add_fully_connected(x, net.add_constant(weights)), function="Square")
    net.add_output("y", net.add_arg_min_max(y, function="Max", axis=1))
    return net


def test_a_slower_gpu_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, planted = tmp_path / "classifier.armnn", tmp_path / "planted.py"
    armnn.save(network(), path)
    planted.write_text(PLANTED)
    options = ("--backends", "GpuAcc,CpuRef", "--import", planted, "--budget", "600", "--json")
    command = [sys.executable, "-m", "armnn", "tune", path, *options]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    best, other = json.loads(found.stdout)["trials"]
    assert (best["backends"], best["layers"]) == (["CpuRef"], {"CpuRef": 3})
    assert (other["backends"], other["layers"]) == (
        ["GpuAcc", "CpuRef"],
        {"GpuAcc": 2, "CpuRef": 1},
    )
    assert other["microseconds"] > 1e6 > best["microseconds"]
    assert other["border_microseconds"] > 0
    model = armnn.load_model(path, backends="auto")
    assert model.report.layers_by_backend == {"CpuRef": 3}
    said = r"CpuRef: [\d,]+ us \(others: GpuAcc,CpuRef: \d,[\d,]+ us, [\d,]+ us of it at borders\)"
    assert re.search(said, model.report.choice)
