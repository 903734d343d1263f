# SPDX-License-Identifier: MIT
"""Installed distributions and their entry points.

Everything installed is read once per process, when something is asked for: one pass finds the entry
points of all groups whose name begins with ``armnn.``.
"""

from __future__ import annotations

import csv
import functools
import importlib
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, cast

import importlib_metadata
from packaging.version import InvalidVersion, Version

from armnn._load_times import IMPORT, stage

GROUPS = "armnn."
"""How the names of the groups begin that a scan keeps."""


def normalized(name: str) -> str:
    """Return the name by which distributions are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True, slots=True)
class InstalledDistribution:
    """A distribution as its installed metadata describes it.

    Attributes:
        name: As it spells itself.
        version: Its version.
        requires: Its requirements, each as in ``Requires-Dist``.
        location: The folder that holds the metadata.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    location: str

    @property
    def normalized_name(self) -> str:
        """The name by which distributions are compared."""
        return normalized(self.name)

    def files(self) -> tuple[Path, ...]:
        """Return the paths that RECORD lists; none without a RECORD."""
        rows = csv.reader(self.record().splitlines())
        return tuple(Path(self.location, row[0]) for row in rows if row)

    def record(self) -> str:
        """Return the text of RECORD; empty if it is missing."""
        for found in importlib_metadata.distributions(name=self.name, path=[self.location]):
            if found.version == self.version:
                return found.read_text("RECORD") or ""
        return ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One line of an ``entry_points.txt``.

    Attributes:
        group: The group's name.
        name: The text before the equals sign.
        value: The text after it, "package.module:attribute" for one.
        distribution: Who says so.
        duplicates: Other installed metadata of a distribution of that name with the same entry;
            left over from an incomplete upgrade, or hidden by an earlier folder of ``sys.path``.
    """

    group: str
    name: str
    value: str
    distribution: InstalledDistribution
    duplicates: tuple[InstalledDistribution, ...] = ()

    @property
    def module(self) -> str:
        """The module that it names."""
        return self.value.partition(":")[0].partition("[")[0].strip()

    @property
    def is_stale(self) -> bool:
        """Whether the module does not exist; nothing is imported."""
        try:
            return find_module(self.module) is None
        except Exception:  # a finder of anyone's may raise anything: then the import will tell
            return False

    @property
    def file(self) -> str | None:
        """The module's file, None without one; nothing is imported."""
        try:
            spec = find_module(self.module)
        except Exception:  # as above
            return None
        return spec.origin if spec is not None and spec.has_location else None

    def load(self) -> Any:
        """Import the module and return the object.

        Exceptions of the import pass through.
        """
        with stage(IMPORT):
            found: Any = importlib.import_module(self.module)
        attributes = self.value.partition(":")[2].partition("[")[0].strip()
        for attribute in attributes.split(".") if attributes else ():
            found = getattr(found, attribute)
        return found


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one pass over the installed distributions.

    Attributes:
        entries: In the order of the normalized distribution names, then of the entries' names.
        locations: Every folder that holds metadata, with the number of distributions in it.
        unreadable: The distributions whose entry points cannot be read, each with the reason.
    """

    entries: tuple[EntryPoint, ...]
    locations: tuple[tuple[str, int], ...]
    unreadable: tuple[tuple[InstalledDistribution, str], ...] = ()


_lock = threading.Lock()
_folders: tuple[str, ...] | None = None


def scan() -> Scan:
    """Return the scan of installed distributions; only the first call reads anything."""
    with _lock:
        return _scan_once()


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return a group's entry points, ordered by distribution and name.

    Each is there once.
    """
    return tuple(entry for entry in scan().entries if entry.group == group)


def installed(name: str) -> InstalledDistribution | None:
    """Return an installed distribution, None if it is missing."""
    found = importlib_metadata.distributions(name=name)
    for distribution in cast("Iterable[importlib_metadata.Distribution]", found):
        return _describe(distribution)
    return None


def version_of(distribution: str) -> str | None:
    """Return an installed distribution's version, None if it is missing."""
    found = installed(distribution)
    return None if found is None else found.version


def refresh() -> None:
    """Forget the metadata read, so that changes are noticed."""
    with _lock:
        _scan_once.cache_clear()
    importlib.invalidate_caches()


@contextmanager
def only(folders: Iterable[str]) -> Iterator[None]:
    """See only distributions in these folders; for plug-in tests."""
    global _folders
    previous, _folders = _folders, tuple(folders)
    refresh()
    try:
        yield
    finally:
        _folders = previous
        refresh()


def find_module(name: str) -> ModuleSpec | None:
    """Return a module's spec, None if missing.

    Unlike importlib, it imports no parent.
    """
    spec, search = None, None
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for end in range(1, len(parts) + 1):
        spec = _find_spec(".".join(parts[:end]), search)
        if spec is None or (end < len(parts) and spec.submodule_search_locations is None):
            return None
        search = spec.submodule_search_locations
    return spec


def _find_spec(name: str, search: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, search)
        if spec is not None:
            return spec
    return None


@functools.cache
@stage(IMPORT)
def _scan_once() -> Scan:
    folders = sys.path if _folders is None else _folders
    counts: dict[str, int] = {}
    found: dict[tuple[str, str, str], list[EntryPoint]] = {}
    unreadable: list[tuple[InstalledDistribution, str]] = []
    installed = importlib_metadata.distributions(path=list(folders))
    for distribution in cast("Iterable[importlib_metadata.Distribution]", installed):
        location = str(distribution.locate_file(""))
        counts[location] = counts.get(location, 0) + 1
        try:
            entries = _entries_of(distribution)
        except Exception as error:  # as many kinds as there are ways to damage a file
            unreadable.append((_describe(distribution), f"{type(error).__name__}: {error}"))
            continue
        for entry in entries:
            key = (entry.distribution.normalized_name, entry.group, entry.name)
            candidates = found.setdefault(key, [])
            if entry not in candidates:
                candidates.append(entry)
    preferred = tuple(_preferred(found[key]) for key in sorted(found))
    return Scan(preferred, tuple(counts.items()), tuple(unreadable))


def _entries_of(distribution: importlib_metadata.Distribution) -> list[EntryPoint]:
    """Return the entry points in groups of ours.

    Raises:
        ValueError: A line is neither a group nor an entry, or the file is not UTF-8.
    """
    text = distribution.read_text("entry_points.txt") or ""
    if GROUPS not in text:  # what others get wrong in groups of their own is not ours to say
        return []
    for line in map(str.strip, text.partition("[")[2].splitlines()[1:]):
        if line and line[0] not in "[#" and "=" not in line:
            raise ValueError(f"the line {line!r} is neither [group] nor name = value")
    described = _describe(distribution)
    return [
        EntryPoint(entry.group, entry.name, entry.value, described)
        for entry in distribution.entry_points
        if entry.group.startswith(GROUPS)
    ]


def _describe(distribution: importlib_metadata.Distribution) -> InstalledDistribution:
    """Return a distribution's metadata; damaged ones are still listed."""
    try:
        text = distribution.read_text("METADATA")
        fields = _header_fields(text or distribution.read_text("PKG-INFO") or "")
        # An egg has them in a file of their own.
        requires = fields.get("requires-dist", []) if text else (distribution.requires or ())
        (name,), (version,) = fields["name"], fields["version"]
    except Exception:  # there are many ways to be damaged, and each raises another error
        name, version, requires = "", "", []
    location = str(distribution.locate_file(""))
    return InstalledDistribution(name or "unnamed", version or "0", tuple(requires), location)


def _header_fields(metadata: str) -> dict[str, list[str]]:
    """Return the header fields of a METADATA file, by lower-case name.

    ``Distribution.metadata`` parses the whole file as an e-mail, its long description included.
    """
    fields: dict[str, list[str]] = {}
    for line in metadata.partition("\n\n")[0].splitlines():
        name, colon, value = line.partition(":")
        if not line.strip():
            break
        if colon and not line[0].isspace():  # else it continues a field that is not read
            fields.setdefault(name.lower(), []).append(value.strip())
    return fields


def _preferred(candidates: list[EntryPoint]) -> EntryPoint:
    """Choose among metadata of one distribution with the same entry.

    The first one on the path whose module exists; the newest of those in one folder.
    """
    if len(candidates) == 1:
        return candidates[0]
    folders = list(dict.fromkeys(entry.distribution.location for entry in candidates))
    newest_first = sorted(candidates, key=_version, reverse=True)
    best, *others = sorted(
        newest_first,
        key=lambda entry: (entry.is_stale, folders.index(entry.distribution.location)),
    )
    duplicates = tuple(entry.distribution for entry in others)
    return EntryPoint(best.group, best.name, best.value, best.distribution, duplicates)


def _version(entry: EntryPoint) -> Any:
    try:
        return Version(entry.distribution.version)
    except InvalidVersion:
        return Version("0")
