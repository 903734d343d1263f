# SPDX-License-Identifier: MIT
"""GpuAcc passes the conformance kit for layer types of nearly all kernels.

PoCL takes a minute to compile them. The sessions ``gpu_pocl`` and ``gpu_intel`` run the kit for all
layers and types.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LAYERS = (
    "Activation", "Addition", "BatchMatMul", "BatchNormalization", "Concat", "Convolution2d",
    "DepthwiseConvolution2d", "DepthToSpace", "FullyConnected", "Gather", "InstanceNormalization",
    "LayerNormalization", "Mean", "Pad", "Pooling2d", "Resize", "RotaryEmbedding", "Softmax",
    "StridedSlice", "TensorScatter", "TransposeConvolution2d", "Transpose", "Where",
)  # fmt: skip

OTHER_TYPES = (
    "BatchMatMul-QAsymmS8", "Convolution2d-QAsymmS8", "Gather-Boolean", "Mean-Signed32",
    "Softmax-Float16", "TransposeConvolution2d-QAsymmU8",
)  # fmt: skip
"""Cells of the kit beside Float32, one for each way in which kernels read elements."""

POCL = os.path.expanduser("~/.cache/pocl/kcache")
"""PoCL's own cache, which is not in the other folder."""


def test_the_kit_finds_nothing_wrong(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    kit = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--pyargs", "armnn_conformance"]
    options = ["--armnn-backend", "GpuAcc", "--armnn-card", str(card), "-q"]
    types = " or ".join(["not claimed_is_computed", "Float32", *OTHER_TYPES])
    wanted = f"not graphs and not threads and ({types})"
    chosen = ["--armnn-layers", ",".join(LAYERS), "-k", wanted]
    (tmp_path / "armnn").touch()  # so that no programs are kept there
    run = subprocess.run(
        [*kit, *options, *chosen],
        env={"POCL_CACHE_DIR": POCL, **os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stdout
    result = json.loads(card.read_text())
    assert set(result["levels"].values()) == {"passed"}
    assert "signals" in result["backend"]["disturbs"]
    for layer in LAYERS:
        assert result["layers"][layer]["Float32"]["verdict"] == "passed", layer
    for layer, kind in (cell.split("-") for cell in OTHER_TYPES):
        assert result["layers"][layer][kind]["verdict"] == "passed", (layer, kind)
