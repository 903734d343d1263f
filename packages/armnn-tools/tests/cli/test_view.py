# SPDX-License-Identifier: MIT
"""``armnn view``: the file, its numbers, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import ActivationFunction, Network, TensorInfo
from armnn.parsing.exporting import save
from armnn_tools.cli.main import main


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    network = Network("small")
    x = network.add_input("x", TensorInfo((2, 4)))
    weights = network.add_constant(np.ones((3, 4), np.float32), name="w")
    value = network.add_fully_connected(x, weights, transpose_weight_matrix=True, name="dense")
    value = network.add_activation(value, function=ActivationFunction.RELU, name="relu")
    network.add_output("y", value)
    save(network, tmp_path / "small.armnn")
    return tmp_path / "small.armnn"


def document(path: Path) -> dict[str, Any]:
    inside = path.read_text(encoding="utf-8").split('type="application/json">')[1]
    found: dict[str, Any] = json.loads(inside.split("</script>")[0])
    return found


def test_it_writes_the_graph_beside_the_user(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(model), "--backends", "CpuRef"]) == 0
    assert capsys.readouterr().out == "Wrote small.html\n"
    found = document(Path("small.html"))
    assert [(node["name"], node["backend"]) for node in found["nodes"]] == [
        ("x", ""), ("dense", "CpuRef"), ("relu", "CpuRef"), ("y", ""),
    ]  # fmt: skip
    assert found["totals"] == {
        "layers": 2, "weights": 12, "weight_bytes": 48, "multiply_adds": 24,
    }  # fmt: skip


def test_inspect_and_json_say_the_same_numbers(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(model), "--backends", "CpuRef", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert not Path("small.html").exists()
    assert main(["inspect", str(model), "--backends", "CpuRef", "--layers", "--json"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    totals = shown["totals"]
    assert [totals["weights"], totals["weight_bytes"], totals["multiply_adds"]] == [
        inspected["parameters"], inspected["parameter_bytes"], inspected["multiply_adds"],
    ]  # fmt: skip


def test_a_profile_and_a_comparison_are_shown(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(model), "--backends", "CpuRef"]
    assert main(["run", *given, "--input", "x=random", "--profile", "trace.json"]) == 0
    assert main(["view", *given, "--profile", "trace.json", "-o", "timed.html"]) == 0
    timed = document(Path("timed.html"))
    assert timed["is_timed"]
    assert all(node["time"]["share"] > 0 for node in timed["nodes"] if node["backend"])
    capsys.readouterr()
    assert main(["compare", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wrong = {"layers": ["relu"], "wrong": True, "kind": "values", "ratio": 3.0, "largest": 0.5}
    found["verdicts"] = [{**wrong, "unit": "steps", "note": ""}]  # CpuRef agrees with itself
    Path("found.json").write_text(json.dumps(found))
    assert main(["view", *given, "--compare", "found.json", "-o", "compared.html"]) == 0
    compared = document(Path("compared.html"))
    findings = {node["name"]: node["verdict"] for node in compared["nodes"]}
    assert findings["dense"] is None
    assert (findings["relu"]["is_wrong"], findings["relu"]["ratio"]) == (True, 3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "small.svg"], r"--output got 'small.svg', expected a file ending in \.html"),
        (["-o", "none/small.html"], "--output got 'none/small.html', which cannot be written"),
        (["--profile", "none.json"], "'none.json' cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told(
    model: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["view", str(model), "--backends", "CpuRef", *options]) == 1
    assert re.search(message, capsys.readouterr().err)
