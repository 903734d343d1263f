# SPDX-License-Identifier: MIT
"""Bills of materials and reproducible builds of the distributions."""

from __future__ import annotations

import json
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools import ROOT
from tools.generate.generate_sboms import FILE, bill_of
from tools.release import reproduce

PACKAGES = sorted((ROOT / "packages").glob("*/pyproject.toml"))


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_each_wheel_is_configured_to_have_its_bill_of_materials(path: Path) -> None:
    targets = tomllib.loads(path.read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["sbom-files"] == [FILE]
    assert FILE in targets["sdist"]["only-include"]
    bill = json.loads(path.with_name(FILE).read_text())
    assert bill["metadata"]["component"]["name"] == path.parent.name
    assert bill == bill_of(path.parent)


def test_a_bill_names_what_is_needed_with_its_versions() -> None:
    bill = bill_of(ROOT / "packages" / "armnn-dynamic-loader")
    needed = {row["name"]: row["properties"][0]["value"] for row in bill["components"]}
    assert needed["pyelftools"] == "pyelftools>=0.30"
    assert bill["dependencies"][0]["ref"] == bill["metadata"]["component"]["purl"]


def test_two_builds_are_the_same_and_hold_the_bill(tmp_path: Path) -> None:
    first = reproduce.built("armnn-backend-custom", tmp_path / "one")
    assert first == reproduce.built("armnn-backend-custom", tmp_path / "other" / "deeper")
    (wheel,) = (tmp_path / "one" / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if "/sboms/" in name]
        document = json.loads(archive.read(name))
    assert name.endswith(f".dist-info/sboms/{FILE}")
    assert document["metadata"]["component"]["name"] == "armnn-backend-custom"


def test_a_difference_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = iter([{"a.whl": "1", "b.whl": "2"}, {"a.whl": "1", "b.whl": "3"}])
    monkeypatch.setattr(reproduce, "built", lambda *_: next(digests))
    assert reproduce.main(["armnn-core"]) == 1
    assert capsys.readouterr().out.splitlines() == ["same  1  a.whl", "DIFFERS  2  b.whl"]


def test_each_threat_names_tests_or_sessions_that_exist() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line[:1] == "|"]
    sessions = (ROOT / "noxfile.py").read_text()
    files = {path.name for path in ROOT.glob("packages/*/tests/**/test_*.py")}
    files |= {path.name for path in ROOT.glob("tests-e2e/test_*.py")}
    for row in rows[2:]:
        named = row.rstrip("| ").rpartition("|")[2].replace("`", "").split(", ")
        assert named[0].strip(), row
        for each in map(str.strip, named):
            session = each.removeprefix("nox -s ")
            assert each in files or f"def {session}(session" in sessions, each
