# SPDX-License-Identifier: MIT
"""Makes the cores of the matrix, as folders for PYTHONPATH.

Wheels of pretended cores are made as well. All use the third-party packages of the environment that
runs the tests, which has none of ours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path

from fixtures import FROZEN, REPOSITORY

DISTRIBUTIONS = (
    "armnn-backend-api", "armnn-core", "armnn-backend-ref", "armnn-dynamic-loader",
)  # fmt: skip
"""What a core of the matrix consists of: with CpuRef to fall back to, and the dynamic door."""

TOOLS = ("armnn-tools", "armnn-parser-armnn")
"""What brings the command; no cell of the matrix needs it."""

CPUREF = "armnn_backend_ref-"
"""How the wheel of CpuRef begins."""

RELEASED = {
    "1.0": ("backend_api-1.0.0", "core-1.0.0", "backend_ref-1.0.0", "dynamic_loader-1.0.0"),
    "1.1": ("backend_api-1.1.0", "core-1.1.0", "backend_ref-1.1.0", "dynamic_loader-1.0.0"),
    "1.2": ("backend_api-1.2.0", "core-1.2.0", "backend_ref-1.2.0", "dynamic_loader-1.1.0"),
    "1.3": ("backend_api-1.3.0", "core-1.3.0", "backend_ref-1.3.0", "dynamic_loader-1.2.0"),
}
"""The frozen wheels that make up a released core."""

_IGNORED = shutil.ignore_patterns("__pycache__", "build", "tests")


def check_nothing_of_ours_is_installed() -> None:
    """Check that the environment brings only what others made.

    Raises:
        RuntimeError: It has a distribution of this repository, which every cell would find.
    """
    names = [distribution.metadata["Name"] for distribution in distributions()]
    ours = sorted(name for name in names if name.startswith("armnn-"))
    if ours:
        raise RuntimeError(
            f"The matrix needs an environment without {', '.join(ours)}: run nox -s compat."
        )


def released_wheels(core: str) -> list[Path]:
    """Return the frozen wheels of a released core."""
    return [FROZEN / f"armnn_{stem}-py3-none-any.whl" for stem in RELEASED[core]]


def built_wheels(folder: Path, api: tuple[int, int] | None = None) -> list[Path]:
    """Build the checkout's core, optionally as another version.

    Args:
        folder: Where sources and wheels go.
        api: The Backend API version to pretend, which is the core's as well.
    """
    for name in DISTRIBUTIONS:
        build_wheel(name, folder, api)
    return sorted(folder.glob("*.whl"))


def build_wheel(name: str, folder: Path, api: tuple[int, int] | None = None) -> None:
    """Build a distribution of the checkout, as :func:`built_wheels` does."""
    shutil.copytree(REPOSITORY / "packages" / name, folder / name, ignore=_IGNORED)
    if api is not None:
        _pretend(folder / name, api)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=folder / name, check=True, stdout=subprocess.DEVNULL)


def _pretend(folder: Path, api: tuple[int, int]) -> None:
    major, minor = api
    ours = r"(armnn-[a-z-]+)(?:>=|~=)[0-9.]+(?:,<[0-9]+)?"
    project = folder / "pyproject.toml"
    text = re.sub(ours, rf"\g<1>>={major}.0,<{major + 1}", project.read_text(encoding="utf-8"))
    if folder.name == "armnn-core":
        pinned = f"armnn-backend-api>={major}.0,<{major + 1}"
        text = text.replace(pinned, f"armnn-backend-api~={major}.{minor}.0")
    project.write_text(text, encoding="utf-8")
    for path in folder.glob("src/*/*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'^(__version__ =) ".*"$', rf'\1 "{major}.{minor}.0"', text, flags=re.M)
        text = re.sub(r"^(API_MAJOR: Final =) \d+$", rf"\1 {major}", text, flags=re.M)
        text = re.sub(r"^(API_MINOR: Final =) \d+$", rf"\1 {minor}", text, flags=re.M)
        # What CpuRef needs, a new minor still has; a new major has nothing older than itself.
        declared = rf"(api_version: ClassVar\[BackendVersion\] =) BackendVersion\((?!{major}).*\)"
        text = re.sub(declared, rf"\1 BackendVersion({major}, 0)", text)
        path.write_text(text, encoding="utf-8")


def install(wheels: Sequence[Path], folder: Path) -> Path:
    """Unpack wheels into a folder for PYTHONPATH; return it."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def run(path: Sequence[Path], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python with folders on its path, without user switches."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ARMNN_")}
    clean |= {"PYTHONPATH": os.pathsep.join(map(str, path)), "OMP_NUM_THREADS": "1"}
    clean |= {"COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
