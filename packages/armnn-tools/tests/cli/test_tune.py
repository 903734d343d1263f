# SPDX-License-Identifier: MIT
"""``armnn tune``: choices of backends, and the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import armnn
from armnn import Network
from armnn.errors import PlacementError
from armnn_tools.cli import tune as command
from armnn_tools.cli.main import main
from armnn_tools.placement import Trial, Verdict, read_verdicts
from fakes import Plugin, installed

VERDICT = Verdict(
    models=("file 1 aa",),
    machine="a machine",
    builds={"CpuRef": "armnn-backend-ref 1.2.0"},
    day="2026-11-22",
    trials=(
        Trial(("CpuRef",), {}, 100.4, 0.5, 0.0, {"CpuRef": 2}),
        Trial(("A", "CpuRef"), {"A": {"NumberOfThreads": 1}}, 250.0, 0.25, 12.0, {"A": 2}),
        Trial(("B",), fault="computes relu wrongly"),
    ),
)


@pytest.fixture
def model(tmp_path: Path, two_layers: Network) -> str:
    path = tmp_path / "two.armnn"
    armnn.save(two_layers, path)
    return str(path)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let measurements give one verdict; return their arguments."""
    found: list[dict[str, Any]] = []

    def measured(model: str, backends: list[str] | None, **arguments: Any) -> Verdict:
        arguments["tell"]("A")
        found.append({"model": model, "backends": backends, **arguments})
        return VERDICT

    monkeypatch.setattr(command, "tune", measured)
    return found


def test_the_table_has_every_choice(
    model: str, requests: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "verdicts.json"
    assert main(["tune", model, "-o", str(file), "--backends", "CpuRef,A", "--budget", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split() == ["CpuRef", "100", "1.00", "0.50", "chosen"]
    assert lines[5].split() == ["A,CpuRef", "A.NumberOfThreads=1", "250", "2.49", "12", "0.25"]
    assert lines[6].split() == ["B", "computes", "relu", "wrongly"]
    assert f"Wrote the verdict to {file}" in lines[8]
    assert "CpuAcc is both: pip install --no-index --find-links WHEELHOUSE" in lines[9]
    (request,) = requests
    assert request["backends"] == ["CpuRef", "A"]
    assert request["budget"] == 3.0
    assert request["inputs"]["x"].shape == (64, 1024)
    assert read_verdicts(file) == (VERDICT,)


def test_json_is_the_verdict(
    model: str,
    requests: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["tune", model, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    file = tmp_path / "cache" / "armnn" / "verdicts.json"
    assert document["file"] == str(file)
    assert document["trials"][1]["options"] == {"A": {"NumberOfThreads": 1}}
    assert read_verdicts(file) == (VERDICT,)


def test_another_users_rights_need_a_named_file(
    model: str,
    requests: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: -1)
    assert main(["tune", model]) == 1
    assert "name a file, as in -o verdicts.json" in capsys.readouterr().err
    assert requests == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("verdicts.json", "{}", "is not a file of verdicts"),
        ("folder", None, "cannot be read: "),
        ("/proc/x.json", "", "'/proc' is not a folder that is yours to write"),
        ("two.armnn/more/verdicts.json", "", "two.armnn' is not a folder that is yours to write"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    model: str,
    requests: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    said: str,
) -> None:
    file = tmp_path / name
    if content is None:
        file.mkdir()
    elif content:
        file.write_text(content)
    assert main(["tune", model, "-o", str(file)]) == 1
    assert said in capsys.readouterr().err
    assert requests == []


def test_a_verdict_is_written_into_a_new_folder(
    model: str, requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "new" / "folder" / "verdicts.json"
    assert main(["tune", model, "-o", str(file)]) == 0
    assert len(requests) == 1
    assert read_verdicts(file) == (VERDICT,)


def test_a_failed_measurement_is_an_error(
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failed(*_: object, **__: object) -> Verdict:
        raise PlacementError(
            "no choice of backends ran the model with right results:\n- A: crashed"
        )

    monkeypatch.setattr(command, "tune", failed)
    file = tmp_path / "verdicts.json"
    assert main(["tune", model, "-o", str(file)]) == 1
    assert "armnn: error: no choice of backends" in capsys.readouterr().err
    assert not file.exists()


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
        (["A"], ["-o", "/proc/x"], "--output got '/proc/x', which cannot be written (No such file"),
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
