# SPDX-License-Identifier: MIT
"""Builds changed distributions; installs them in nox sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import nox
from packaging.requirements import Requirement

PROJECT = nox.project.load_toml("pyproject.toml")
PACKAGES = {
    path.parent.name: nox.project.load_toml(path)
    for path in sorted(Path("packages").glob("*/pyproject.toml"))
}
DIST = Path("dist")
# Wheels without source distributions, CpuAcc's for one instruction-set level.
DEMO_ONLY = DIST / "demo"
# What building leaves in the folder of a package, and the scripts for the work on it.
NOT_SHIPPED = {"__pycache__", "build", "dist", "Arm_CpuAcc_backend.so", "tools"}


def build_changed(
    session: nox.Session,
    packages: Iterable[str],
    folder: Path,
    *options: str,
    env: Mapping[str, str] | None = None,
) -> None:
    """Build the changed distributions into a folder."""
    changed = [package for package in packages if not _is_built(package, folder)]
    if not changed:
        session.log(f"All distributions in {folder}/ are up to date.")
        return
    session.install(*nox.project.dependency_groups(PROJECT, "build"))
    for package in changed:
        for old in folder.glob(f"{_file_stem(package)}-*"):
            old.unlink()
        arguments = ("--no-isolation", *options, "--outdir", str(folder))
        session.run("python", "-m", "build", *arguments, f"packages/{package}", env=env)
        _stamp(package, folder).write_text(_digest(package))


def install_wheels(
    session: nox.Session,
    *requirements: str,
    group: str | None = None,
    folder_of: Callable[[str], Path] | None = None,
) -> None:
    """Install requirements: ours from dist/, others from the index."""
    named = ours(*requirements)
    folders = {package: folder_of(package) if folder_of else DIST for package in named}
    wheels = [wheel for package, folder in folders.items() for wheel in _wheels(package, folder)]
    paths = [str(wheel) for wheel in wheels]
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    if any(_is_installed(session, package) for package in named):
        # Their version is the same from build to build, so pip has to be told to replace them.
        session.install("--force-reinstall", "--no-deps", *paths)
        paths = []
    session.install(*paths, *requirements, *tools)


def _is_installed(session: nox.Session, package: str) -> bool:
    """Return whether a session's environment has a distribution."""
    site_packages = f"lib/python*/site-packages/{_file_stem(package)}-*.dist-info"
    return any(Path(session.virtualenv.location).glob(site_packages))


def folder_for_demo(package: str) -> Path:
    """Return the folder of the wheel that the demo installs."""
    return DIST if _is_built(package, DIST) else DEMO_ONLY


def ours(*requirements: str) -> list[str]:
    """Return our distributions among requirements, recursively."""
    found: dict[str, None] = {}
    for requirement in map(Requirement, requirements):
        if requirement.name not in PACKAGES:
            continue
        project = PACKAGES[requirement.name]["project"]
        needed = list(project["dependencies"])
        for extra in sorted(requirement.extras):
            needed += project["optional-dependencies"][extra]
        found[requirement.name] = None
        found.update(dict.fromkeys(ours(*needed)))
    return list(found)


def _file_stem(package: str) -> str:
    """Return the beginning of a distribution's file names."""
    return package.replace("-", "_")


def _wheels(package: str, folder: Path) -> list[Path]:
    return list(folder.glob(f"{_file_stem(package)}-*.whl"))


def _stamp(package: str, folder: Path) -> Path:
    """Return the file with the built sources' digest."""
    return folder / f"{package}.sha256"


def _is_built(package: str, folder: Path) -> bool:
    """Return whether a folder has a distribution's current wheel."""
    stamp = _stamp(package, folder)
    has_wheel = stamp.exists() and _wheels(package, folder)
    return bool(has_wheel) and stamp.read_text() == _digest(package)


def _digest(package: str) -> str:
    """Return a digest of a package's shipped files."""
    digest = hashlib.sha256(repr(nox.project.dependency_groups(PROJECT, "build")).encode())
    for path in sorted(Path("packages", package).rglob("*")):
        if path.is_file() and NOT_SHIPPED.isdisjoint(path.parts):
            digest.update(f"{path.as_posix()} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
