# SPDX-License-Identifier: MIT
"""Checks the contents of wheels and source distributions.

python -m tools.release.check_distributions dist
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

PYTEST_PLUGIN = PurePosixPath("armnn_conformance_options.py")
"""The one module beside a package: pytest imports it at every start, so it must not import ours."""

IN_A_PACKAGE = frozenset(
    {
        ".c",
        ".cmake",
        ".css",
        ".h",
        ".html",
        ".js",
        ".json",
        ".pc",
        ".cl",
        ".py",
        ".so",
        ".template",
        ".toml",
    },
)
BY_NAME = frozenset(
    {
        *("py.typed", "CMakeLists.txt", "functions.onnx", "operators.txt"),
        *("dagre.LICENSE", "dagre.min.js.LEGAL.txt"),
    }
)
"""Files of a package whose suffix others have that do not belong there."""
IN_SOURCES = IN_A_PACKAGE - {".so"} | {".armnn", ".cpp", ".map", ".md"}
REQUIRED = frozenset({"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"})
BESIDE_A_PACKAGE = REQUIRED | {".gitignore", "hatch_build.py", "levels.toml"}


def wheel_problems(path: Path) -> list[str]:
    """Return the defects of a wheel, one sentence each."""
    with zipfile.ZipFile(path) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    inside = [name for name in names if not name.parts[0].endswith(".dist-info")]
    packages = sorted({name.parts[0] for name in inside if name != PYTEST_PLUGIN})
    problems = [
        f"holds the stray file {str(name)!r}" for name in inside if not _belongs(name, IN_A_PACKAGE)
    ]
    if len(packages) != 1:
        problems.append(f"holds {packages!r}, expected one package")
    problems += _missing(names, {"py.typed", "__about__.py", "LICENSE", "METADATA"})
    return [f"{path.name} {problem}." for problem in problems]


def sdist_problems(path: Path) -> list[str]:
    """Return the defects of a source distribution, one sentence each."""
    with tarfile.open(path) as archive:
        files = [PurePosixPath(member.name) for member in archive.getmembers() if member.isfile()]
    names = [name.relative_to(name.parts[0]) for name in files]
    problems = [
        f"holds the stray file {str(name)!r}"
        for name in names
        if not (str(name) in BESIDE_A_PACKAGE or _belongs(name, IN_SOURCES))
    ]
    problems += _missing(names, {"py.typed", "__about__.py", *REQUIRED})
    if not any(name.parts[0] == "tests" for name in names):
        problems.append("lacks tests")
    return [f"{path.name} {problem}." for problem in problems]


def _belongs(name: PurePosixPath, suffixes: frozenset[str]) -> bool:
    nested = len(name.parts) > 1
    if name.name == PYTEST_PLUGIN.name:
        return True
    return nested and (name.suffix in suffixes or name.name in BY_NAME)


def _missing(names: Iterable[PurePosixPath], required: Iterable[str]) -> list[str]:
    present = {name.name for name in names}
    return [f"lacks {name!r}" for name in sorted(set(required) - present)]


def main() -> None:
    """Check the folder on the command line.

    The exit status is 1 if there is a defect.
    """
    folder = Path(sys.argv[1])
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    problems = [problem for wheel in wheels for problem in wheel_problems(wheel)]
    problems += [problem for sdist in sdists for problem in sdist_problems(sdist)]
    if not wheels or len(wheels) != len(sdists):
        problems.append(f"{folder} holds {len(wheels)} wheels and {len(sdists)} source archives.")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(wheels)} wheels and {len(sdists)} source distributions hold what they should.")


if __name__ == "__main__":
    main()
