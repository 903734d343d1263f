# SPDX-License-Identifier: MIT
"""hatch test installs the distributions that tests need."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

import pytest
from packaging.requirements import Requirement

from tools import ROOT

PROJECTS: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
}


def ours(requirements: Iterable[str]) -> set[str]:
    """Return our distributions among requirements, with their own."""
    found = set()
    for requirement in map(Requirement, requirements):
        if requirement.name in PROJECTS:
            project = PROJECTS[requirement.name]["project"]
            extras = project.get("optional-dependencies", {})
            more = [text for extra in requirement.extras for text in extras[extra]]
            found |= {requirement.name} | ours([*project["dependencies"], *more])
    return found


@pytest.mark.parametrize("package", PROJECTS)
def test_the_members_are_what_the_tests_need(package: str) -> None:
    project = PROJECTS[package]
    environment = project["tool"]["hatch"]["envs"]["hatch-test"]
    assert environment["dependency-groups"] == ["test"]
    needed = [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]
    members = [f"../{name}" for name in sorted(ours(needed) - {package})]
    assert environment["workspace"]["members"] == [f"../{package}*", *members]
