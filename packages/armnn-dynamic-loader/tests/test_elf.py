# SPDX-License-Identifier: MIT
"""Reading ELF files without running them: machine, note, hostile bytes."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armnn_backend_api.elf import ElfError, describe, this_machine
from armnn_dynamic_loader.files import Note, NoteError, read_note

NOTE = '{"id": "Good", "api": "1.0", "version": "7", "more": [1]}'


def with_note(text: str) -> str:
    return "-DNOTE=" + '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def library(compiled: Callable[..., Path]) -> Path:
    return compiled(with_note(NOTE))


def damaged(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def test_the_note_is_read_as_the_header_writes_it(library: Path) -> None:
    facts = {"id": "Good", "api": "1.0", "version": "7", "more": [1]}
    assert read_note(str(library)) == Note("Good", "1.0", "7", facts)


def test_a_note_may_be_missing(compiled: Callable[..., Path]) -> None:
    assert read_note(str(compiled())) is None


def test_a_note_may_leave_everything_out(compiled: Callable[..., Path]) -> None:
    assert read_note(str(compiled(with_note("{}")))) == Note("", "", "", {})


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("Good", "has a note that is not valid JSON: "),
        ("[1]", "has a note that holds list, expected a JSON object"),
        ('{"id": 7}', "has a note whose 'id' is 7, expected a text"),
        ("[" * 20000, "has a note that is not valid JSON: "),
    ],
)
def test_a_note_that_makes_no_sense_is_told(
    compiled: Callable[..., Path], note: str, message: str
) -> None:
    with pytest.raises(NoteError, match=f"^{message.replace('[', '.')}"):
        read_note(str(compiled(with_note(note))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is not an ELF file: it begins with b'', expected b'\\x7fELF'"),
        (b"#!/bin/sh", "is not an ELF file"),
        (b"\x7fELF\x02\x01", "is cut off: it has 6 bytes"),
    ],
)
def test_other_files_are_told(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ElfError, match=message):
        read_note(damaged(tmp_path / "file", content))


def test_an_executable_or_object_file_is_no_shared_library(library: Path, tmp_path: Path) -> None:
    content = bytearray(library.read_bytes())
    struct.pack_into("<H", content, 16, 1)
    with pytest.raises(ElfError, match=r"is not a shared library: its ELF type is 1, expected 3"):
        read_note(damaged(tmp_path / "file", content))


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (4, 1, "is for another machine: got 32-bit little-endian x86-64, expected 64-bit"),
        (5, 2, "ELF type"),  # in the other byte order, the type has another number
        (18, 40, "is for another machine: got 64-bit little-endian Arm, expected"),
        (18, 9, "got 64-bit little-endian machine 9, expected"),
        (54, 7, "has program headers of 7 bytes, expected 56"),
        (56, 0, "has no program headers"),
        (39, 0x10, "is cut off: it has [0-9]+ bytes, but its program headers end at"),
    ],
)
def test_each_field_of_the_header_is_checked(
    library: Path, tmp_path: Path, offset: int, value: int, message: str
) -> None:
    content = bytearray(library.read_bytes())
    content[offset] = value
    with pytest.raises(ElfError, match=message):
        read_note(damaged(tmp_path / "file", content))


def test_a_file_that_was_cut_anywhere_is_told(library: Path, tmp_path: Path) -> None:
    content = library.read_bytes()
    needed = max(
        offset + size
        for kind, _, offset, _, _, size, _, _ in struct.iter_unpack(
            "<IIQQQQQQ", content[64 : 64 + 56 * content[56]]
        )
        if kind == 1
    )
    for length in (*range(4, 700, 13), *range(700, needed, 501), needed - 1):
        with pytest.raises(ElfError, match="is cut off"):
            read_note(damaged(tmp_path / "file", content[:length]))
    assert read_note(damaged(tmp_path / "file", content[:needed])) is not None


@given(st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), min_size=1, max_size=12))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_change_of_its_bytes_does_more_than_turn_a_file_down(
    library: Path, tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(library.read_bytes())
    for offset, value in changes:
        content[offset] = value
    with contextlib.suppress(ElfError, NoteError):
        note = read_note(damaged(tmp_path / "file", content))
        assert note is None or isinstance(note.facts, dict)


@pytest.mark.parametrize("offset", [2**64 - 1, 2**63 - 1, 2**40])
def test_a_note_outside_of_the_file_is_none(library: Path, tmp_path: Path, offset: int) -> None:
    content = bytearray(library.read_bytes())
    for start in range(64, 64 + 56 * content[56], 56):
        if struct.unpack_from("<I", content, start) == (4,):
            struct.pack_into("<Q", content, start + 8, offset)
    assert read_note(damaged(tmp_path / "file", content)) is None


def test_notes_without_end_are_not_read_for_ever(library: Path, tmp_path: Path) -> None:
    content = bytearray(library.read_bytes())
    size = len(content)
    segment = struct.pack("<IIQQQQQQ", 4, 4, 0, 0, 0, (1 << 20) - 1, 0, 4)
    content[32:40] = size.to_bytes(8, "little")  # e_phoff: a new table at the end
    content[56:58] = (60000).to_bytes(2, "little")
    content += segment * 60000
    assert read_note(damaged(tmp_path / "file", content)) is None


def test_machines_have_the_names_that_people_know() -> None:
    assert describe((2, 1, 183)) == "64-bit little-endian AArch64"
    assert describe((1, 2, 3)) == "32-bit big-endian x86"
    assert describe((9, 7, 0)) == "class 9 byte order 7 machine 0"
    assert this_machine()[0] == struct.calcsize("P") // 4
