# SPDX-License-Identifier: MIT
"""``armnn bench``: table, JSON, exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import armnn
from armnn import Network
from armnn_tools.benchmarking import Measurement
from armnn_tools.cli import bench as command
from armnn_tools.cli.main import main

OURS = Measurement("armnn", 0.25, 4.0, [1_000_000, 2_000_000, 3_000_000], 500.0)
PEER = Measurement("onnxruntime", 0.5, 9.0, [3_000_000, 3_000_000, 6_000_000], 300.0)


@pytest.fixture
def model(tmp_path: Path, two_layers: Network) -> str:
    path = tmp_path / "two.armnn"
    armnn.save(two_layers, path)
    return str(path)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Measurement]:
    """Let measurements give these."""
    found = [OURS, PEER]

    def bench(model: str, backends: list[str] | None, **arguments: Any) -> list[Measurement]:
        assert arguments["against"] == ["onnxruntime"]
        assert (arguments["threads"], arguments["streams"], arguments["seconds"]) == (1, 2, 0.5)
        assert [each.dtype.name for each in arguments["inputs"]] == ["float32"]
        return found

    monkeypatch.setattr(command, "bench", bench)
    return found


ARGUMENTS = ["--against", "onnxruntime", "--threads", "1", "--streams", "2", "--duration", "0.5"]


def test_a_table_has_a_row_per_runtime(
    model: str, measured: list[Measurement], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", model, *ARGUMENTS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{model}, threads: 1, at once: 2"
    rows = [" ".join(line.split()) for line in lines[-3:-1]]
    assert rows == [
        "armnn 2.000 2.800 2.980 1.00 500.0 250 4.0",
        "onnxruntime 3.000 5.400 5.940 1.50 300.0 500 9.0",
    ]


def test_json_has_the_same(
    model: str, measured: list[Measurement], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", model, *ARGUMENTS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runtimes"] == [OURS.as_dict(), PEER.as_dict()]
    assert (found["threads"], found["streams"]) == (1, 2)


def test_a_plot_that_cannot_be_written_is_told_before_anything_is_measured(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "bench", None)
    monkeypatch.setattr(command, "parse", None)
    assert main(["bench", model, "--plot", "times.gif"]) == 1
    assert "ends with one of .svg, .png, .pdf" in capsys.readouterr().err
    monkeypatch.setattr(command, "check_plot", str)  # as with matplotlib
    assert main(["bench", model, "--plot", f"{model}/times.svg"]) == 1
    assert "times.svg', which cannot be written" in capsys.readouterr().err


def test_a_failure_of_ours_is_the_exit_status_and_of_a_peer_a_row(
    model: str, measured: list[Measurement], capsys: pytest.CaptureFixture[str]
) -> None:
    measured[1] = Measurement("onnxruntime", fault="it is out of order")
    assert main(["bench", model, *ARGUMENTS]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith("it is out of order")
    measured[0] = Measurement("armnn", fault="no memory")
    assert main(["bench", model, *ARGUMENTS]) == 1
