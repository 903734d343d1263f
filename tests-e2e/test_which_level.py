# SPDX-License-Identifier: MIT
"""A comparison at each CPU level of CpuAcc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import armnn
from armnn_backend_neon.backend import CpuAccBackend
from armnn_parser_onnx.export import to_onnx
from armnn_tools.cli.main import main

if TYPE_CHECKING:
    import pytest

LEVEL = CpuAccBackend().devices()[0].name
"""A level that this build and this CPU have."""


def test_each_level_is_compared_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = armnn.Network("level")
    x = net.add_input("x", armnn.TensorInfo((1, 8)))
    weights = net.add_constant(np.random.default_rng(0).standard_normal((4, 8), np.float32))
    net.add_output("y", net.add_fully_connected(x, weights, transpose_weight_matrix=True))
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(net))
    command = ["compare", str(path), "--backends", "CpuAcc", "--every-layer", "--repeats", "2"]
    status = main([*command, "--vary", f"ARMNN_CPUACC_ISA={LEVEL},abacus", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert status == 1
    assert found["variable"] == "ARMNN_CPUACC_ISA"
    assert found["values"][LEVEL]["agrees"]
    (verdict,) = found["values"][LEVEL]["verdicts"]
    assert verdict["backend"] == "CpuAcc"
    assert "this CPU or this build lacks, expected one of" in found["values"]["abacus"]["error"]
