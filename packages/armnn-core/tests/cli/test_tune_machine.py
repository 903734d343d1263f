# SPDX-License-Identifier: MIT
"""``armnn tune --machine``: measured and kept on request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from armnn.cli.main import main
from fakes import Plugin, installed

SOURCE = """
import os

def measure():
    return {
        "text": "costs of a plug-in",
        "costs": {"multiply_add": 0.0123456, "fork": 900.0},
        "variable": "ACME_COSTS",
        "kept": os.environ.get("ACME_KEPT"),
    }
"""


def plugin(*backends: str) -> Plugin:
    """Return a distribution that measures for some backends."""
    entries = dict.fromkeys(backends, "acme_tuning:measure")
    return Plugin(
        "acme-tuning",
        "1.0",
        entry_points={"armnn.tuners": entries},
        modules={"acme_tuning": SOURCE},
    )


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "kept.costs"
    monkeypatch.setenv("ACME_KEPT", str(path))
    return path


def test_costs_are_measured_and_kept(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, plugin("Acme"), alone=True):
        assert main(["tune", "--machine"]) == 0
    out = capsys.readouterr().out
    assert "Costs of Acme on this machine" in out
    assert "0.0123" in out
    assert kept.read_text() == "costs of a plug-in"
    assert "Acme uses it from now on." in " ".join(out.split())


def test_costs_are_written_where_they_are_wanted(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "machine.costs"
    with installed(tmp_path, plugin("Acme"), alone=True):
        assert main(["tune", "--machine", "-o", str(path)]) == 0
    assert path.read_text() == "costs of a plug-in"
    assert not kept.exists()
    assert f"ACME_COSTS={path} makes Acme use it." in " ".join(capsys.readouterr().out.split())


def test_the_result_is_json_on_request(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, plugin("Acme"), alone=True):
        assert main(["tune", "--machine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "backend": "Acme",
        "file": str(kept),
        "costs": {"multiply_add": 0.0123456, "fork": 900.0},
    }


def test_a_process_with_the_rights_of_another_user_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ACME_KEPT")
    with installed(tmp_path, plugin("Acme"), alone=True):
        assert main(["tune", "--machine"]) == 1
    assert "name a file, as in -o machine.costs" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("backends", "arguments", "message"),
    [
        ([], [], "no installed backend can be tuned; CpuAcc can: pip install"),
        (["A", "B"], [], "several backends can be tuned: name one of A, B by --backends"),
        (["A"], ["--backends", "B"], "backend 'B' cannot be tuned: expected A"),
        (["A"], ["-o", "/nowhere/file"], "--output got '/nowhere/file', which cannot be written"),
    ],
)
def test_what_cannot_be_measured_is_an_error(
    backends: list[str],
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with installed(tmp_path, plugin(*backends), alone=True):
        assert main(["tune", "--machine", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["model.onnx", "--machine"]])
def test_either_a_model_or_the_machine_is_measured(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tune", *arguments])
    assert ended.value.code == 2
    assert "expected either MODEL or --machine" in capsys.readouterr().err
