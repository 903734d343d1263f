# SPDX-License-Identifier: MIT
"""Odd environments read as by the metadata library.

They have several kinds, duplicates and damage.
"""

from __future__ import annotations

import gc
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from armnn._distributions import _plain, library
from armnn._metadata import InstalledDistribution, only, scan

KINDS = {
    "wheel": "{name}-{version}.dist-info/METADATA",
    "develop": "{name}.egg-info/PKG-INFO",
    "distutils": "{name}-{version}.egg-info",
    "egg": "{name}-{version}.egg/EGG-INFO/PKG-INFO",
    "zip": "{name}-{version}.zip/{name}-{version}.dist-info/METADATA",
    "editable": "{name}-{version}.dist-info/METADATA",
    "upper case": "{name}-{version}.DIST-INFO/METADATA",
}
"""Where the metadata of each kind of installation is, in its folder."""

ARCHIVES = ("egg", "zip")
"""Kinds whose folder or file is on the path itself."""


pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")


@pytest.fixture(scope="module", autouse=True)
def archives_are_closed() -> Iterator[None]:
    """Collect archives left open by the library, with warnings allowed."""
    yield
    with warnings.catch_warnings(action="ignore"):
        gc.collect()


@dataclass(frozen=True)
class Installed:
    """One distribution of an odd environment.

    Attributes:
        folder: Which folder it is in; several may have the same name in one folder.
        kind: One of ``KINDS``.
        metadata: The bytes of METADATA or PKG-INFO; None if the file is missing.
        entries: The text of entry_points.txt; None if there is none.
    """

    folder: int
    kind: str
    name: str
    version: str
    metadata: bytes | None
    entries: str | None


def write(installed: Installed, root: Path) -> str:
    """Install it; return what has to be on the path."""
    folder = root / f"folder{installed.folder}"
    folder.mkdir(exist_ok=True)
    place = KINDS[installed.kind].format(name=installed.name, version=installed.version)
    files = {place: installed.metadata}
    if installed.kind != "distutils":  # its metadata is one file
        entries = None if installed.entries is None else installed.entries.encode()
        files[str(Path(place).with_name("entry_points.txt"))] = entries
    if installed.kind == "editable":
        files[str(Path(place).with_name("direct_url.json"))] = b'{"dir_info": {"editable": true}}'
        files[f"{installed.name}.pth"] = b"/somewhere/src\n"
    written = {name: content for name, content in files.items() if content is not None}
    top = folder / Path(place).parts[0]
    if installed.kind == "zip":
        with zipfile.ZipFile(top, "w") as archive:
            for name, content in written.items():
                archive.writestr(str(Path(*Path(name).parts[1:])), content)
    else:
        for name, content in written.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                path.write_bytes(content)
    return str(top if installed.kind in ARCHIVES else folder)


names = st.sampled_from(["acme", "Acme", "acme_npu", "acme.npu", "other"])
versions = st.sampled_from(["1", "2.0", "10.0rc1", "not-a-version"])
oddities = st.sampled_from(
    ["Summary: two\n  lines: Name: none\n", "License: \n", "Author: \u00e5\n", "X-Name: x\n", ""]
)
damages = st.sampled_from([None, b"", b"\xff\xfe\x00", b"no colon\n", b"\n\nName: late\n"])


@st.composite
def metadata(draw: st.DrawFn, name: str, version: str) -> bytes:
    fields = [f"Name: {name}\n", f"Version: {version}\n", "Requires-Dist: numpy>=1\n"]
    head = draw(st.permutations([*fields, draw(oddities)]))
    text = f"Metadata-Version: 2.1\n{''.join(head)}\nName: of the description\n"
    if draw(st.booleans()):
        text = text.replace("Name:", "NAME:").replace("Version:", "version:")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()


lines = st.sampled_from(
    [
        "[armnn.backends]", "[ armnn.parsers ]", "[console_scripts]", "[other]", "",
        "# armnn.backends", "A = m:x", "B=m.n:x.y [extra]", "  two words = m", "C = = d",
        "no value",
    ]
)  # fmt: skip


@st.composite
def installations(draw: st.DrawFn) -> Installed:
    name, version = draw(names), draw(versions)
    kind = draw(st.sampled_from(list(KINDS)))
    entries = draw(st.none() | st.lists(lines, max_size=6).map("\n".join))
    sound = metadata(name, version)
    return Installed(
        draw(st.integers(0, 2)), kind, name, version, draw(sound | sound | damages), entries
    )


Described = tuple[str, str, str, tuple[str, ...]]
"""Location, name, version and requirements of a distribution."""


@dataclass(frozen=True)
class Seen:
    """What a library says of an environment.

    Attributes:
        locations: How many distributions each folder or archive holds.
        entries: Group and name of each entry in a group of ours, and a distribution that has it.
        unreadable: Distributions whose entries cannot be read.
    """

    locations: Counter[str]
    entries: set[tuple[str, str, Described]]
    unreadable: set[Described]


def told_by_the_library(folders: list[str]) -> Seen:
    seen = Seen(Counter(), set(), set())
    for found in library().distributions(path=folders):
        location = str(found.locate_file(""))
        seen.locations[location] += 1
        text = found.read_text("entry_points.txt") or ""
        if "armnn." not in text:
            continue  # what others get wrong in groups of their own is not ours to say
        try:
            fields = found.metadata
            described = (location, fields["Name"], fields["Version"], tuple(found.requires or ()))
        except Exception:  # each kind of damage raises another error
            described = (location, "unnamed", "0", ())
        try:
            entries = [each for each in found.entry_points if each.group.startswith("armnn.")]
        except Exception:  # as above
            seen.unreadable.add(described)
            continue
        seen.entries.update((each.group, each.name, described) for each in entries)
    return seen


def read(folders: list[str]) -> Seen:
    def described(found: InstalledDistribution) -> Described:
        return found.location, found.name, found.version, found.requires

    with only(folders):
        found = scan()
    entries = {
        (entry.group, entry.name, described(distribution))
        for entry in found.entries
        for distribution in (entry.distribution, *entry.duplicates)
    }
    unreadable = {described(distribution) for distribution, _ in found.unreadable}
    return Seen(Counter(dict(found.locations)), entries, unreadable)


ENTRIES = "[armnn.backends]\nA = m:x\n"
SOUND = b"Metadata-Version: 2.1\nName: acme\nVersion: 1\nRequires-Dist: numpy\n"


@given(st.lists(installations(), max_size=6))
@example([Installed(0, kind, "acme", "1", SOUND, ENTRIES) for kind in KINDS])
@example([Installed(place, "wheel", "acme", "1", SOUND, ENTRIES) for place in range(3)])
@example([Installed(0, "wheel", "acme", "1", damage, ENTRIES) for damage in (None, b"\xff")])
@settings(max_examples=60, deadline=None)
def test_an_odd_environment_is_read_as_the_library_reads_it(environment: list[Installed]) -> None:
    with tempfile.TemporaryDirectory() as root:
        path = [write(each, Path(root)) for each in environment]
        folders = [*dict.fromkeys(path), str(Path(root, "missing"))]
        assert read(folders) == told_by_the_library(folders)


def test_the_examples_show_entries_duplicates_and_damage(tmp_path: Path) -> None:
    kinds = [write(Installed(0, kind, "acme", "1", SOUND, ENTRIES), tmp_path) for kind in KINDS]
    damaged = [write(Installed(1, "wheel", "bad", "1", None, "[armnn.backends]\nno"), tmp_path)]
    seen = read([*dict.fromkeys(kinds), *damaged])
    assert len(seen.entries) == 3  # the folder with five kinds, the egg, the archive
    assert {name for *_, (_, name, _, _) in seen.entries} == {"acme"}
    assert seen.unreadable == {(damaged[0], "unnamed", "0", ())}


@pytest.mark.parametrize(
    "folder",
    ["", ".", "/", "//", "///", "a", "./a", "a/", "a//b", "a/./b", "a/..", "/a/", "//a", "///a/.b"],
)
def test_folders_are_spelt_as_paths_are(folder: str) -> None:
    assert _plain(folder) == str(Path(folder))
