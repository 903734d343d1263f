# SPDX-License-Identifier: MIT
"""Release one distribution: check, build, record commit and version.

``python -m tools.release.release armnn-core 1.1.0``; ``nox -s "release(armnn-core)" -- 1.1.0`` does
that in an environment of its own. Refusals come before anything is built or written. The record is
appended to compat.toml and is committed by hand, as is the upload.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from tools import ROOT
from tools.release.check_distributions import sdist_problems, wheel_problems

API = "armnn-backend-api"
CORE = "armnn-core"
KIT = "armnn-conformance"
STABLE = "Development Status :: 5 - Production/Stable"
RECORDED = {
    API: "packages/armnn-backend-api/src/armnn_backend_api/layouts/{api}.json",
    CORE: "packages/armnn-core/contract/python-{api}.json",
}
"""The files that a distribution keeps for good; ``"released": true`` from the release on."""


def main() -> int:
    """Release what the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=sorted(packages(ROOT)), metavar="PACKAGE")
    parser.add_argument("version", metavar="VERSION", help="such as 1.1.0")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "release", metavar="DIR")
    arguments = parser.parse_args()
    found = release(ROOT, arguments.package, arguments.version, arguments.output)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


def release(root: Path, package: str, version: str, output: Path) -> list[str]:
    """Check, build and record a release.

    Args:
        root: The checkout.
        package: The name of the distribution.
        version: The version that it shall be released as.
        output: Where wheel and source distribution go.

    Returns:
        What is wrong, one sentence each; nothing was written then. Empty if it is released.
    """
    found = list(problems(root, package, version))
    if found:
        return found
    with tempfile.TemporaryDirectory() as folder:
        built, found = build(root, package, version, Path(folder))
        if found:
            return found
        output.mkdir(parents=True, exist_ok=True)
        for path in built:
            (output / path.name).write_bytes(path.read_bytes())
            print(f"built {output / path.name}")
    record(root, package, version)
    print(f"recorded {package} {version} in compat.toml; commit that, then upload {output}")
    return []


def problems(root: Path, package: str, version: str) -> Iterator[str]:
    """Yield the reasons against a release, before building."""
    yield from _tree_problems(root)
    yield from _version_problems(root, package, version)
    yield from _change_log_problems(root, package, version)
    yield from _requirement_problems(root, package)
    yield from _promise_problems(root, package)


def packages(root: Path) -> dict[str, dict[str, Any]]:
    """Return each distribution's ``[project]`` table and version."""
    found = {}
    for path in sorted((root / "packages").glob("*/pyproject.toml")):
        description = tomllib.loads(path.read_text(encoding="utf-8"))
        about = path.parent / description["tool"]["hatch"]["version"]["path"]
        match = re.search(r'^__version__ = "(.*)"$', about.read_text(encoding="utf-8"), re.M)
        if match is None:
            raise ValueError(f'{about} does not say __version__ = "...".')
        found[path.parent.name] = {**description["project"], "version": match[1]}
    return found


def releases(root: Path) -> list[dict[str, Any]]:
    """Return the released versions, in order."""
    text = (root / "compat.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["releases"]
    return [
        {"package": package, "version": version, **row}
        for (package, version), row in zip(map(str.split, rows), rows.values(), strict=True)
    ]


def _tree_problems(root: Path) -> Iterator[str]:
    # The record of the release before this one may wait for its commit: nothing is built from it.
    changed = _git(root, "status", "--porcelain", "--", ".", ":!compat.toml").splitlines()
    if changed:
        yield (
            f"The checkout has changes that no commit holds, such as {changed[0][3:]!r}: commit "
            "or remove them, so that the recorded commit is what was built."
        )


def _version_problems(root: Path, package: str, version: str) -> Iterator[str]:
    try:
        wanted = Version(version)
    except InvalidVersion:
        wanted = Version("0.dev0")
    if wanted.is_prerelease or len(wanted.release) != 3 or str(wanted) != version:
        yield f"The version {version!r} is not a final one: expected three numbers, as in 1.1.0."
        return
    declared = packages(root)[package]["version"]
    if declared != version:
        yield (
            f"{package} says that it is {declared}, expected {version}: run hatch version "
            f"{version} in packages/{package}."
        )
    api = packages(root)[API]["version"].rpartition(".")[0]
    if package == KIT and version.rpartition(".")[0] != api:
        yield f"{KIT} {version} tests backends for Backend API {api}: expected a version {api}.*."
    earlier = [row for row in releases(root) if row["package"] == package]
    if earlier and wanted <= Version(earlier[-1]["version"]):
        yield (
            f"{package} {earlier[-1]['version']} is released already: got {version}, expected a "
            "higher version."
        )


def _change_log_problems(root: Path, package: str, version: str) -> Iterator[str]:
    text = (root / "packages" / package / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    pending = [part for part in sections if part.startswith("[Unreleased]") and "\n- " in part]
    if pending:
        yield (
            f"The change log of {package} has lines under [Unreleased]: move them under "
            f"[{version}]."
        )
    dated = [part for part in sections if part.startswith(f"[{version}] - ")]
    if not dated or "\n- " not in dated[0]:
        yield (
            f"The change log of {package} has no section '## [{version}] - YYYY-MM-DD' with lines "
            "in it: write what changed for its users."
        )
        return
    day = dated[0].splitlines()[0].removeprefix(f"[{version}] - ").strip()
    try:
        datetime.date.fromisoformat(day)
    except ValueError:
        yield f"The change log of {package} dates {version} {day!r}: expected YYYY-MM-DD."


def _requirement_problems(root: Path, package: str) -> Iterator[str]:
    ours = packages(root)
    project = ours[package]
    if STABLE not in project["classifiers"]:
        yield f"{package} lacks the classifier {STABLE!r}."
    rows = [*project["dependencies"]]
    for requirement in map(Requirement, rows):
        released = [row["version"] for row in releases(root) if row["package"] == requirement.name]
        if requirement.name in ours and not any(map(requirement.specifier.contains, released)):
            yield (
                f"{package} requires {requirement}, which is not released yet: release "
                f"{requirement.name} first."
            )
    for extra in project.get("optional-dependencies", {}).values():
        rows += extra
    for requirement in map(Requirement, rows):
        if requirement.name not in ours or requirement.name == package:
            continue
        provided = ours[requirement.name]["version"]
        if not requirement.specifier.contains(provided):
            yield (
                f"{package} requires {requirement}, which leaves out the {provided} of this "
                "checkout: change the range."
            )
        if requirement.name == API:
            yield from _pin_problems(package, requirement, Version(provided))


def _pin_problems(package: str, requirement: Requirement, provided: Version) -> Iterator[str]:
    if package in (CORE, KIT):
        # A core provides exactly one minor of the contract, and the kit tests what that core asks.
        minor = rf"~={provided.major}\.{provided.minor}\.\d+"
        if not re.fullmatch(minor, str(requirement.specifier)):
            yield f"{package} pins {requirement}, expected {API}~={provided}."
    elif requirement.specifier.contains(f"{provided.major + 1}.0.0"):
        yield (
            f"{package} requires {requirement}, which admits the next major version: add "
            f"<{provided.major + 1}."
        )


def _promise_problems(root: Path, package: str) -> Iterator[str]:
    if package not in RECORDED:
        return
    api = packages(root)[API]["version"].rpartition(".")[0]
    path = root / RECORDED[package].format(api=api)
    if not path.exists():
        yield f"{path.relative_to(root)} is missing: its generator in tools/ writes it."
    elif not json.loads(path.read_text(encoding="utf-8"))["released"]:
        yield f'{path.relative_to(root)} says "released": false: review it and set it to true.'


def build(root: Path, package: str, version: str, folder: Path) -> tuple[list[Path], list[str]]:
    """Build wheel and source distribution, and check what they hold.

    Returns:
        The files, and what is wrong with them.
    """
    source = root / "packages" / package
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(source)], check=True, stdout=subprocess.DEVNULL)
    stem = f"{package.replace('-', '_')}-{version}"
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    found = [
        f"{path.name} was built, expected {stem}."
        for path in (*wheels, *archives)
        if not path.name.startswith((f"{stem}-", f"{stem}."))
    ]
    found += [problem for path in wheels for problem in wheel_problems(path)]
    found += [problem for path in archives for problem in sdist_problems(path)]
    return [*wheels, *archives], found


def record(root: Path, package: str, version: str) -> None:
    """Append the release to compat.toml."""
    ours = packages(root)
    api = ours[API]["version"].rpartition(".")[0]
    commit = _git(root, "rev-parse", "HEAD").strip()
    with (root / "compat.toml").open("a", encoding="utf-8") as file:
        file.write(f'"{package} {version}" = {{api = "{api}", commit = "{commit}"}}\n')


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
