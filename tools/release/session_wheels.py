# SPDX-License-Identifier: MIT
"""Builds changed distributions; installs them in nox sessions."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import nox
from packaging.requirements import Requirement

PROJECT = nox.project.load_toml("pyproject.toml")
PACKAGES = {
    path.parent.name: nox.project.load_toml(path)
    for path in sorted(Path("packages").glob("*/pyproject.toml"))
}
DIST = Path("dist")
"""All distributions, CpuAcc's wheel for the best level of this processor."""
ALL_LEVELS = DIST / "all-levels"
"""CpuAcc's wheel for every processor of this machine's kind."""
BYTECODE = Path(".cache/bytecode").absolute()
"""That of third-party packages, for all environments."""
SUFFIXES = {"wheel": ".whl", "sdist": ".tar.gz"}
"""The kinds of file that are built."""
# Files that building leaves in the folder of a package, and the scripts for the work on it.
NOT_SHIPPED = {"__pycache__", "build", "dist", "Arm_CpuAcc_backend.so", "tools"}


def build_changed(
    session: nox.Session,
    packages: Iterable[str],
    folder: Path = DIST,
    *,
    archives: bool = True,
    env: Mapping[str, str] | None = None,
) -> None:
    """Build wheels, and source archives if wanted, of the distributions that changed."""
    missing = {package: _missing(package, folder, archives=archives) for package in packages}
    if not any(missing.values()):
        session.log(f"All distributions in {folder}/ are up to date.")
        return
    session.install(*nox.project.dependency_groups(PROJECT, "build"))
    for kinds in sorted({tuple(each) for each in missing.values() if each}):
        chosen = [package for package, those in missing.items() if tuple(those) == kinds]
        for package, kind in itertools.product(chosen, kinds):
            for old in folder.glob(f"{_file_stem(package)}-*{SUFFIXES[kind]}"):
                old.unlink()
        arguments = ("--kinds", *kinds, "--into", str(folder), *chosen)
        session.run("python", "-m", "tools.release.build", *arguments, env=env)
        for package, kind in itertools.product(chosen, kinds):
            _stamp(package, folder, kind).write_text(_digest(package))


def install_wheels(
    session: nox.Session,
    *requirements: str,
    group: str | None = None,
    all_levels: bool = False,
) -> None:
    """Install requirements: ours from dist/, others from the index.

    An environment keeps what it has: wheels that were built anew are replaced, and the index is
    asked only if what is required differs from the last time.
    """
    named = ours(*requirements)
    wheels = [wheel for package in named for wheel in _wheels(package, all_levels=all_levels)]
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    required = [*requirements, *tools, *map(_dependencies, named)]
    built = {f"{wheel} {_sha256(wheel)}": str(wheel) for wheel in wheels}
    stamp = Path(session.virtualenv.location) / "installed.txt"
    before = stamp.read_text().splitlines() if stamp.exists() else []
    stamp.unlink(missing_ok=True)
    # Their version is the same from build to build, so uv has to be told to replace them.
    changed = [wheel for line, wheel in built.items() if line not in before]
    if changed:
        session.install("--reinstall", "--no-deps", *changed)
    if not set(required) <= set(before):
        # With their wheels, none of our names is looked up on an index.
        session.install(*built.values(), *requirements, *tools)
    _share_bytecode(Path(session.virtualenv.location))
    stamp.write_text("\n".join([*required, *built]))


def _share_bytecode(environment: Path) -> None:
    """Let all environments keep the bytecode of a third-party package in one place.

    uv links the files of a package from its cache, with the same times, so that the bytecode of one
    environment is good for all; else each session would compile pytest and NumPy anew.
    """
    (site,) = environment.glob("lib/python*/site-packages")
    for installed in site.glob("*.dist-info"):
        if installed.name.startswith("armnn"):
            continue
        lines = (installed / "RECORD").read_text(encoding="utf-8").splitlines()
        modules = [line.partition(".py,")[0] for line in lines if ".py," in line]
        for folder in {Path(module).parent for module in modules} - {Path()}:
            link = site / folder / "__pycache__"
            if ".." not in folder.parts:
                place = BYTECODE / site.parent.name / installed.stem / folder
                place.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(link):
                    link.symlink_to(place)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _dependencies(package: str) -> str:
    """Return the requirements of one of our distributions, as text."""
    project = PACKAGES[package]["project"]
    return repr((project["dependencies"], project.get("optional-dependencies")))


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


def _wheels(package: str, *, all_levels: bool) -> list[Path]:
    pattern = f"{_file_stem(package)}-*{SUFFIXES['wheel']}"
    return [*(ALL_LEVELS.glob(pattern) if all_levels else ())] or [*DIST.glob(pattern)]


def _stamp(package: str, folder: Path, kind: str) -> Path:
    """Return the file with the digest of the sources that were built."""
    return folder / f"{package}-{kind}.sha256"


def _missing(package: str, folder: Path, *, archives: bool) -> list[str]:
    """Return the kinds of file that are not there or not current."""
    wanted = [*(["sdist"] if archives else []), "wheel"]
    return [kind for kind in wanted if not _is_built(package, folder, kind)]


def _is_built(package: str, folder: Path, kind: str) -> bool:
    stamp = _stamp(package, folder, kind)
    is_there = any(folder.glob(f"{_file_stem(package)}-*{SUFFIXES[kind]}"))
    return is_there and stamp.exists() and stamp.read_text() == _digest(package)


def _digest(package: str) -> str:
    """Return a digest of a package's shipped files."""
    digest = hashlib.sha256(repr(nox.project.dependency_groups(PROJECT, "build")).encode())
    for path in sorted(Path("packages", package).rglob("*")):
        if path.is_file() and NOT_SHIPPED.isdisjoint(path.parts):
            digest.update(f"{path.as_posix()} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
