# SPDX-License-Identifier: MIT
"""Environments made from the wheels in dist/, and the models that the tests run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
DIST = REPOSITORY / "dist"

# Runs a command with its arguments, the way that a user would, and captures its output.
Run = Callable[..., subprocess.CompletedProcess[str]]


def runner(environment: Path, folder: Path) -> Run:
    """What runs the commands of a virtual environment, in a folder outside of the checkout."""

    def run(command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [environment / "bin" / command, *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def install(environment: Path, packages: list[str], requirement: str) -> Path:
    """An environment with our packages from dist/ and, from the index, what they need."""
    wheels = [str(wheel) for name in packages for wheel in DIST.glob(f"{name}-*.whl")]
    assert len(wheels) == len(packages), f"{DIST} lacks wheels; ./nox -s build makes them"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    # First without dependencies, so that none of our names is ever looked up on an index.
    subprocess.run([*pip, "--no-deps", *wheels], check=True)
    subprocess.run([*pip, requirement], check=True)
    return environment


@pytest.fixture(scope="session")
def core_alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs commands where armnn-core is installed and nothing that it could find."""
    folder = tmp_path_factory.mktemp("core")
    packages = ["armnn_backend_api", "armnn_core"]
    return runner(install(folder / "environment", packages, "armnn-core"), folder)


@pytest.fixture(scope="session")
def core_with_ref_and_onnx(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs commands where the demo can run: the core, CpuRef, the ONNX parser and Pillow."""
    folder = tmp_path_factory.mktemp("full")
    packages = ["armnn_backend_api", "armnn_core", "armnn_backend_ref", "armnn_parser_onnx"]
    requirement = "armnn-core[image,onnx,ref]"
    return runner(install(folder / "environment", packages, requirement), folder)


@pytest.fixture(scope="session")
def usual_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what the documentation tells to install, and no further backend."""
    extras = ["armnn_backend_ref", "armnn_dynamic_loader", "armnn_parser_onnx"]
    packages = ["armnn_backend_api", "armnn_core", *extras]
    requirement = "armnn-core[dynamic,image,onnx,ref]"
    return install(tmp_path_factory.mktemp("usual") / "environment", packages, requirement)


@pytest.fixture(scope="session")
def core_with_loader(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs commands where the core and the loader are installed, and no backend."""
    folder = tmp_path_factory.mktemp("loader")
    packages = ["armnn_backend_api", "armnn_core", "armnn_dynamic_loader"]
    return runner(install(folder / "environment", packages, "armnn-core[dynamic]"), folder)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs commands in the environment of the tests, where everything is installed."""
    return runner(Path(sys.prefix), tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def model() -> Callable[[str], Path]:
    """Gives the path of a model of tools/fetch_models.py by its name."""

    def fetch(name: str) -> Path:
        script = str(REPOSITORY / "tools" / "fetch_models.py")
        run = subprocess.run(
            [sys.executable, script, name], check=True, stdout=subprocess.PIPE, text=True
        )
        return Path(run.stdout.strip())

    return fetch


@pytest.fixture(scope="session")
def page() -> Path:
    """A picture of a page that was turned clockwise by 90 degrees."""
    return REPOSITORY / "examples" / "page_turned_90.png"
