# SPDX-License-Identifier: MIT
"""The scan of folders agrees with the metadata library."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from armnn import _distributions
from armnn._distributions import distributions, parsed_entry_points
from fakes import Plugin, write_plugin

FILES = ("METADATA", "PKG-INFO", "entry_points.txt", "RECORD", "no_such_file")


def told_by_the_library(folders: list[str]) -> list[tuple[str, list[str | None]]]:
    found = _distributions.library().distributions(path=folders)
    return [(str(each.locate_file("")), [each.read_text(name) for name in FILES]) for each in found]


def read(folders: list[str]) -> list[tuple[str, list[str | None]]]:
    found = distributions(folders)
    return [(each.location, [each.read_text(name) for name in FILES]) for each in found]


def test_everything_installed_here_is_read_as_the_library_reads_it() -> None:
    assert sorted(read(sys.path), key=repr) == sorted(told_by_the_library(sys.path), key=repr)


def test_folders_of_each_kind_are_read_as_the_library_reads_them(tmp_path: Path) -> None:
    write_plugin(tmp_path, Plugin("acme", entry_points={"armnn.backends": {"A": "m:x"}}))
    for folder in ("old.egg-info", "egg.egg/EGG-INFO", "Upper.DIST-INFO", "EGG-INFO", "other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "PKG-INFO").write_text(f"Name: {folder}\nVersion: 1\n")
    (tmp_path / "file.egg-info").write_text("Name: file\nVersion: 1\n")
    folders = [str(tmp_path), str(tmp_path / "egg.egg"), str(tmp_path / "missing")]
    assert sorted(read(folders), key=repr) == sorted(told_by_the_library(folders), key=repr)
    assert len(read(folders)) == 5


def test_archives_are_read_too(tmp_path: Path) -> None:
    archive = tmp_path / "acme.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("acme-1.dist-info/METADATA", "Name: acme\nVersion: 1\nRequires-Dist: numpy\n")
    (found,) = distributions([str(archive)])
    assert found.location.rstrip("/") == str(archive)
    assert found.read_text("METADATA") == "Name: acme\nVersion: 1\nRequires-Dist: numpy\n"
    assert list(found.legacy_requires()) == ["numpy"]


def test_requirements_of_an_egg_are_those_of_its_requires_txt(tmp_path: Path) -> None:
    (tmp_path / "old.egg-info").mkdir()
    (tmp_path / "old.egg-info" / "PKG-INFO").write_text("Name: old\nVersion: 1\n")
    (tmp_path / "old.egg-info" / "requires.txt").write_text("numpy>=2\n\n[more]\nrich\n")
    (found,) = distributions([str(tmp_path)])
    assert list(found.legacy_requires()) == ["numpy>=2", 'rich; extra == "more"']


def test_a_finder_of_anyone_s_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path, Plugin("frozen", "7"))

    class Frozen:
        def find_spec(self, *_: object) -> None:
            """Find no module."""

        def find_distributions(self, context: object) -> list[object]:
            return [_distributions.library().Distribution.at(tmp_path / "frozen-7.dist-info")]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Frozen()])
    (found,) = distributions([])
    assert "Name: frozen" in str(found.read_text("METADATA"))


def test_entry_points_are_parsed_as_the_specification_says() -> None:
    text = """
    lost = before:any_group
    nor is this of a group
    [a.group]
    # a comment
    one = package.module:attribute.inner [extra]
      two=module
    [ b ]
    one = = odd
    """
    assert list(parsed_entry_points(text)) == [
        ("a.group", "one", "package.module:attribute.inner [extra]"),
        ("a.group", "two", "module"),
        (" b ", "one", "= odd"),
    ]
    with pytest.raises(ValueError, match=r"'what is this' is neither \[group\] nor name = value"):
        list(parsed_entry_points("[a]\nwhat is this\n"))


def test_the_library_is_not_imported_to_read_folders() -> None:
    code = (
        "import sys; from armnn import _metadata; found = _metadata.scan().entries;"
        "print(len(found) > 0, 'importlib_metadata' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert run.stdout.split() == [b"True", b"False"]
