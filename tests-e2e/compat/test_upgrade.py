# SPDX-License-Identifier: MIT
"""Upgrading one backend changes nothing else, and takes effect."""

from __future__ import annotations

import hashlib
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from environments import check_nothing_of_ours_is_installed, released_wheels
from fixtures import FROZEN, HERE


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return an environment with core 1.1 and a 1.0 backend.

    CpuRef is there, too.
    """
    check_nothing_of_ours_is_installed()
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    # What others made is taken from where the tests have it; pip comes with it.
    (places(folder) / "others.pth").write_text(sysconfig.get_path("purelib"))
    backend = FROZEN / "armnn_compat_backend-1.0.0-py3-none-any.whl"
    pip(folder, *map(str, [*released_wheels("1.1"), backend]))
    return folder


def places(environment: Path) -> Path:
    (site,) = environment.glob("lib/python*/site-packages")
    return site


def pip(environment: Path, *arguments: str) -> None:
    command = [environment / "bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    command += ["install", "--no-index", "--find-links", str(FROZEN), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def application(environment: Path) -> str:
    command = [environment / "bin/python", "-B", HERE / "application.py"]
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
