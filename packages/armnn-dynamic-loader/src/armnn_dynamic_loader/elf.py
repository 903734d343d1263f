# SPDX-License-Identifier: MIT
"""Reads an ELF file's machine and note, without running it.

Only the file's header, its program headers and its notes are read. Every offset and size in them
is checked against the file, as anything may have the name of a backend.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

Machine: TypeAlias = tuple[int, int, int]
"""Class (1: 32 bits, 2: 64 bits), byte order (1: little, 2: big) and ``e_machine`` of a file."""

_MAGIC = b"\x7fELF"
_SHARED_OBJECT = 3  # ET_DYN
_LOAD, _DYNAMIC, _NOTE = 1, 2, 4  # PT_LOAD, PT_DYNAMIC, PT_NOTE
_NEEDED, _STRING_TABLE, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29  # DT_...
_AUXILIARY, _FILTER = 0x7FFFFFFD, 0x7FFFFFFF  # DT_..., mapped as if they were needed
_LONGEST_TEXT = 1 << 14
_OWNER = b"ArmNN\x00"
_NOTE_TYPE = 0x41524D4E
_LARGEST_NOTES = 1 << 20  # bytes of all notes together; more are not read

_MACHINES = {3: "x86", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V", 258: "LoongArch"}


class ElfError(Exception):
    """A file is no shared library for this machine.

    The text is the rest of a sentence.
    """


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


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Dynamic:
    """What the dynamic linker reads of a library.

    Attributes:
        needed: The libraries that are mapped with it, by name.
        name: Its own name for the linker; empty if it has none.
        rpath: The folders of DT_RPATH, as written; empty if there is a DT_RUNPATH.
        runpath: The folders of DT_RUNPATH, as written.
    """

    needed: tuple[str, ...] = ()
    name: str = ""
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_note(path: str) -> Note | None:
    """Return a backend's note, None if it has none.

    Args:
        path: The file.

    Raises:
        ElfError: It is no shared library that this process could open.
        NoteError: There is a note that cannot be understood.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        machine = _read_machine(file)
        if machine != this_machine():
            raise ElfError(
                f"is for another machine: got {describe(machine)}, expected "
                f"{describe(this_machine())}"
            )
        order = "<" if machine[1] == 1 else ">"
        segments = _read_segments(file, size, order, is_64_bit=machine[0] == 2)
        for segment in segments:
            end = segment.offset + segment.size
            if segment.kind == _LOAD and end > size:
                raise ElfError(f"is cut off: it has {size} bytes, expected at least {end}")
        budget = _LARGEST_NOTES
        for segment in segments:
            is_inside = segment.offset + segment.size <= size
            if segment.kind == _NOTE and is_inside and segment.size <= budget:
                budget -= segment.size
                text = _find_note(file, segment, order)
                if text is not None:
                    return _parsed(text)
    return None


def read_dynamic(path: str) -> Dynamic:
    """Return what the dynamic linker reads of a library.

    Raises:
        ElfError: It is no shared library, or its dynamic section leads out of the file.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        machine = _read_machine(file)
        order = "<" if machine[1] == 1 else ">"
        segments = _read_segments(file, size, order, is_64_bit=machine[0] == 2)
        entry = struct.Struct(order + ("qQ" if machine[0] == 2 else "iI"))
        for segment in segments:
            if segment.kind == _DYNAMIC and segment.size <= _LARGEST_NOTES:
                file.seek(segment.offset)
                data = file.read(segment.size // entry.size * entry.size)
                return _dynamic(file, segments, list(entry.iter_unpack(data)))
    return Dynamic()


def _dynamic(
    file: BinaryIO, segments: Sequence[_Segment], entries: Sequence[tuple[int, int]]
) -> Dynamic:
    rows: dict[int, list[int]] = {}
    for tag, value in entries:
        if not tag:
            break
        rows.setdefault(tag, []).append(value)
    (table,) = rows.get(_STRING_TABLE, [0])[:1]
    for segment in segments:
        if segment.kind == _LOAD and 0 <= table - segment.address < segment.size:
            start = segment.offset + table - segment.address
            break
    else:
        raise ElfError("has a dynamic section without a table of texts")

    def texts(tag: int) -> tuple[str, ...]:
        return tuple(_text_at(file, start + value) for value in rows.get(tag, ()))

    runpath = tuple(each for text in texts(_RUNPATH) for each in text.split(":"))
    rpath = tuple(each for text in texts(_RPATH) for each in text.split(":"))
    needed = tuple(name for tag in (_NEEDED, _AUXILIARY, _FILTER) for name in texts(tag))
    return Dynamic(needed, "".join(texts(_SONAME)), () if runpath else rpath, runpath)


def _text_at(file: BinaryIO, place: int) -> str:
    file.seek(place)
    raw, end, _ = file.read(_LONGEST_TEXT).partition(b"\0")
    if not end:
        raise ElfError(f"has a text of more than {_LONGEST_TEXT} bytes in its dynamic section")
    return os.fsdecode(raw)


@functools.cache
def this_machine() -> Machine:
    """Return for what machine this Python was built."""
    with open("/proc/self/exe" if os.path.exists("/proc/self/exe") else sys.executable, "rb") as me:
        return _read_machine(me, any_kind=True)


def describe(machine: Machine) -> str:
    """Return a machine as people name it."""
    bits = {1: "32-bit", 2: "64-bit"}.get(machine[0], f"class {machine[0]}")
    order = {1: "little-endian", 2: "big-endian"}.get(machine[1], f"byte order {machine[1]}")
    return f"{bits} {order} {_MACHINES.get(machine[2], f'machine {machine[2]}')}"


def _read_machine(file: BinaryIO, *, any_kind: bool = False) -> Machine:
    head = file.read(20)
    if head[:4] != _MAGIC:
        raise ElfError(f"is no ELF file: it begins with {head[:4]!r}, expected {_MAGIC!r}")
    if len(head) < 20:
        raise ElfError(f"is cut off: it has {len(head)} bytes, expected a header of at least 52")
    order = ">" if head[5] == 2 else "<"
    kind, machine = struct.unpack_from(f"{order}HH", head, 16)
    if kind != _SHARED_OBJECT and not any_kind:
        raise ElfError(f"is no shared library: its ELF type is {kind}, expected {_SHARED_OBJECT}")
    return head[4], head[5], machine


def _read_segments(file: BinaryIO, size: int, order: str, *, is_64_bit: bool) -> list[_Segment]:
    header = struct.Struct(order + ("16xHHIQQQIHHH" if is_64_bit else "16xHHIIIIIHHH"))
    entry = struct.Struct(order + ("IIQQQQQQ" if is_64_bit else "IIIIIIII"))
    file.seek(0)
    data = file.read(header.size)
    if len(data) < header.size:
        raise ElfError(f"is cut off: it has {size} bytes, expected a header of {header.size}")
    _, _, _, _, start, _, _, _, entry_size, count = header.unpack(data)
    if not count:
        raise ElfError("has no program headers: nothing of it can be loaded")
    if entry_size != entry.size:
        raise ElfError(f"has program headers of {entry_size} bytes, expected {entry.size}")
    if start + count * entry_size > size:
        raise ElfError(
            f"is cut off: it has {size} bytes, but its program headers end at "
            f"{start + count * entry_size}"
        )
    file.seek(start)
    table = file.read(count * entry_size)
    found = []
    for fields in entry.iter_unpack(table):
        kind = fields[0]
        offset, address, in_file = (
            (fields[2], fields[3], fields[5]) if is_64_bit else (fields[1], fields[2], fields[4])
        )
        found.append(_Segment(kind, offset, address, in_file, fields[7]))
    return found


def _find_note(file: BinaryIO, segment: _Segment, order: str) -> bytes | None:
    """Return the text of armnn's note in this segment."""
    file.seek(segment.offset)
    data = file.read(segment.size)
    for owner, kind, text in _notes(data, order, 8 if segment.alignment == 8 else 4):
        if owner == _OWNER and kind == _NOTE_TYPE:
            return text
    return None


def _notes(data: bytes, order: str, alignment: int) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield owner, type and content of each note.

    It stops at the first note that does not fit.
    """
    position = 0
    while position + 12 <= len(data):
        owner_size, text_size, kind = struct.unpack_from(f"{order}III", data, position)
        owner_at = position + 12
        text_at = _rounded(owner_at + owner_size, alignment)
        if text_at + text_size > len(data):
            return
        yield data[owner_at : owner_at + owner_size], kind, data[text_at : text_at + text_size]
        position = _rounded(text_at + text_size, alignment)


def _rounded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


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
