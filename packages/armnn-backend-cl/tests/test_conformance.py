# SPDX-License-Identifier: MIT
"""GpuAcc passes the conformance kit for layers of each kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LAYERS = (
    "Activation", "Addition", "BatchMatMul", "BatchNormalization", "CachedAttention",
    "Comparison", "Concat", "Convolution2d", "DepthwiseConvolution2d", "DepthToSpace",
    "FullyConnected", "Gather", "InstanceNormalization", "LayerNormalization", "Mean",
    "Multiplication", "Pad", "Pooling2d", "Resize", "Softmax", "StridedSlice", "TensorScatter",
    "TransposeConvolution2d", "Transpose", "Where",
)  # fmt: skip


def test_the_kit_finds_nothing_wrong(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    kit = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--pyargs", "armnn_conformance"]
    options = ["--armnn-backend", "GpuAcc", "--armnn-card", str(card), "-q"]
    chosen = ["--armnn-layers", ",".join(LAYERS), "-k", "not graphs and not threads"]
    run = subprocess.run([*kit, *options, *chosen], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    result = json.loads(card.read_text())
    assert set(result["levels"].values()) == {"passed"}
    assert "signals" in result["backend"]["disturbs"]
    for layer in LAYERS:
        assert result["layers"][layer]["Float32"]["verdict"] == "passed", layer
