# SPDX-License-Identifier: MIT
"""The files of scanned folders, checked without running them.

Their names, the note of each, and the libraries that are mapped with it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from armnn.backends import BACKEND_API_VERSION, BackendVersion, SourceRecord, is_compatible
from armnn.backends.sources import SearchedFolder
from armnn_backend_api.elf import ElfError, read_notes
from armnn_backend_api.files import FileState
from armnn_backend_api.linker import LinkError, is_in_system_folder, walk
from armnn_backend_api.refusal import RefusedError, refused
from armnn_backend_api.trust import distrust

_NAME = re.compile(r"[A-Za-z0-9]+_[A-Za-z0-9]+_backend\.so(\.[0-9]+)*")


def name_problem(name: str) -> str:
    """Return why a file name is refused; empty if accepted.

    The rule is Arm NN's, but Arm NN's expression accepts any character in place of the dot of
    ".so".

    Args:
        name: The name of the entry in the folder, not of a link's target.
    """
    if _NAME.fullmatch(name):
        return ""
    return (
        f"has the name {name!r}: expected <vendor>_<name>_backend.so or "
        "<vendor>_<name>_backend.so.<version>, of letters and digits; versions are numbers with "
        "single dots between them"
    )


_OWNER: Final = b"ArmNN\x00"
_TYPE: Final = 0x41524D4E


class NoteError(Exception):
    """The note of a file cannot be read.

    The text is the rest of a sentence.
    """


@dataclass(frozen=True, slots=True)
class Note:
    """A backend's description of itself in ``.note.armnn``.

    Attributes:
        id: Its id; empty if the note does not say.
        api: The Backend API version that it needs, as "major.minor"; empty likewise.
        version: Its own version; empty likewise.
        facts: The whole note.
    """

    id: str
    api: str
    version: str
    facts: dict[str, Any]


def read_note(path: str) -> Note | None:
    """Return a backend's note, None if it has none.

    Args:
        path: The file.

    Raises:
        ElfError: It is not a shared library that this process could open.
        NoteError: There is a note that cannot be understood.
        OSError: It cannot be read.
    """
    for owner, kind, text in read_notes(path):
        if owner == _OWNER and kind == _TYPE:
            return _parsed(text)
    return None


def _parsed(text: bytes) -> Note:
    try:
        facts = json.loads(text.rstrip(b"\x00").decode())
    except (ValueError, RecursionError) as error:
        raise NoteError(f"has a note that is not valid JSON: {error}") from error
    if not isinstance(facts, dict):
        raise NoteError(f"has a note that holds {type(facts).__name__}, expected a JSON object")
    for name in ("id", "api", "version"):
        if not isinstance(facts.get(name, ""), str):
            raise NoteError(f"has a note whose {name!r} is {facts[name]!r}, expected a text")
    return Note(facts.get("id", ""), facts.get("api", ""), facts.get("version", ""), facts)


class NeededFile(NamedTuple):
    """A library that is mapped with a file.

    Attributes:
        name: By which it is linked.
        path: Its canonical path.
        state: The state in which it was found.
        sha256: "" as long as nothing asked for it.
    """

    name: str
    path: str
    state: FileState
    sha256: str = ""


def needed_files(path: str) -> tuple[NeededFile, ...]:
    """Return the libraries mapped with a file, in order.

    Libraries in the folders of the system belong to its administrator and are left out: the process
    has mapped many of them already. A library that is not found is left to the dynamic linker,
    whose error names it.

    Raises:
        LinkError: A folder of RPATH or a library is not trusted.
        OSError: A library cannot be read.
    """
    found: dict[str, NeededFile] = {}
    for user, link in walk(path, check=_check_folder, is_settled=lambda link: link.is_system):
        for place in link.places:
            if not is_in_system_folder(place) and place != os.path.realpath(user):
                found[place] = _checked(link.name, place)
    return tuple(found.values())


def _check_folder(folder: str, written: str) -> None:
    """Refuse a folder of an RPATH that others may write.

    Raises:
        LinkError: They may.
    """
    if os.path.isdir(folder):
        why = distrust(os.path.realpath(folder))
        if why is not None:
            reason = f"has the folder {written!r} in its RPATH, but {why.reason}"
            raise LinkError(reason.replace("write it", "write that"), why.remedy)


def _checked(name: str, place: str) -> NeededFile:
    why = distrust(place)
    if why is not None:
        raise LinkError(f"is linked with {place!r}, but {why.reason}", why.remedy)
    return NeededFile(name, place, FileState.of(os.stat(place)))


VENDOR: Final = "tell its vendor"
"""The remedy for a file that only its vendor can correct."""

LARGEST_FILE = 1 << 30
"""Bytes; a larger one would keep a runtime from starting while its sha256 is computed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileRecord(SourceRecord):
    """A file in a scanned folder.

    Attributes:
        entry: The path of the entry in the folder; ``path`` is what it leads to.
        state: The state in which the file was examined; None if it was turned down before that.
        needed: The libraries that are mapped with it, but for those of the system.
    """

    entry: str = ""
    state: FileState | None = None
    needed: tuple[NeededFile, ...] = ()

    @property
    def passed_static_checks(self) -> bool:
        """Whether nothing that is known speaks against loading it."""
        is_compatible_one = self.api_version is None or is_compatible(
            self.api_version, BACKEND_API_VERSION
        )
        return not self.reason and is_compatible_one


def examine_folders(folders: Iterable[SearchedFolder]) -> list[FileRecord]:
    """Return a record for each entry of the scannable folders.

    The folders keep their order; in each, files come in the order of the bytes of their names. Of
    several entries that lead to the same file only the first may be loaded.
    """
    records: list[FileRecord] = []
    seen: dict[tuple[int, int], str] = {}
    for folder in folders:
        if not folder.problem:
            for entry in _entries(folder.path):
                record = _examine(entry, seen)
                if record is not None:
                    records.append(record)
    return records


def _entries(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError as error:  # it was there a moment ago
        _log.warning("The folder %r of dynamic backends cannot be read: %s.", folder, error)
        return
    for name in sorted(names, key=os.fsencode):
        yield os.path.join(folder, name)


def _examine(entry: str, seen: dict[tuple[int, int], str]) -> FileRecord | None:
    """Return an entry's record without running it; None for folders."""
    path = entry
    try:
        problem = name_problem(os.path.basename(entry))
        if problem:
            if os.path.isdir(entry):
                return None
            raise RefusedError("name", problem, "rename it if it is a backend")
        path, status = _target(entry)
        first = seen.setdefault((status.st_dev, status.st_ino), entry)
        if first != entry:
            raise RefusedError("duplicate", f"is the same file as {first!r}")
        _check_trust(path)
        note = _note(path)
        version = _needed_version(note)
        needed = _needed_files(path)
    except RefusedError as error:
        return refused(FileRecord("", path, entry=entry), error.refusal)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        return FileRecord("", path, stage="file", reason=reason, entry=entry)
    return FileRecord(
        note.id if note else "",
        path,
        version=note.version if note else "",
        api_version=version,
        noted_id=(note.id or None) if note else None,
        entry=entry,
        state=FileState.of(status),
        needed=needed,
        examined=(
            (path, FileState.of(status)),
            *((each.path, each.state) for each in needed),
        ),
    )


def _target(entry: str) -> tuple[str, os.stat_result]:
    """Return an entry's canonical path and its status."""
    try:
        path = os.path.realpath(entry, strict=True)
    except OSError as error:
        reason = f"is a link to {os.readlink(entry)!r}, which leads nowhere: {error.strerror}"
        raise RefusedError("link", reason, "repair or remove the link") from error
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError("file", "is not a regular file", "remove or rename it")
    if not status.st_size:  # a file of the kernel's may look so, and wait for ever when it is read
        raise RefusedError("file", "is empty", "copy it again")
    if status.st_size > LARGEST_FILE:
        reason = f"has {status.st_size} bytes, expected at most {LARGEST_FILE}"
        raise RefusedError("file", reason, "remove or rename it")
    return path, status


def _check_trust(path: str) -> None:
    why = distrust(path)
    if why is not None:
        raise RefusedError("permissions", f"is not trusted: {why.reason}", why.remedy)


def _needed_files(path: str) -> tuple[NeededFile, ...]:
    try:
        return needed_files(path)
    except LinkError as error:
        raise RefusedError("linked", error.reason, error.remedy or VENDOR) from error


def _note(path: str) -> Note | None:
    try:
        return read_note(path)
    except ElfError as error:
        raise RefusedError("elf", str(error), "replace or remove it") from error
    except NoteError as error:
        raise RefusedError("note", str(error), VENDOR) from error


def _needed_version(note: Note | None) -> BackendVersion | None:
    if note is None or not note.api:
        return None
    try:
        return BackendVersion.parse(note.api)
    except ValueError as error:
        raise RefusedError("note", f"has a note that cannot be used: {error}", VENDOR) from error
