# SPDX-License-Identifier: MIT
"""Put all our wheels into one folder for pip.

pip installs from it without a compiler and an index.

    python -m tools.release.wheelhouse [--folder dist/wheelhouse] [--this-machine-only]

The wheels are those of dist/, which nox builds, that of CpuAcc for all x86-64 processors in
dist/all-levels/, and that for aarch64, which Debian's cross-compiler makes. With
``--this-machine-only`` CpuAcc's wheel is that of dist/, which may be for this processor alone.
What they need of others is named in a file of requirements: pip takes these from an index, and ours
never.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from tools import ROOT

DIST = ROOT / "dist"
FOLDER = DIST / "wheelhouse"
PACKAGES = ROOT / "packages"
ARM_WHEEL = PACKAGES / "armnn-backend-neon/tools/build_arm_wheel.py"
"""The script that builds the one wheel which depends on the machine, for another machine."""

EXTRAS = ("cpu", "dynamic", "image")
"""The extras whose requirements are collected: all of the core but that of the test runner."""


def fill(
    folder: Path, more_wheels: Iterable[Path] = (), *, this_machine_only: bool = False
) -> None:
    """Make the folder anew, of dist/'s wheels and more.

    Raises:
        FileNotFoundError: A distribution has no wheel in dist/.
        ValueError: A wheel there has kernels for some processors only.
    """
    for project in sorted(PACKAGES.glob("*/pyproject.toml")):
        name = project.parent.name
        pattern = f"{name.replace('-', '_')}-*.whl"
        all_levels = [] if this_machine_only else list((DIST / "all-levels").glob(pattern))
        wheels = all_levels or list(DIST.glob(pattern))
        if not wheels:
            raise FileNotFoundError(f"{DIST} has no wheel of {name}: run ./nox -s build")
        for wheel in wheels:
            if not this_machine_only and (levels := levels_of_wheel(wheel)):
                raise ValueError(
                    f"{wheel} has kernels for {levels} only, expected a wheel for all processors: "
                    "run ./nox -s build_all_levels"
                )
        more_wheels = [*wheels, *more_wheels]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for wheel in more_wheels:
        shutil.copy2(wheel, folder)
    requirements = sorted(set(others_needed("armnn-core", EXTRAS)))
    folder.joinpath("requirements.txt").write_text("\n".join(requirements) + "\n")


def levels_of_wheel(path: Path) -> str | None:
    """Return a partial wheel's levels, from its local version.

    They are instruction-set levels.
    """
    _, version, _, _ = parse_wheel_filename(path.name)
    return version.local


def others_needed(name: str, extras: Iterable[str] = ()) -> Iterator[str]:
    """Yield a distribution's third-party requirements.

    Those of our distributions that it needs are included.
    """
    project = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text())["project"]
    needed = list(project["dependencies"])
    for extra in extras:
        needed += project["optional-dependencies"][extra]
    for text in needed:
        requirement = Requirement(text)
        if (PACKAGES / requirement.name).is_dir():
            yield from others_needed(requirement.name, sorted(requirement.extras))
        else:
            yield text


def commands(folder: Path) -> list[str]:
    """Return the user's commands; only the first uses an index."""
    if folder.is_relative_to(Path.cwd()):
        folder = folder.relative_to(Path.cwd())
    return [
        f"pip install -r {folder}/requirements.txt",
        f'pip install --no-index --find-links {folder} "armnn-core[cpu]"',
    ]


def main() -> None:
    """Fill the folder and say how to install from it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--this-machine-only", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if platform.machine() == "x86_64" and not arguments.this_machine_only:
            subprocess.run([sys.executable, ARM_WHEEL, folder], check=True)
        more = Path(folder).glob("*.whl")
        fill(arguments.folder, more, this_machine_only=arguments.this_machine_only)
    for path in sorted(arguments.folder.iterdir()):
        print(path.name)
    print("\nInstall from it on a machine without a compiler:\n")
    print("\n".join(f"    {command}" for command in commands(arguments.folder)))


if __name__ == "__main__":
    main()
