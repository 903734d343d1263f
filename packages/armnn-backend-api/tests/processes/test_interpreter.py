# SPDX-License-Identifier: MIT
"""Frozen applications, and processes without an interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from armnn_backend_api.processes import (
    Bounds,
    Program,
    PythonCall,
    StartError,
    freeze_support,
    run,
)

APPLICATION = """\
import sys
sys.frozen = True
from armnn_backend_api.processes import Bounds, PythonCall, StartError, freeze_support, run
if {supports}:
    freeze_support()
print("the application runs", flush=True)
try:
    print(run(PythonCall("builtins:print", ("called",)), Bounds(seconds=60)).output)
except StartError as error:
    print(error)
"""


def frozen(tmp_path: Path, *, supports: bool) -> list[str]:
    """Return what a frozen application prints.

    Its executable passes its arguments to the program, as PyInstaller's does.
    """
    program, executable = tmp_path / "program.py", tmp_path / "application"
    program.write_text(
        f"import sys; sys.executable = {str(executable)!r}\n"
        + APPLICATION.format(supports=supports)
    )
    executable.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    executable.chmod(0o755)
    output = subprocess.run([executable], capture_output=True, text=True, check=True).stdout
    return output.splitlines()


def test_a_frozen_application_with_freeze_support_has_children(tmp_path: Path) -> None:
    assert frozen(tmp_path, supports=True) == ["the application runs", repr(b"called\n")]


def test_a_frozen_application_without_it_is_not_started_again(tmp_path: Path) -> None:
    assert frozen(tmp_path, supports=False) == [
        "the application runs",
        "this is a frozen application that does not call armnn.freeze_support() first",
    ]


def test_a_process_without_interpreter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(StartError, match=r"sys\.executable is not set"):
        run(Program(["true"]), Bounds(seconds=5))


def test_freeze_support_does_nothing_in_an_interpreter() -> None:
    freeze_support()


def test_an_executable_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(FileNotFoundError):
        run(PythonCall("builtins:print"), Bounds(seconds=5))
