# SPDX-License-Identifier: MIT
"""What a backend says about itself in a note of its ELF file, read without running it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from armnn_backend_api.elf import read_notes

_OWNER: Final = b"ArmNN\x00"
_TYPE: Final = 0x41524D4E


class NoteError(Exception):
    """The note of a file cannot be read.

    The text is the rest of a sentence.
    """


@dataclass(frozen=True, slots=True)
class Note:
    """What a backend says about itself in ``.note.armnn``.

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
        ElfError: It is no shared library that this process could open.
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
        raise NoteError(f"has a note that is no JSON: {error}") from error
    if not isinstance(facts, dict):
        raise NoteError(f"has a note that holds {type(facts).__name__}, expected a JSON object")
    for name in ("id", "api", "version"):
        if not isinstance(facts.get(name, ""), str):
            raise NoteError(f"has a note whose {name!r} is {facts[name]!r}, expected a text")
    return Note(facts.get("id", ""), facts.get("api", ""), facts.get("version", ""), facts)
