# SPDX-License-Identifier: MIT
"""The metadata of installed distributions: where it is, its text.

Metadata in folders is read here. For archives, and for the distributions that foreign finders know,
the library is asked; to import it takes several times as long as to read some hundred folders.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import Protocol

    class Metadata(Protocol):
        """The metadata of one distribution.

        Attributes:
            location: The folder or the archive that holds it.
        """

        location: str

        def read_text(self, name: str) -> str | None:
            """Return the text of a metadata file, None if missing."""

        def legacy_requires(self) -> Iterable[str]:
            """Return the requirements that its METADATA does not say."""


_SUFFIXES: Final = (".dist-info", ".egg-info")
_EGG: Final = "egg-info"
"""What the metadata of an egg is called, in a folder that ends with ".egg"."""

_OF_FOLDERS: Final = ("PathFinder", "MetadataPathFinder")
"""The finders of distributions that look into folders only: Python's and the library's."""


def distributions(folders: Iterable[str]) -> Iterator[Metadata]:
    """Yield the metadata of distributions in these folders and archives."""
    if any(_knows_more(finder) for finder in sys.meta_path):
        yield from map(_Told, library().distributions(path=list(folders)))
        return
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            yield from map(_Told, library().distributions(path=[folder]))
        except OSError:  # it does not exist, or may not be read
            continue
        else:
            location = _plain(folder)
            is_egg = folder.lower().endswith(".egg")
            for name in names:
                if name.lower().endswith(_SUFFIXES) or (is_egg and name.lower() == _EGG):
                    yield _Read(location, name)


def library() -> Any:
    """Return the metadata library."""
    import importlib_metadata  # imported late: see above

    return importlib_metadata


def parsed_entry_points(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and value of each ``entry_points.txt`` entry.

    (https://packaging.python.org/en/latest/specifications/entry-points)

    Raises:
        ValueError: A line is neither a group nor an entry.
    """
    group = ""
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
            continue
        if not group:  # what comes before the first group is in none
            continue
        name, equals, value = map(str.strip, line.partition("="))
        if not equals:
            raise ValueError(f"the line {line!r} is neither [group] nor name = value")
        yield group, name, value


def _plain(folder: str) -> str:
    """Return a folder as ``str(Path(folder))`` spells it."""
    if os.sep != "/":
        from pathlib import Path  # late: with what it imports it takes two milliseconds

        return str(Path(folder))
    root = folder[: len(folder) - len(folder.lstrip("/"))]
    rest = "/".join(part for part in folder.split("/") if part not in ("", "."))
    return (root if root == "//" else root[:1]) + rest or "."


def _knows_more(finder: object) -> bool:
    """Return whether a finder may know distributions outside the folders."""
    kind = finder if isinstance(finder, type) else type(finder)
    return hasattr(finder, "find_distributions") and kind.__name__ not in _OF_FOLDERS


class _Read:
    """Metadata in a folder."""

    def __init__(self, location: str, name: str) -> None:
        self.location = location
        self._folder = f"{location}{os.sep}{name}"

    def read_text(self, name: str) -> str | None:
        try:
            # Not opened as text, which takes twice as long; most files have nothing of ours.
            with open(f"{self._folder}{os.sep}{name}", "rb", buffering=0) as file:
                return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
            return None

    def legacy_requires(self) -> Iterable[str]:
        return library().Distribution.at(self._folder).requires or ()


class _Told:
    """What the library says."""

    def __init__(self, found: Any) -> None:
        self.location = str(found.locate_file(""))
        self._found = found

    def read_text(self, name: str) -> str | None:
        text: str | None = self._found.read_text(name)
        return text

    def legacy_requires(self) -> Iterable[str]:
        return self._found.requires or ()
