# SPDX-License-Identifier: MIT
"""``armnn run --record`` and ``armnn verify``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from armnn import metadata
from armnn_tools.cli.main import main


@pytest.fixture
def recorded(
    model: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Return a model whose record is in the file record.json."""
    monkeypatch.setattr(metadata, "installed", lambda _: None)  # hashing NumPy takes a second
    path = model()
    assert main(["run", path, "--backends", "Half,Toy", "--record", "record.json"]) == 0
    assert "Wrote record to record.json" in capsys.readouterr().out
    return path


@pytest.fixture
def verified(
    recorded: str, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str]]]:
    """Return a function that verifies it, for the exit code and the lines."""

    def run(*arguments: str) -> tuple[int, list[str]]:
        code = main(["verify", "record.json", recorded, *arguments])
        return code, capsys.readouterr().out.splitlines()

    return run


def changed(path: Sequence[str], value: Any) -> None:
    document = json.loads(Path("record.json").read_text())
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    Path("record.json").write_text(json.dumps(document))


def test_the_record_says_what_ran_where_and_why(recorded: str) -> None:
    document = json.loads(Path("record.json").read_text())
    assert [(row["layer"], row["backend"], row["reason"]) for row in document["plan"]] == [
        ("double_x", "Half", ""),
        ("plus_x", "Toy", "Half: it cannot add"),
    ]
    assert document["model"]["path"] == str(Path(recorded).absolute())
    assert document["options"]["backends"] == ["Half", "Toy"]


def test_nothing_differs_without_a_change(verified: Callable[..., Any]) -> None:
    code, lines = verified()
    assert code == 0
    (line,) = lines
    assert line.startswith("None of ")


def test_each_difference_is_a_line(
    verified: Callable[..., Any], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(recorded).write_text(Path(recorded).read_text() + "\n")
    monkeypatch.setenv("ARMNN_TOY_LEVEL", "3")
    changed(["core", "version"], "1.0.0")
    code, lines = verified()
    assert code == 1
    names = [line.partition(":")[0] for line in lines]
    assert names[:3] == ["model.sha256", "core.version", "environment.ARMNN_TOY_LEVEL"]
    assert lines[2] == "environment.ARMNN_TOY_LEVEL: recorded nothing, got 3"
    assert lines[3].startswith("3 of ")
    assert lines[3].endswith(" items differ")


def test_items_can_be_ignored(
    verified: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_TOY_LEVEL", "3")
    assert verified("--ignore", "environment.ARMNN_TOY")[0] == 1  # no part of a name
    code, lines = verified("--ignore", "environment", "--ignore", "device.system")
    assert code == 0
    assert lines[0].endswith("differs, 1 ignored")


def test_json_has_the_differences(
    verified: Callable[..., Any], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_TOY_LEVEL", "3")
    code, lines = verified("--json")
    found = json.loads("\n".join(lines))
    assert code == 1
    assert (found["record"], found["model"], found["ignored"]) == ("record.json", recorded, 0)
    assert found["differences"] == [
        {"item": "environment.ARMNN_TOY_LEVEL", "recorded": None, "got": "3"}
    ]


def test_what_the_record_may_not_say_is_an_option(
    verified: Callable[..., Any], recorded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(["options", "runtime", "lock_file"], "/opt/backends.lock")
    assert main(["verify", "record.json", recorded]) == 1
    assert "--lock-file /opt/backends.lock" in capsys.readouterr().err


def test_a_record_that_cannot_be_written_is_refused_before_the_run(
    model: Callable[..., str], error: Callable[..., str]
) -> None:
    assert "--record got 'none/record.json'" in error(model(), "--record", "none/record.json")
