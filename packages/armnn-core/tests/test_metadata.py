# SPDX-License-Identifier: MIT
"""Metadata of distributions: order, duplicates, stale and damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import importlib_metadata
import pytest

import armnn_backend_api
from armnn import metadata
from fakes import Plugin, installed, write_plugin

GROUP = "armnn.backends"


def plugin(name: str, *, version: str = "1.0", module: str = "some_module") -> Plugin:
    return Plugin(name, version, (), {GROUP: {"Some": f"{module}:thing"}}, {module: "thing = 1\n"})


def test_entries_come_in_the_order_of_normalized_names(tmp_path: Path) -> None:
    names = ["Zeta", "alpha_b", "Alpha.A", "beta"]
    plugins = [plugin(name, module=f"module_{i}") for i, name in enumerate(names)]
    with installed(tmp_path, *plugins, alone=True):
        found = [entry.distribution.name for entry in metadata.entry_points(GROUP)]
    assert found == ["Alpha.A", "alpha_b", "beta", "Zeta"]


def test_only_the_named_group_is_returned(tmp_path: Path) -> None:
    groups = {"armnn.parsers": {"x": "m:f"}, "other.group": {"y": "m:f"}}
    with installed(tmp_path, Plugin(entry_points=groups), alone=True):
        assert metadata.entry_points(GROUP) == ()
        assert [entry.name for entry in metadata.entry_points("armnn.parsers")] == ["x"]
        assert [entry.group for entry in metadata.scan().entries] == ["armnn.parsers"]


def test_a_distribution_tells_its_name_version_requirements_and_location(tmp_path: Path) -> None:
    acme = Plugin("Acme", "0.3", ("numpy>=2",), {GROUP: {"A": "acme:b"}}, {"acme": "b = 7\n"})
    with installed(tmp_path, acme, alone=True):
        (entry,) = metadata.entry_points(GROUP)
        distribution = entry.distribution
        assert (distribution.name, distribution.version) == ("Acme", "0.3")
        assert distribution.requires == ("numpy>=2",)
        assert distribution.location == str(tmp_path)
        assert entry.module == "acme"
        assert entry.file == str(tmp_path / "acme.py")
        assert entry.load() == 7


def test_an_egg_has_its_requirements_in_a_file_of_their_own(tmp_path: Path) -> None:
    egg = tmp_path / "acme.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 2.0\n")
    (egg / "requires.txt").write_text("numpy>=2\n")
    (egg / "entry_points.txt").write_text(f"[{GROUP}]\nA = acme:b\n")
    with installed(tmp_path, alone=True):
        (entry,) = metadata.entry_points(GROUP)
    assert str(entry.distribution) == "acme 2.0"
    assert entry.distribution.requires == ("numpy>=2",)


def test_metadata_without_requirements_are_not_parsed_as_an_email(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parsed(_: object) -> None:
        raise AssertionError("metadata was parsed as an email")

    monkeypatch.setattr(importlib_metadata.Distribution, "metadata", property(parsed))
    acme = Plugin("acme", "1", (), {GROUP: {"A": "acme:b"}}, {"acme": "b = 7\n"})
    with installed(tmp_path, acme, alone=True):
        (entry,) = metadata.entry_points(GROUP)
    assert (entry.distribution.name, entry.distribution.requires) == ("acme", ())


def test_files_lists_what_record_names_whether_it_exists_or_not(tmp_path: Path) -> None:
    with installed(tmp_path, plugin("acme"), alone=True):
        (entry,) = metadata.entry_points(GROUP)
        (tmp_path / "some_module.py").unlink()
        files = entry.distribution.files()
    assert tmp_path / "some_module.py" in files
    assert tmp_path / "acme-1.0.dist-info" / "METADATA" in files


def test_a_distribution_without_record_has_no_files(tmp_path: Path) -> None:
    with installed(tmp_path, plugin("acme"), alone=True):
        (tmp_path / "acme-1.0.dist-info" / "RECORD").unlink()
        (entry,) = metadata.entry_points(GROUP)
        assert entry.distribution.files() == ()


def test_what_was_read_is_kept_until_refresh(tmp_path: Path) -> None:
    with installed(tmp_path, alone=True):
        assert metadata.entry_points(GROUP) == ()
        write_plugin(tmp_path, plugin("acme"))
        assert metadata.entry_points(GROUP) == ()
        metadata.refresh()
        assert len(metadata.entry_points(GROUP)) == 1


def test_a_module_that_does_not_exist_makes_an_entry_stale(tmp_path: Path) -> None:
    with installed(tmp_path, plugin("acme"), alone=True):
        (entry,) = metadata.entry_points(GROUP)
        assert not entry.is_stale
        (tmp_path / "some_module.py").unlink()
        assert entry.is_stale
        assert entry.file is None


def test_looking_for_a_module_imports_none_of_its_parents(tmp_path: Path) -> None:
    source = {"outer_package.inner.leaf": "thing = 1\n"}
    acme = Plugin("acme", "1", (), {GROUP: {"A": "outer_package.inner.leaf:thing"}}, source)
    with installed(tmp_path, acme, alone=True):
        (entry,) = metadata.entry_points(GROUP)
        assert not entry.is_stale
        assert entry.file == str(tmp_path / "outer_package" / "inner" / "leaf.py")
        assert "outer_package" not in sys.modules
        assert metadata.find_module("outer_package.inner.other") is None
        assert metadata.find_module("outer_package.inner.leaf.deeper") is None


def test_a_finder_that_raises_leaves_the_question_to_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "some_module":
                raise RuntimeError("broken finder")

    with installed(tmp_path, plugin("acme"), alone=True):
        (entry,) = metadata.entry_points(GROUP)
        monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
        assert not entry.is_stale
        assert entry.file is None


def test_the_newest_of_two_versions_in_one_folder_counts(tmp_path: Path) -> None:
    versions = [plugin("acme", version=version) for version in ("0.9", "0.10", "0.2")]
    with installed(tmp_path, *versions, alone=True):
        (entry,) = metadata.entry_points(GROUP)
    assert entry.distribution.version == "0.10"
    assert [other.version for other in entry.duplicates] == ["0.9", "0.2"]


def test_the_first_folder_of_the_path_counts_even_with_an_older_version(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_plugin(first, plugin("acme", version="1.0"))
    write_plugin(second, plugin("Acme", version="2.0"))
    with installed(first), metadata.only([str(first), str(second)]):
        (entry,) = metadata.entry_points(GROUP)
    assert entry.distribution.version == "1.0"
    assert [other.location for other in entry.duplicates] == [str(second)]


def test_metadata_whose_module_is_gone_gives_way_to_another(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_plugin(first, plugin("acme", version="3.0", module="module_that_is_gone"))
    (first / "module_that_is_gone.py").unlink()
    write_plugin(second, plugin("acme", version="1.0"))
    with installed(second), metadata.only([str(first), str(second)]):
        (entry,) = metadata.entry_points(GROUP)
    assert entry.distribution.version == "1.0"


def test_a_folder_that_is_twice_on_the_path_gives_no_duplicates(tmp_path: Path) -> None:
    with installed(tmp_path, plugin("acme")), metadata.only([str(tmp_path), str(tmp_path)]):
        (entry,) = metadata.entry_points(GROUP)
    assert entry.duplicates == ()


@pytest.mark.parametrize("text", ["", "no headers at all", "Name:\nVersion:\n"])
def test_damaged_metadata_hides_neither_itself_nor_its_neighbors(tmp_path: Path, text: str) -> None:
    neighbor = plugin("zeta", module="other_module")
    with installed(tmp_path, plugin("acme"), neighbor, alone=True):
        (tmp_path / "acme-1.0.dist-info" / "METADATA").write_text(text)
        found = [entry.distribution.name for entry in metadata.entry_points(GROUP)]
    assert sorted(found) == ["unnamed", "zeta"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[armnn.backends]\nno equals sign\n", "ValueError: the line 'no equals sign' is "),
        (b"[armnn.backends]\nA = \xff\xfe:b\n", "UnicodeDecodeError: "),
    ],
)
def test_damaged_entry_points_do_not_hide_those_of_others(
    tmp_path: Path, raw: bytes, reason: str
) -> None:
    with installed(tmp_path, plugin("acme"), plugin("zeta"), alone=True):
        (tmp_path / "acme-1.0.dist-info" / "entry_points.txt").write_bytes(raw)
        found = metadata.scan()
    assert [entry.distribution.name for entry in found.entries] == ["zeta"]
    ((distribution, said),) = found.unreadable
    assert (distribution.name, distribution.location) == ("acme", str(tmp_path))
    assert said.startswith(reason)


@pytest.mark.parametrize("value", ["", "not a reference", "..:x", "module:", "a.b.c:d"])
def test_an_entry_whose_value_names_no_module_is_stale(tmp_path: Path, value: str) -> None:
    with installed(tmp_path, Plugin(entry_points={GROUP: {"A": value}}), alone=True):
        (entry,) = metadata.entry_points(GROUP)
        assert entry.is_stale
        assert entry.file is None


def test_locations_count_the_distributions_of_each_folder(tmp_path: Path) -> None:
    with installed(tmp_path, plugin("a"), plugin("b"), Plugin("c"), alone=True):
        assert metadata.scan().locations == ((str(tmp_path), 3),)


def test_the_version_of_what_is_not_installed_is_none() -> None:
    assert metadata.version_of("armnn-backend-api") == armnn_backend_api.__version__
    assert metadata.version_of("no-such-distribution") is None
