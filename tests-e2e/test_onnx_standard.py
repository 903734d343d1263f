# SPDX-License-Identifier: MIT
"""onnx's node tests: the floor, and the READMEs' figures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "packages" / "armnn-parser-onnx"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    path = tmp_path_factory.mktemp("standard") / "outcomes.json"
    done = subprocess.run(
        [sys.executable, "packages/armnn-parser-onnx/tools/onnx_standard.py", "--json", path],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[dict[str, str]] = json.loads(path.read_text())
    return found


def test_as_many_pass_as_are_recorded(outcomes: list[dict[str, str]]) -> None:
    counts = Counter(outcome["result"] for outcome in outcomes)
    counted = counts.total() - counts["excluded"]
    assert counts["passed"] >= 0.95 * counted
    assert counts["passed"] == int((PACKAGE / "onnx_standard_floor.txt").read_text())
    for readme in (REPOSITORY / "README.md", PACKAGE / "README.md"):
        said = " ".join(readme.read_text(encoding="utf-8").split())
        assert f" {counts['passed']} of the {counted} " in said


def test_every_refusal_names_an_operator_or_the_opset(outcomes: list[dict[str, str]]) -> None:
    refused = [outcome["reason"] for outcome in outcomes if outcome["result"] == "refused"]
    assert refused
    for reason in refused:
        assert "unsupported operators: " in reason or "uses opset" in reason
