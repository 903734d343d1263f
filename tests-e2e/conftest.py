# SPDX-License-Identifier: MIT
"""Environments from the wheels in dist/, and the tests' models."""

from __future__ import annotations

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
DIST = REPOSITORY / "dist"

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


def install(environment: Path, packages: list[str], requirement: str) -> Path:
    """Return an environment with our packages and third-party ones.

    Ours are from dist/, the others from the index; pip finds them consistent.
    """
    wheels = [str(wheel) for name in packages for wheel in DIST.glob(f"{name}-*.whl")]
    assert len(wheels) == len(packages), f"{DIST} lacks wheels; ./nox -s build makes them"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    # Few modules are imported: compiling all of them takes longer.
    into = [*pip, "install", "--quiet", "--no-compile"]
    # First without dependencies, so that none of our names is ever looked up on an index.
    subprocess.run([*into, "--no-deps", *wheels], check=True)
    subprocess.run([*into, requirement], check=True)
    subprocess.run([*pip, "check"], check=True)
    return environment


@pytest.fixture(scope="session")
def core_alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner where only armnn-core is installed."""
    folder = tmp_path_factory.mktemp("core")
    packages = ["armnn_backend_api", "armnn_core"]
    return runner(install(folder / "environment", packages, "armnn-core"), folder)


WITH_TOOLS = ["armnn_backend_api", "armnn_core", "armnn_parser_armnn", "armnn_tools"]


@pytest.fixture(scope="session")
def core_with_tools(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner with core and command, without backends."""
    folder = tmp_path_factory.mktemp("tools")
    return runner(install(folder / "environment", WITH_TOOLS, "armnn-core[tools]"), folder)


@pytest.fixture(scope="session")
def core_from_wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner where docs/installing.md was followed.

    The machine has no compiler.
    """
    folder = tmp_path_factory.mktemp("wheelhouse")
    environment = folder / "environment"
    alone = {**os.environ, "PATH": str(environment / "bin")}
    fill = [sys.executable, "-m", "tools.release.wheelhouse", "--this-machine-only"]
    subprocess.run([*fill, "--folder", folder / "dist/wheelhouse"], check=True, cwd=REPOSITORY)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    assert not [
        name for name in ("c++", "cc", "g++", "gcc") if shutil.which(name, path=alone["PATH"])
    ]
    page = (REPOSITORY / "docs/installing.md").read_text(encoding="utf-8")
    for command in page_environments.COMMAND.findall(page)[:2]:
        pip = [environment / "bin/pip", "install", "--quiet", *shlex.split(command)]
        subprocess.run(pip, check=True, cwd=folder, env=alone)
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
    packages = [*WITH_TOOLS, "armnn_dynamic_loader"]
    return runner(install(folder / "environment", packages, "armnn-core[dynamic,tools]"), folder)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner in the tests' full environment."""
    return runner(Path(sys.prefix), tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def model() -> Callable[[str], Path]:
    """Return a function from a model's name to its path."""

    def fetch(name: str) -> Path:
        command = [sys.executable, "-m", "tools.models.fetch", name]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        return Path(run.stdout.strip())

    return fetch


@pytest.fixture(scope="session")
def page() -> Path:
    """Return a picture of a page turned clockwise."""
    return REPOSITORY / "examples" / "page_turned_90.png"
