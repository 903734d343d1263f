# SPDX-License-Identifier: MIT
"""Modules stand in for others, in a program and in its child processes."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from armnn_compat.standing_in import AlreadyImportedError, StandIn, run_program, withdraw


@pytest.fixture
def modules() -> dict[str, ModuleType]:
    return {"acme_runtime": ModuleType("ours"), "acme_runtime.inner": ModuleType("inner")}


def test_imports_find_the_modules_as_long_as_the_block_lasts(modules) -> None:
    with StandIn(modules):
        assert importlib.import_module("acme_runtime") is modules["acme_runtime"]
        assert importlib.import_module("acme_runtime.inner") is modules["acme_runtime.inner"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("acme_runtime")


def test_an_inner_block_leaves_what_the_outer_one_put_there(modules) -> None:
    with StandIn(modules):
        with StandIn(modules):
            pass
        assert sys.modules["acme_runtime"] is modules["acme_runtime"]
    assert "acme_runtime" not in sys.modules


def test_without_a_block_the_modules_stay_until_they_are_withdrawn(modules) -> None:
    StandIn(modules)
    assert sys.modules["acme_runtime"] is modules["acme_runtime"]
    withdraw(modules)
    withdraw(modules)
    assert modules.keys().isdisjoint(sys.modules)


def test_a_name_that_is_taken_is_refused_and_nothing_is_changed(modules, monkeypatch) -> None:
    real = ModuleType("acme_runtime.inner")
    real.__file__ = "/site/acme_runtime/inner.py"
    monkeypatch.setitem(sys.modules, "acme_runtime.inner", real)
    with pytest.raises(
        AlreadyImportedError,
        match=r"^cannot take the place of 'acme_runtime.inner': it was imported before from "
        r"/site/acme_runtime/inner.py. Call install\(\) before anything imports it.$",
    ):
        StandIn(modules)
    assert "acme_runtime" not in sys.modules
    withdraw(modules)
    assert sys.modules["acme_runtime.inner"] is real


PROGRAM = "import sys, neighbor\nprint(__name__, neighbor.NAME, *sys.argv[1:])\n"


ACME = ModuleType("armnn_compat.acme")
ACME.__path__ = ["/site/acme"]
CHILDREN = str(Path("/site/acme/children"))

PARENT = """\
import importlib, multiprocessing, subprocess, sys

def where(name):
    return importlib.import_module(name).__name__

if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(*pool.map(where, sys.argv[1:]))
    code = "import parent, sys; print(*map(parent.where, sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, *sys.argv[1:]], check=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PYTHONPATH", "/before")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "neighbor.py").write_text("NAME = 'beside'\n")
    path, arguments = list(sys.path), sys.argv
    yield tmp_path
    sys.path[:], sys.argv = path, arguments
    sys.modules.pop("neighbor", None)


def run(*arguments: str) -> list[str]:
    calls: list[str] = []
    run_program(lambda: calls.append("installed"), ACME, "acme", arguments)
    return calls


def test_a_file_runs_as_a_program_that_finds_its_neighbors(folder, capsys) -> None:
    assert run(str(folder / "program.py"), "--its", "option") == ["installed"]
    assert capsys.readouterr().out == "__main__ beside --its option\n"


def test_a_module_runs_as_a_program(folder, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    assert run("-m", "program", "-m") == ["installed"]
    assert capsys.readouterr().out == "__main__ beside -m\n"


def test_without_a_program_the_usage_is_said(capsys) -> None:
    with pytest.raises(SystemExit):
        run()
    assert "usage: python -m armnn_compat.acme [-h] [-m] program" in capsys.readouterr().err


def test_what_the_program_starts_finds_the_stand_in_after_its_own_folder(folder) -> None:
    run(str(folder / "program.py"))
    assert sys.path[:2] == [str(folder), CHILDREN]
    assert os.environ["PYTHONPATH"] == os.pathsep.join([CHILDREN, "/before"])


def test_an_environment_without_a_path_gets_one(folder, monkeypatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    run(str(folder / "program.py"))
    assert os.environ["PYTHONPATH"] == CHILDREN


@pytest.mark.parametrize(
    ("stand_in", "names"),
    [
        ("onnxruntime", {"onnxruntime.capi._pybind_state": "capi.onnxruntime_pybind11_state"}),
        (
            "litert",
            {
                "ai_edge_litert.interpreter": "interpreter",
                "tflite_runtime.interpreter": "interpreter",
            },
        ),
        ("pyarmnn", {"pyarmnn._version": "_version"}),
    ],
)
def test_children_of_a_program_have_the_stand_in(
    tmp_path: Path, stand_in: str, names: dict[str, str]
) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    package = f"armnn_compat.{stand_in}"
    outcome = subprocess.run(
        [sys.executable, "-u", "-m", package, tmp_path / "parent.py", *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = " ".join(f"{package}.{inner}" for inner in names.values())
    methods = multiprocessing.get_all_start_methods()
    assert outcome.stdout.splitlines() == [expected] * (len(methods) + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch.py"], "error: there is no program 'nosuch.py'; -m runs a module"),
        (["-m", "nosuch"], "error: there is no module 'nosuch' that can be run"),
        (["-m", "nosuch.inside"], "error: there is no module 'nosuch.inside' that can be run"),
        (["-m", "package"], "error: there is no module 'package' that can be run"),
        (["-m", ".program"], "error: there is no module '.program' that can be run"),
        (["empty"], "error: there is no program in the folder 'empty'"),
    ],
)
def test_a_program_that_is_not_there_is_said_to_be(
    arguments: list[str], message: str, folder, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_package_that_lacks_something_says_what(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "lacking").mkdir()
    (folder / "lacking" / "__init__.py").write_text("import nosuch_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="nosuch_dependency"):
        run("-m", "lacking.program")


def test_a_folder_with_a_main_module_runs(folder, capsys) -> None:
    (folder / "__main__.py").write_text("print('from', __name__)\n")
    run(str(folder))
    assert capsys.readouterr().out == "from __main__\n"
