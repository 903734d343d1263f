# SPDX-License-Identifier: MIT
"""Builds changed distributions; installs them in nox sessions."""

from __future__ import annotations

import hashlib
import json
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
SUFFIXES = {"--wheel": ".whl", "--sdist": ".tar.gz"}
"""The kinds of file, by the option of build that makes each."""
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
    for package, kinds in missing.items():
        if not kinds:
            continue
        for kind in kinds:
            for old in folder.glob(f"{_file_stem(package)}-*{SUFFIXES[kind]}"):
                old.unlink()
        # Asked for neither kind, build makes the wheel from the archive.
        options = kinds if len(kinds) == 1 else []
        arguments = ("--no-isolation", *options, "--outdir", str(folder))
        session.run("python", "-m", "build", *arguments, f"packages/{package}", env=env)
        for kind in kinds:
            _stamp(package, folder, kind).write_text(_digest(package))


def install_wheels(
    session: nox.Session,
    *requirements: str,
    group: str | None = None,
    all_levels: bool = False,
) -> None:
    """Install requirements: ours from dist/, others from the index.

    An environment keeps what it has: pip replaces the wheels that were built anew, and looks for
    others only if what is required differs from the last time.
    """
    named = ours(*requirements)
    wheels = [wheel for package in named for wheel in _wheels(package, all_levels=all_levels)]
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    environment = Path(session.virtualenv.location)
    stamp = environment / "required.txt"
    required = "\n".join([*requirements, *tools, *map(_dependencies, named)])
    is_new = not (stamp.exists() and stamp.read_text() == required)
    stamp.unlink(missing_ok=True)
    there = {wheel: _installed_digest(environment, wheel) for wheel in wheels}
    changed = [wheel for wheel in wheels if there[wheel] != _sha256(wheel)]
    if any(there.values()) and changed:
        # Their version is the same from build to build, so pip has to be told to replace them.
        session.install("--force-reinstall", "--no-deps", *map(str, changed))
        changed = []
    if is_new:
        session.install(*map(str, changed), *requirements, *tools)
    stamp.write_text(required)


def _installed_digest(environment: Path, wheel: Path) -> str | None:
    """Return the digest of the wheel that a distribution was installed from, if it is there."""
    name = wheel.name.partition("-")[0]
    # pip's record of where a distribution came from (PEP 610).
    for origin in environment.glob(f"lib/python*/site-packages/{name}-*.dist-info/direct_url.json"):
        archive = json.loads(origin.read_text()).get("archive_info", {})
        return str(archive.get("hashes", {}).get("sha256", "unknown"))
    return None


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
    pattern = f"{_file_stem(package)}-*{SUFFIXES['--wheel']}"
    return [*(ALL_LEVELS.glob(pattern) if all_levels else ())] or [*DIST.glob(pattern)]


def _stamp(package: str, folder: Path, kind: str) -> Path:
    """Return the file with the digest of the sources that were built."""
    return folder / f"{package}{kind}.sha256"


def _missing(package: str, folder: Path, *, archives: bool) -> list[str]:
    """Return the options of build for the kinds of file that are not there or not current."""
    wanted = [*(["--sdist"] if archives else []), "--wheel"]
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
