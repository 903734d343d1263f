# SPDX-License-Identifier: MIT
"""Running a program with a stand-in in its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from armnn.compat.program import run_program

PROGRAM = "import sys, neighbour\nprint(__name__, neighbour.NAME, *sys.argv[1:])\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "neighbour.py").write_text("NAME = 'beside'\n")
    path, arguments = list(sys.path), sys.argv
    yield tmp_path
    sys.path[:], sys.argv = path, arguments
    sys.modules.pop("neighbour", None)


def run(*arguments: str) -> list[str]:
    calls: list[str] = []
    run_program(lambda: calls.append("installed"), "armnn.compat.acme", "acme", arguments)
    return calls


def test_a_file_runs_as_a_program_that_finds_its_neighbours(folder, capsys) -> None:
    assert run(str(folder / "program.py"), "--its", "option") == ["installed"]
    assert capsys.readouterr().out == "__main__ beside --its option\n"


def test_a_module_runs_as_a_program(folder, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    assert run("-m", "program", "-m") == ["installed"]
    assert capsys.readouterr().out == "__main__ beside -m\n"


def test_without_a_program_the_usage_is_said(capsys) -> None:
    with pytest.raises(SystemExit):
        run()
    assert "usage: python -m armnn.compat.acme [-h] [-m] program" in capsys.readouterr().err
