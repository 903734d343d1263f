# SPDX-License-Identifier: MIT
"""Upgrades of one backend, and of a core that had the command."""

from __future__ import annotations

import hashlib
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from environments import TOOLS, build_wheel, check_nothing_of_ours_is_installed, released_wheels
from fixtures import FROZEN, HERE
from matrix import Matrix


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Return an environment with what others made, and pip."""
    check_nothing_of_ours_is_installed()
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    (places(folder) / "others.pth").write_text(sysconfig.get_path("purelib"))
    return folder


@pytest.fixture
def environment(empty: Path) -> Path:
    """Return an environment with core 1.1 and a 1.0 backend.

    CpuRef is there, too.
    """
    backend = FROZEN / "armnn_compat_backend-1.0.0-py3-none-any.whl"
    pip(empty, *map(str, [*released_wheels("1.1"), backend]))
    return empty


def places(environment: Path) -> Path:
    (site,) = environment.glob("lib/python*/site-packages")
    return site


def pip(environment: Path, *arguments: str, wheels: Path = FROZEN) -> None:
    command = [environment / "bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    command += ["install", "--no-index", "--find-links", str(wheels), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def application(environment: Path, *backends: str) -> str:
    command = [environment / "bin/python", "-B", HERE / "application.py", *backends]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def contents(environment: Path) -> dict[str, str]:
    """Return the digests of files outside the backend."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted([HERE / "application.py", *places(environment).rglob("*")])
        if path.is_file() and "armnn_compat_backend" not in str(path) and path.suffix != ".pyc"
    }


def test_the_application_uses_the_new_code_of_an_upgraded_backend(
    environment: Path,
) -> None:
    before = contents(environment)
    assert application(environment) == "CpuRef 2"  # the backend of API 1.0 is not asked
    pip(environment, "--upgrade", "armnn-compat-backend==1.1.0")
    assert application(environment) == "Compat 2"
    assert contents(environment) == before


@pytest.fixture(scope="module")
def wheelhouse(matrix: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the checkout's core, CpuRef and command."""
    folder = tmp_path_factory.mktemp("wheels")
    for wheel in matrix.wheels_of_core("checkout"):
        (folder / wheel.name).symlink_to(wheel)
    for name in TOOLS:
        build_wheel(name, folder)
    return folder


def command(environment: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / words[0], *words[1:]], capture_output=True, text=True, check=False
    )


def test_an_upgrade_of_the_core_takes_the_command_and_one_word_brings_it_back(
    empty: Path, wheelhouse: Path
) -> None:
    pip(empty, *map(str, released_wheels("1.2")))
    assert command(empty, "armnn", "--version").stdout == "armnn-core 1.2.0 (Backend API 1.2)\n"
    pip(empty, "--upgrade", "armnn-core", wheels=wheelhouse)
    assert not (empty / "bin/armnn").exists()
    told = command(empty, "python", "-m", "armnn", "backends")
    assert told.returncode == 1
    assert "the command armnn needs armnn-tools, which is not installed: pip install" in told.stderr
    assert application(empty, "CpuRef") == "CpuRef 2"
    pip(empty, "armnn-core[tools]", wheels=wheelhouse)
    check_command(empty)


def test_an_upgrade_with_that_word_keeps_the_command(empty: Path, wheelhouse: Path) -> None:
    pip(empty, *map(str, released_wheels("1.2")))
    pip(empty, "--upgrade", "armnn-core[tools]", wheels=wheelhouse)
    check_command(empty)


def check_command(environment: Path) -> None:
    ran = command(environment, "armnn", "backends")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "CpuRef" in ran.stdout
    find = "import armnn.debugging as d; print(d.compare.__module__)"
    assert command(environment, "python", "-c", find).stdout == "armnn_tools.debugging.comparing\n"
