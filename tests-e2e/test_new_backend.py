# SPDX-License-Identifier: MIT
"""``armnn backends new`` writes a distribution that works unchanged.

It builds, installs, is found and passes the kit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

AARCH64 = 183
"""The machine number of 64-bit Arm in an ELF header."""

PIP = [sys.executable, "-m", "pip"]
UNISOLATED = ["--quiet", "--no-deps", "--no-build-isolation"]
ZIG = f"{sys.executable} -m ziglang cc"


@pytest.fixture(scope="module", params=["python", "native"])
def distribution(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new distribution's folder, installed into ``site``.

    That folder is beside it.
    """
    folder = tmp_path_factory.mktemp("vendor")
    written = new_backend(folder, *(["--native"] if request.param == "native" else []))
    subprocess.run([*PIP, "install", *UNISOLATED, "--target", folder / "site", written], check=True)
    return written


def new_backend(folder: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "armnn", "backends", "new", "Acme", "--id", "AcmeNpu"]
    subprocess.run([*command, "--output", folder, *options], check=True, capture_output=True)
    (written,) = folder.iterdir()
    return written


def run(distribution: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(distribution.parent / "site")}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=distribution,
        env=environment,
        capture_output=True,
        text=True,
    )


def build(distribution: Path, variables: Mapping[str, str]) -> tuple[str, bytes]:
    """Build a wheel; return its name and library."""
    wheels = distribution.parent / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    subprocess.run(
        [*PIP, "wheel", *UNISOLATED, "--wheel-dir", wheels, distribution],
        env={**os.environ, **variables},
        check=True,
    )
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        (library,) = [name for name in archive.namelist() if name.endswith(".so")]
        return wheel.name, archive.read(library)


def test_it_is_found_with_the_version_that_it_needs(distribution: Path) -> None:
    listing = json.loads(run(distribution, "armnn", "backends", "--load", "--json").stdout)
    (entry,) = [entry for entry in listing if entry["id"] == "AcmeNpu"]
    assert (entry["state"], entry["distribution"]) == ("loaded", "armnn-backend-acmenpu")


def test_its_own_tests_pass(distribution: Path) -> None:
    tests = run(distribution, "pytest", "-p", "no:cacheprovider")
    assert tests.returncode == 0, tests.stdout
    # Each case is seen, and no more of them run than there is something to run.
    claimed = "test_what_is_claimed_is_computed_rightly"
    assert f"{claimed}[Addition-Float32] PASSED" in tests.stdout
    assert f"{claimed}[Subtraction-" not in tests.stdout
    refused = "test_what_is_not_claimed_is_refused_with_a_reason"
    assert f"{refused}[Convolution2d] PASSED" in tests.stdout
    assert "test_what_is_required_is_claimed[Addition-Float32] PASSED" in tests.stdout


def test_it_installs_editable(distribution: Path, tmp_path: Path) -> None:
    """The template advises it: changes count without reinstallation."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "outer.pth").write_text("\n".join(filter(None, sys.path)))
    subprocess.run(
        [*PIP, "--python", python, "install", *UNISOLATED, "-e", distribution], check=True
    )
    package = distribution / "src" / "armnn_backend_acmenpu" / "backend.py"
    shown = "import armnn_backend_acmenpu.backend as found; print(found.__file__)"
    found = subprocess.run([python, "-c", shown], capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == package


def test_the_native_file_works_through_the_dynamic_door(tmp_path: Path) -> None:
    written = new_backend(tmp_path, "--native")
    _, library = build(written, {})
    folder = tmp_path / "dropped"
    folder.mkdir(mode=0o755)
    (folder / "Acme_AcmeNpu_backend.so").write_bytes(library)
    (folder / "Acme_AcmeNpu_backend.so").chmod(0o644)
    listed = run(
        written, "armnn", "backends", "--load", "--json", "--dynamic-backends-path", str(folder)
    )
    (entry,) = [entry for entry in json.loads(listed.stdout) if entry["id"] == "AcmeNpu"]
    assert (entry["state"], entry["source"]) == ("loaded", "dynamic"), entry["reason"]


def test_pip_is_all_that_a_build_needs_also_for_another_machine(tmp_path: Path) -> None:
    written = new_backend(tmp_path, "--native")
    name, library = build(
        written,
        {"CC": f"{ZIG} -target aarch64-linux-gnu", "WHEEL_PLATFORM": "linux_aarch64"},
    )
    assert name == "armnn_backend_acmenpu-0.1.0-py3-none-linux_aarch64.whl"
    assert int.from_bytes(library[18:20], "little") == AARCH64


def test_without_a_compiler_that_of_pip_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = new_backend(tmp_path, "--native")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    asked = "import hatch_build; print(*hatch_build.compiler())"
    found = subprocess.run(
        [sys.executable, "-c", asked], cwd=written, capture_output=True, text=True, check=True
    )
    assert found.stdout == f"{ZIG}\n"
