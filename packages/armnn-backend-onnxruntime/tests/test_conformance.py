# SPDX-License-Identifier: MIT
"""OnnxRuntime passes the conformance kit for what it claims."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_kit_finds_nothing_wrong(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    kit = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--pyargs", "armnn_conformance"]
    some = "FullyConnected or Softmax or diamond"
    options = ["--armnn-backend", "OnnxRuntime", "--armnn-card", str(card), "-q", "-k", some]
    run = subprocess.run([*kit, *options], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    result = json.loads(card.read_text())
    assert set(result["levels"].values()) == {"passed"}
    verdicts = {layer: cells["Float32"]["verdict"] for layer, cells in result["layers"].items()}
    assert verdicts == {
        "FullyConnected": "passed",
        "Softmax": "passed",
        "LogSoftmax": "passed",
    }
