# SPDX-License-Identifier: MIT
"""pip refuses impossible pairs of cores and backends, picks fitting."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures import FROZEN
from matrix import BACKENDS, CORES, Matrix

Resolve = Callable[..., tuple[dict[str, str], str]]


@pytest.fixture(scope="session")
def index(matrix: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with wheels of all cores and backends.

    Pretended ones are included.
    """
    folder = tmp_path_factory.mktemp("index")
    made = [wheel for name in CORES for wheel in matrix.wheels_of_core(name)]
    made += [wheel for name in BACKENDS for wheel in matrix.wheels_of_backend(name)]
    wheels = [*FROZEN.glob("*.whl"), *made]
    for wheel in wheels:
        if not (folder / wheel.name).exists():
            (folder / wheel.name).symlink_to(wheel)
    return folder


@pytest.fixture
def resolved(index: Path, tmp_path: Path) -> Resolve:
    """Return a function that resolves requirements, with pip's output."""

    def resolve(*requirements: str) -> tuple[dict[str, str], str]:
        report = tmp_path / "report.json"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
        where = ["--dry-run", "--no-index", "--find-links", str(index), "--report", str(report)]
        command = [*pip, *where, *requirements]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            return {}, ran.stdout + ran.stderr
        rows = [row["metadata"] for row in json.loads(report.read_text())["install"]]
        return {row["name"]: row["version"] for row in rows}, ran.stdout

    return resolve


@pytest.mark.parametrize(
    ("core", "backend", "needs"),
    [
        ("1.0.0", "1.1.0", "armnn-compat-backend 1.1.0 depends on armnn-backend-api<2 and >=1.1"),
        ("1.1.0", "1.2.0", "armnn-compat-backend 1.2.0 depends on armnn-backend-api<2 and >=1.2"),
        ("1.2.0", "1.3.0", "armnn-compat-backend 1.3.0 depends on armnn-backend-api<2 and >=1.3"),
        ("1.3.0", "1.4.0", "armnn-compat-backend 1.4.0 depends on armnn-backend-api<2 and >=1.4"),
        ("1.1.0", "2.0.0", "armnn-compat-backend 2.0.0 depends on armnn-backend-api<3 and >=2.0"),
        ("2.0.0", "1.1.0", "armnn-compat-backend 1.1.0 depends on armnn-backend-api<2 and >=1.1"),
    ],
)
def test_an_impossible_pair_is_refused(
    resolved: Resolve, core: str, backend: str, needs: str
) -> None:
    found, said = resolved(f"armnn-core=={core}", f"armnn-compat-backend=={backend}")
    assert found == {}
    assert needs in said
    assert f"armnn-core {core} depends on armnn-backend-api~={core}" in said
    assert "ResolutionImpossible" in said


@pytest.mark.parametrize(
    ("core", "backend"),
    [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0"), ("1.2.0", "1.0.1"), ("1.3.0", "1.2.0")],
)
def test_a_possible_pair_is_accepted(resolved: Resolve, core: str, backend: str) -> None:
    found, said = resolved(f"armnn-core=={core}", f"armnn-compat-backend=={backend}")
    assert (found.get("armnn-core"), found.get("armnn-compat-backend")) == (core, backend), said


@pytest.mark.parametrize("backend", ["1.0.0", "1.1.0"])
def test_an_old_backend_makes_pip_pick_the_newest_core_that_fits(
    resolved: Resolve, backend: str
) -> None:
    assert resolved("armnn-core")[0]["armnn-core"] == "2.0.0"
    found, said = resolved("armnn-core", f"armnn-compat-backend=={backend}")
    assert found["armnn-core"] == "1.4.0", said
    assert found["armnn-backend-api"] == "1.4.0"


def test_an_old_core_makes_pip_pick_the_newest_backend_that_fits(resolved: Resolve) -> None:
    found, said = resolved("armnn-core==1.0.0", "armnn-compat-backend")
    assert found["armnn-compat-backend"] == "1.0.1", said
