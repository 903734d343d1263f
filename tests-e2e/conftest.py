# SPDX-License-Identifier: MIT
"""Environments with some of our distributions, and the tests' models."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

import page_environments

REPOSITORY = Path(__file__).resolve().parents[1]

# Runs a command with its arguments, the way that a user would, and captures its output.
Run = Callable[..., subprocess.CompletedProcess[str]]


def runner(environment: Path, folder: Path) -> Run:
    """Return a runner of an environment's commands.

    It runs them in a folder outside of the checkout.
    """

    def run(command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [environment / "bin" / command, *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def core_alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner where only armnn-core is installed."""
    folder = tmp_path_factory.mktemp("core")
    return runner(page_environments.make(folder / "environment", ["armnn-core"]), folder)


@pytest.fixture(scope="session")
def core_with_tools(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner with core and command, without backends."""
    folder = tmp_path_factory.mktemp("tools")
    return runner(page_environments.make(folder / "environment", ["armnn-core[tools]"]), folder)


@pytest.fixture(scope="session")
def core_from_wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner where docs/installing.md was followed.

    The machine has no compiler.
    """
    folder = tmp_path_factory.mktemp("wheelhouse")
    environment = page_environments.make(folder / "environment", ["pip"])
    alone = {**os.environ, "PATH": str(environment / "bin")}
    fill = [sys.executable, "-m", "tools.release.wheelhouse", "--this-machine-only"]
    subprocess.run([*fill, "--folder", folder / "dist/wheelhouse"], check=True, cwd=REPOSITORY)
    assert not [
        name for name in ("c++", "cc", "g++", "gcc") if shutil.which(name, path=alone["PATH"])
    ]
    page = (REPOSITORY / "docs/installing.md").read_text(encoding="utf-8")
    for command in page_environments.COMMAND.findall(page)[:2]:
        into = [environment / "bin/pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*into, *shlex.split(command)], check=True, cwd=folder, env=alone)
    return runner(environment, folder)


@pytest.fixture(scope="session")
def installed_for(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return a function from a page to its environment.

    Pages with equal requirements share one.
    """
    made: dict[frozenset[str], Path] = {}

    def environment_of(page: Path) -> Path:
        requirements = page_environments.requirements_of(page)
        if requirements not in made:
            folder = tmp_path_factory.mktemp("page") / "environment"
            made[requirements] = page_environments.make(folder, requirements)
        return made[requirements]

    return environment_of


@pytest.fixture(scope="session")
def usual_environment(installed_for: Callable[[Path], Path]) -> Path:
    """Return the environment of the page on the command."""
    return installed_for(REPOSITORY / "docs/command-line.md")


@pytest.fixture(scope="session")
def core_with_loader(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner with core, loader and command, without backends."""
    folder = tmp_path_factory.mktemp("loader")
    environment = page_environments.make(folder / "environment", ["armnn-core[dynamic,tools]"])
    return runner(environment, folder)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner in the tests' full environment."""
    return runner(Path(sys.prefix), tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def model() -> Callable[[str], Path]:
    """Return a function from a model's name to its path."""

    @functools.cache
    def fetch(name: str) -> Path:
        command = [sys.executable, "-m", "tools.models.fetch", name]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        return Path(run.stdout.strip())

    return fetch


@pytest.fixture(scope="session")
def page() -> Path:
    """Return a picture of a page turned clockwise."""
    return REPOSITORY / "examples" / "page_turned_90.png"
