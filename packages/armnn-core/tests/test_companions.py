# SPDX-License-Identifier: MIT
"""Distributions split from the core: old names and messages."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

import pytest

import armnn
from armnn.__main__ import main as armnn_main
from armnn.errors import NotInstalledError
from armnn.installing import FORMER, import_companion, install_command
from armnn_backend_api import BACKEND_API_VERSION
from armnn_conformance import comparison
from fakes import Plugin, installed, write_plugin


def run(code: str, *arguments: str, folder: Path | None = None) -> str:
    environment = {**os.environ, **({"PYTHONPATH": str(folder)} if folder else {})}
    done = subprocess.run(
        [sys.executable, *arguments, *(["-c", code] if code else [])],
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout or done.stderr


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """Write a package ``armnn_compat`` with one stand-in."""
    package = tmp_path / "armnn_compat"
    (package / "acme").mkdir(parents=True)
    package.joinpath("__init__.py").write_text("")
    package.joinpath("acme", "__init__.py").write_text("RELEASE = 7\n")
    package.joinpath("acme", "__main__.py").write_text(
        "import sys; print(__name__, sys.argv[1:])\n"
    )
    return tmp_path


class Missing(MetaPathFinder):
    """Finds the distributions nowhere, as if they were not installed."""

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:
        if name in FORMER.values():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def none_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(FORMER) + tuple(FORMER.values())
    for name in [name for name in sys.modules if name.startswith(names)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), PathFinder])


def test_an_old_name_is_the_new_package() -> None:
    asked = (
        "import sys, armnn; before = 'armnn.testing' in sys.modules; import armnn_conformance; "
        "print(before, 'testing' in dir(armnn), armnn.testing is armnn_conformance)"
    )
    assert run(asked) == "False False True\n"


def test_modules_below_an_old_name_are_those_of_the_new_one() -> None:
    from armnn.testing import comparison as former

    assert former is comparison
    assert comparison.__spec__ is not None
    assert comparison.__spec__.name == "armnn_conformance.comparison"
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'armnn\.testing\.nosuch'"):
        import_companion("armnn.testing", "nosuch", "a test")


def test_a_stand_in_is_imported_and_run_by_its_old_name(stand_ins: Path) -> None:
    asked = "from armnn.compat import acme; import armnn_compat.acme as new; print(acme is new)"
    assert run(asked, folder=stand_ins) == "True\n"
    run_it = ["-m", "armnn.compat.acme", "program.py"]
    assert run("", *run_it, folder=stand_ins) == "__main__ ['program.py']\n"


@pytest.mark.usefixtures("none_installed")
@pytest.mark.parametrize("former", FORMER)
def test_without_the_distribution_its_old_name_says_what_to_install(former: str) -> None:
    name = FORMER[former].replace("_", "-")
    message = rf"^{former} needs {name}, which is not installed: pip install .* {name} \("
    with pytest.raises(NotInstalledError, match=message):
        import_module(former)


def test_what_a_distribution_itself_lacks_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "armnn_half.py").write_text("import nosuch_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nosuch_dependency"):
        import_companion("armnn_half", "", "a test")


TOOLS = Plugin(
    "acme-tools",
    "0.1",
    (),
    {"armnn.tools": {"debugging": "acme_debugging", "command": "acme_command"}},
    {
        "acme_debugging.bench": "from armnn.arguments import shown\n",
        "acme_command": "import sys\ndef main(): print(sys.argv[1:]); return 3\n",
    },
)
"""What has the entry points of armnn-tools."""


def test_a_tool_has_a_name_in_the_core(tmp_path: Path) -> None:
    write_plugin(tmp_path, TOOLS)
    asked = (
        "import armnn, armnn.debugging, acme_debugging; from armnn.debugging.bench import shown\n"
        "import acme_debugging.bench as bench\n"
        "print(armnn.debugging is acme_debugging, bench.shown is shown)"
    )
    assert run(asked, folder=tmp_path) == "True True\n"


def test_the_command_of_the_tools_is_that_of_the_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["armnn", "run", "--help"])
    with installed(tmp_path / "site", TOOLS, alone=True):
        assert armnn_main() == 3
    assert capsys.readouterr().out == "['run', '--help']\n"
    with installed(tmp_path / "none", alone=True):
        assert armnn_main() == 1
    told = capsys.readouterr().err
    assert told.startswith("armnn: error: the command armnn needs armnn-tools, which is not inst")
    assert install_command("armnn-tools") in told


@pytest.mark.parametrize("name", ["benchmarking", "debugging", "placement", "viewing"])
def test_without_the_tools_their_names_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delattr(armnn, name, raising=False)  # which imports it
    monkeypatch.delitem(sys.modules, f"armnn.{name}", raising=False)
    told = (
        f"armnn.{name} needs armnn-tools, which is not installed: {install_command('armnn-tools')}."
    )
    with installed(tmp_path, alone=True):
        with pytest.raises(NotInstalledError) as caught:
            import_module(f"armnn.{name}")
        assert str(caught.value) == told
        with pytest.raises(AttributeError) as asked:
            getattr(armnn, name)
        assert str(asked.value) == told
        assert not hasattr(armnn, name)
        assert name not in dict(inspect.getmembers(armnn))


def test_the_core_alone_says_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["armnn", "--version"])
    with installed(tmp_path, alone=True):
        assert armnn_main() == 0
    told = f"armnn-core {armnn.__version__} (Backend API {BACKEND_API_VERSION})\n"
    assert capsys.readouterr().out == told
