# SPDX-License-Identifier: MIT
"""What ``armnn backends new`` writes builds, installs, is found and passes the kit, unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new distribution; what it installs is in ``site`` beside it."""
    folder = tmp_path_factory.mktemp("vendor")
    command = [sys.executable, "-m", "armnn", "backends", "new", "Acme", "--id", "AcmeNpu"]
    subprocess.run([*command, "--output", folder], check=True, capture_output=True)
    (written,) = folder.iterdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", written], check=True)
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


def test_it_is_found_with_the_version_that_it_needs(distribution: Path) -> None:
    listing = json.loads(run(distribution, "armnn", "backends", "--load", "--json").stdout)
    (entry,) = [entry for entry in listing if entry["id"] == "AcmeNpu"]
    assert (entry["state"], entry["distribution"]) == ("loaded", "armnn-backend-acmenpu")


def test_its_own_tests_pass(distribution: Path) -> None:
    tests = run(distribution, "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert tests.returncode == 0, tests.stdout
    assert "1 passed" in tests.stdout
