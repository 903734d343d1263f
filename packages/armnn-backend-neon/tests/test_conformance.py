# SPDX-License-Identifier: MIT
"""CpuAcc passes the conformance kit on every level here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = (
    "Activation or Convolution2d or Addition or FullyConnected or BatchMatMul or Pooling2d "
    "or Softmax or Reduce or Concat or Transpose or Attention or Gru or Lstm or Pad or Where "
    "or Fill or Fused or Rank"
)
CLAIMED = {
    "Activation",
    "Addition",
    "Attention",
    "BatchMatMul",
    "Concat",
    "Convolution2d",
    "DepthwiseConvolution2d",
    "Fill",
    "FullyConnected",
    "Fused",
    "Gru",
    "LogSoftmax",
    "Lstm",
    "Pad",
    "Pooling2d",
    "Rank",
    "Reduce",
    "SequenceLstm",
    "Softmax",
    "Transpose",
    "UnidirectionalSequenceLstm",
    "Where",
}


def test_the_kit_finds_nothing_wrong(tmp_path: Path, level: str) -> None:
    card = tmp_path / "card.json"
    kit = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--pyargs", "armnn_conformance"]
    options = ["--armnn-backend", "CpuAcc", "--armnn-card", str(card), "-q"]
    run = subprocess.run(
        [*kit, *options, "-k", f"Float32 and ({SAMPLE}) or compiles_graphs or diamond"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "ARMNN_CPUACC_ISA": level, "ARMNN_CPUACC_THREADS": "2"},
    )
    assert run.returncode == 0, run.stdout
    layers = json.loads(card.read_text())["layers"]
    passed = {layer for layer, cells in layers.items() if cells["Float32"]["verdict"] == "passed"}
    assert passed >= CLAIMED


@pytest.mark.parametrize("unknown", ["avx1024", "neonlight"])
def test_a_level_that_the_machine_lacks_is_refused(unknown: str) -> None:
    code = (
        "import armnn_backend_neon.backend as b\n"
        "try:\n    b.CpuAccBackend().start()\n"
        "except Exception as error:\n    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "ARMNN_CPUACC_ISA": unknown},
        check=True,
    )
    assert "ARMNN_CPUACC_ISA names a level that this CPU or this build lacks" in run.stdout
