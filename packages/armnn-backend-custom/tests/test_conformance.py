# SPDX-License-Identifier: MIT
"""Custom passes the conformance kit for what it claims."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_kit_finds_nothing_wrong(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    kit = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "--pyargs", "armnn_conformance"]
    options = ["--armnn-backend", "Custom", "--armnn-card", str(card), "-q", "-k", "Addition"]
    run = subprocess.run([*kit, *options], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    result = json.loads(card.read_text())
    assert set(result["levels"].values()) == {"passed"}
    verdicts = {name: row["verdict"] for name, row in result["layers"]["Addition"].items()}
    assert verdicts.pop("Float32") == "passed"
    assert set(verdicts.values()) == {"not supported"}
