# SPDX-License-Identifier: MIT
"""The release tool on a scratch checkout: refusals and results."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import ROOT as REPOSITORY
from tools.release import release as tool

PACKAGE = "armnn-backend-custom"
FOLDER = f"packages/{PACKAGE}"
ABOUT = f"{FOLDER}/src/armnn_backend_custom/__about__.py"
LOG = f"{FOLDER}/CHANGELOG.md"
VERSION = "7.8.9"

Edit = Callable[[str, str, str], None]


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with a small distribution ready for release.

    It is version 7.8.9. Of the other distributions it has what a release looks at.
    """
    root = tmp_path / "checkout"
    made = shutil.ignore_patterns("__pycache__", "build", "*.so")
    shutil.copytree(REPOSITORY / FOLDER, root / FOLDER, ignore=made)
    looked_at = ("pyproject.toml", "CHANGELOG.md", "src/*/__about__.py", "contract/*.json")
    for pattern in (*looked_at, "src/*/layouts/*.json"):
        for path in REPOSITORY.glob(f"packages/*/{pattern}"):
            copy = root / path.relative_to(REPOSITORY)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    shutil.copy(REPOSITORY / "compat.toml", root)
    (root / ".gitignore").write_text("ignored\n")
    about, log = root / ABOUT, root / LOG
    about.write_text(f'"""The version."""\n\n__version__ = "{VERSION}"\n')
    log.write_text(f"# Changes\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-11-21\n\n- All.\n")
    git(root, "init", "--quiet")
    commit(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "A change")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def refusal(root: Path, package: str = PACKAGE, version: str = VERSION) -> str:
    """Return the refusal of a release, which leaves no trace."""
    recorded = (root / "compat.toml").read_text()
    found = tool.release(root, package, version, root / "dist")
    assert (root / "compat.toml").read_text() == recorded
    assert not (root / "dist").exists()
    return "\n".join(found)


def test_a_release_is_built_and_recorded_with_the_commit_it_was_built_from(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert tool.release(checkout, PACKAGE, VERSION, checkout / "dist") == []
    assert sorted(path.name for path in (checkout / "dist").iterdir()) == [
        "armnn_backend_custom-7.8.9-py3-none-any.whl",
        "armnn_backend_custom-7.8.9.tar.gz",
    ]
    *_, (release, row) = tomllib.loads((checkout / "compat.toml").read_text())["releases"].items()
    assert (release, row["commit"]) == (f"{PACKAGE} {VERSION}", head)


def test_a_sibling_that_is_not_released_yet_comes_first(checkout: Path) -> None:
    version = tool.packages(checkout)[tool.CORE]["version"]
    project = checkout / FOLDER / "pyproject.toml"
    replace(project, '"armnn-core>=1.0,<2"', f'"armnn-core>={version},<2"')
    replace(checkout / "compat.toml", f'"{tool.CORE} ', '"another ')
    commit(checkout)
    assert refusal(checkout) == (
        f"{PACKAGE} requires armnn-core<2,>={version}, which is not released yet: release "
        "armnn-core first."
    )
    tool.record(checkout, tool.CORE, version)
    commit(checkout)
    assert tool.release(checkout, PACKAGE, VERSION, checkout / "dist") == []


def test_the_version_of_the_kit_is_that_of_the_backend_api(checkout: Path) -> None:
    api = tool.packages(checkout)[tool.API]["version"].rpartition(".")[0]
    other = f"{api.partition('.')[0]}.99.0"
    message = f"{tool.KIT} {other} tests backends for Backend API {api}"
    about = checkout / f"packages/{tool.KIT}/src/armnn_conformance/__about__.py"
    replace(about, tool.packages(checkout)[tool.KIT]["version"], other)
    commit(checkout)
    assert message in refusal(checkout, tool.KIT, other)
    replace(about, other, f"{api}.7")
    commit(checkout)
    assert "tests backends for" not in refusal(checkout, tool.KIT, f"{api}.7")


def test_a_release_can_be_made_once(checkout: Path) -> None:
    assert tool.release(checkout, PACKAGE, VERSION, checkout / "ignored") == []
    assert refusal(checkout) == (
        f"{PACKAGE} 7.8.9 is released already: got 7.8.9, expected a higher version."
    )


@pytest.mark.parametrize("name", [LOG, "a_new_file.py"])
def test_a_change_that_no_commit_holds_is_refused(checkout: Path, name: str) -> None:
    with (checkout / name).open("a") as file:
        file.write("\n")
    assert refusal(checkout).startswith(
        f"The checkout has changes that no commit holds, such as {name!r}: commit or remove them"
    )


@pytest.mark.parametrize("version", ["1.0", "1.0.0rc1", "1.0.0.dev1", "v1.0.0", "01.0.0", "one"])
def test_a_version_that_is_not_final_is_refused(checkout: Path, version: str) -> None:
    assert f"The version {version!r} is not a final one: expected three numbers" in refusal(
        checkout, version=version
    )


def test_another_version_than_that_of_the_sources_is_refused(checkout: Path) -> None:
    assert refusal(checkout, version="7.9.0").startswith(
        f"{PACKAGE} says that it is 7.8.9, expected 7.9.0: run hatch version 7.9.0 in "
        f"packages/{PACKAGE}.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## [7.8.9]", "## [7.8.8]", "has no section '## [7.8.9] - YYYY-MM-DD' with lines in it"),
        ("\n- All.", "", "has no section '## [7.8.9] - YYYY-MM-DD' with lines in it"),
        ("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n", "has lines under [Unreleased]: move"),
        ("2026-11-21", "soon", "dates 7.8.9 'soon': expected YYYY-MM-DD."),
    ],
)
def test_a_change_log_that_does_not_tell_of_the_release_is_refused(
    checkout: Path, old: str, new: str, message: str
) -> None:
    replace(checkout / LOG, old, new)
    commit(checkout)
    assert refusal(checkout).startswith(f"The change log of {PACKAGE} {message}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("armnn-core>=1.0,<2", "armnn-core>=99", "requires armnn-core>=99, which leaves out the "),
        (
            "armnn-backend-api>=1.0,<2",
            "armnn-backend-api>=1.0",
            "requires armnn-backend-api>=1.0, which admits the next major version: add <2.",
        ),
        (tool.STABLE, "Framework :: Pytest", f"lacks the classifier {tool.STABLE!r}."),
    ],
)
def test_requirements_that_disagree_with_the_siblings_are_refused(
    checkout: Path, old: str, new: str, message: str
) -> None:
    replace(checkout / FOLDER / "pyproject.toml", old, new)
    commit(checkout)
    assert f"{PACKAGE} {message}" in refusal(checkout)


def test_a_core_that_does_not_pin_one_minor_of_the_contract_is_refused(checkout: Path) -> None:
    path = checkout / "packages/armnn-core/pyproject.toml"
    rows = tomllib.loads(path.read_text())["project"]["dependencies"]
    (pin,) = [row for row in rows if row.startswith(f"{tool.API}~=")]
    replace(path, pin, f"{tool.API}>=1.0,<2")
    commit(checkout)
    found = refusal(checkout, tool.CORE, tool.packages(checkout)[tool.CORE]["version"])
    assert f"{tool.CORE} pins {tool.API}<2,>=1.0, expected {pin}." in found


@pytest.mark.parametrize("package", [tool.API, tool.CORE])
@pytest.mark.parametrize("missing", [False, True])
def test_a_contract_that_is_not_marked_as_released_is_refused(
    checkout: Path, package: str, missing: bool
) -> None:
    projects = tool.packages(checkout)
    name = tool.RECORDED[package].format(api=projects[tool.API]["version"].rpartition(".")[0])
    text = (checkout / name).read_text()
    (checkout / name).write_text(text.replace('"released": true', '"released": false'))
    if missing:
        (checkout / name).unlink()
    commit(checkout)
    said = "is missing" if missing else 'says "released": false'
    assert f"{name} {said}" in refusal(checkout, package, projects[package]["version"])


def test_what_does_not_belong_into_a_distribution_stops_its_release(checkout: Path) -> None:
    (checkout / FOLDER / "src/armnn_backend_custom/notes.txt").write_text("not for users")
    commit(checkout)
    assert "holds the stray file 'armnn_backend_custom/notes.txt'." in refusal(checkout)


@pytest.mark.parametrize("package", sorted(tool.packages(REPOSITORY)))
def test_hatch_reads_and_writes_the_version_of_each_distribution(
    checkout: Path, package: str
) -> None:
    def hatch(*arguments: str) -> str:
        command = [sys.executable, "-m", "hatchling", "version", *arguments]
        folder = checkout / "packages" / package
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        return run.stdout

    assert hatch().strip() == tool.packages(checkout)[package]["version"]
    hatch("98.7.6")
    assert tool.packages(checkout)[package]["version"] == "98.7.6"
