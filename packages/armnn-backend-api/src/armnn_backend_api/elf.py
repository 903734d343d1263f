# SPDX-License-Identifier: MIT
"""Reads an ELF file's machine, notes and dynamic section, without running it.

Only the file's header, its program headers, its notes and its dynamic section are read. Every
offset and size in them is checked against the file, as anything may have the name of a backend.
"""

from __future__ import annotations

import functools
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple, TypeAlias

Machine: TypeAlias = tuple[int, int, int]
"""Class (1: 32 bits, 2: 64 bits), byte order (1: little, 2: big) and ``e_machine`` of a file."""

_MAGIC = b"\x7fELF"
_SHARED_OBJECT = 3  # ET_DYN
_LOAD, _DYNAMIC, _NOTE = 1, 2, 4  # PT_LOAD, PT_DYNAMIC, PT_NOTE
_NEEDED, _STRING_TABLE, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29  # DT_...
_VERSIONS, _NUM_VERSIONS = 0x6FFFFFFC, 0x6FFFFFFD  # DT_VERDEF, DT_VERDEFNUM
_AUXILIARY, _FILTER = 0x7FFFFFFD, 0x7FFFFFFF  # DT_..., mapped as if they were needed
_LONGEST_TEXT = 1 << 14
_BASE_VERSION = 1  # VER_FLG_BASE: the name of the file itself
_MOST_VERSIONS = 1 << 10
_LARGEST_NOTES = 1 << 20  # bytes of all notes together; more are not read

_MACHINES = {3: "x86", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V", 258: "LoongArch"}


__all__ = [
    "Dynamic",
    "ElfError",
    "Machine",
    "describe",
    "read_dynamic",
    "read_notes",
    "read_versions",
    "this_machine",
]


class ElfError(Exception):
    """A file is not a shared library for this machine.

    The text is the rest of a sentence.
    """


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int
    alignment: int


class Dynamic(NamedTuple):
    """The entries of a library that the dynamic linker reads.

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


def read_notes(path: str) -> list[tuple[bytes, int, bytes]]:
    """Return owner, type and content of each note of a library for this machine.

    Raises:
        ElfError: It is not a shared library that this process could open.
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
        found: list[tuple[bytes, int, bytes]] = []
        for segment in segments:
            is_inside = segment.offset + segment.size <= size
            if segment.kind == _NOTE and is_inside and segment.size <= budget:
                budget -= segment.size
                data = _read_at(file, segment.offset, segment.size)
                found += _notes(data, order, 8 if segment.alignment == 8 else 4)
    return found


def read_dynamic(path: str) -> Dynamic:
    """Return the entries that the dynamic linker reads of a library.

    Raises:
        ElfError: It is not a shared library, or its dynamic section leads out of the file.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        section = _read_section(file)
        runpath = _folders(section.texts(_RUNPATH))
        rpath = _folders(section.texts(_RPATH))
        needed = tuple(
            name for tag in (_NEEDED, _AUXILIARY, _FILTER) for name in section.texts(tag)
        )
        return Dynamic(needed, "".join(section.texts(_SONAME)), () if runpath else rpath, runpath)


def read_versions(path: str) -> frozenset[str]:
    """Return the symbol versions that a library defines, such as "GLIBCXX_3.4.30".

    Raises:
        ElfError: It is not a shared library, or its dynamic section leads out of the file.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        section = _read_section(file)
        return frozenset(section.versions())


class _Section:
    """The dynamic section of an open file."""

    def __init__(
        self, file: BinaryIO, order: str, segments: Sequence[_Segment], rows: dict[int, list[int]]
    ) -> None:
        self._file, self._order, self._segments, self._rows = file, order, segments, rows

    def texts(self, tag: int) -> tuple[str, ...]:
        return tuple(map(self._text, self._rows.get(tag, ())))

    def versions(self) -> Iterator[str]:
        """Yield the names in its table of ``Elf64_Verdef``, of the same layout in 32-bit files."""
        (count,) = self._rows.get(_NUM_VERSIONS, [0])[:1]
        if not count:
            return
        place = self._place_of(self._rows.get(_VERSIONS, [0])[0], "versions")
        for _ in range(min(count, _MOST_VERSIONS)):
            data = _read_at(self._file, place, 20)
            if len(data) < 20:
                raise ElfError("is cut off in its table of versions")
            flags, _, _, _, names, following = struct.unpack(f"{self._order}2xHHHIII", data)
            name = _read_at(self._file, place + names, 4)
            if len(name) == 4 and not flags & _BASE_VERSION:
                yield self._text(struct.unpack(f"{self._order}I", name)[0])
            if not following:
                return
            place += following

    def _text(self, offset: int) -> str:
        start = self._place_of(self._rows.get(_STRING_TABLE, [0])[0], "texts")
        raw, end, _ = _read_at(self._file, start + offset, _LONGEST_TEXT).partition(b"\0")
        if not end:
            raise ElfError(f"has a text of more than {_LONGEST_TEXT} bytes in its dynamic section")
        return os.fsdecode(raw)

    def _place_of(self, address: int, what: str) -> int:
        """Return where in the file an address of memory is mapped from."""
        for segment in self._segments:
            if segment.kind == _LOAD and 0 <= address - segment.address < segment.size:
                return segment.offset + address - segment.address
        raise ElfError(f"has a dynamic section without a table of {what}")


def _read_section(file: BinaryIO) -> _Section:
    machine = _read_machine(file)
    size = os.fstat(file.fileno()).st_size
    order = "<" if machine[1] == 1 else ">"
    segments = _read_segments(file, size, order, is_64_bit=machine[0] == 2)
    entry = struct.Struct(order + ("qQ" if machine[0] == 2 else "iI"))
    rows: dict[int, list[int]] = {}
    for segment in segments:
        if segment.kind == _DYNAMIC and segment.size <= _LARGEST_NOTES:
            data = _read_at(file, segment.offset, segment.size // entry.size * entry.size)
            for tag, value in entry.iter_unpack(data[: len(data) // entry.size * entry.size]):
                if not tag:
                    break
                rows.setdefault(tag, []).append(value)
            break
    return _Section(file, order, segments, rows)


def _folders(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for text in texts for each in text.split(":"))


def _read_at(file: BinaryIO, place: int, count: int) -> bytes:
    try:
        file.seek(place)
    except (OverflowError, OSError) as error:
        raise ElfError(f"has a table at byte {place}, where no file has any") from error
    return file.read(count)


@functools.cache
def this_machine() -> Machine:
    """Return the machine that this Python was built for."""
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
        raise ElfError(f"is not an ELF file: it begins with {head[:4]!r}, expected {_MAGIC!r}")
    if len(head) < 20:
        raise ElfError(f"is cut off: it has {len(head)} bytes, expected a header of at least 52")
    order = ">" if head[5] == 2 else "<"
    kind, machine = struct.unpack_from(f"{order}HH", head, 16)
    if kind != _SHARED_OBJECT and not any_kind:
        detail = f"its ELF type is {kind}, expected {_SHARED_OBJECT}"
        raise ElfError(f"is not a shared library: {detail}")
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
