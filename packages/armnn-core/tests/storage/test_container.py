# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn.backends.cache import GrowingBlock, StaleEntryError
from armnn.storage import folder
from armnn.storage.folder import HEADER_LIMIT, MAGIC, VERSION, FileBlock, pack, unpack

HEADER = {"a": [1, None, 2.5], "b": "c"}
DATA = b"".join(pack(HEADER, [[b"pro", b"gram"], [], [bytes(70)]]))


def signed(body: bytes) -> memoryview:
    return memoryview(body + hashlib.sha256(body).digest())


def with_header(text: bytes, rest: bytes = b"", size: int | None = None) -> memoryview:
    length = len(text) if size is None else size
    prefix = struct.pack("<8sIIQ", MAGIC, VERSION, zlib.crc32(text), length)
    return signed(prefix + text + rest)


def test_an_entry_is_read_back_as_it_was() -> None:
    header, blocks = unpack(memoryview(DATA))
    assert header == HEADER
    assert [bytes(block) for block in blocks] == [b"program", b"", bytes(70)]


@pytest.mark.parametrize(
    ("make", "most", "pieces"),
    [
        (lambda _: GrowingBlock(), 3, [b"pro", b"gram"]),
        (FileBlock, 7, [b"pro", b"gram"]),
        (FileBlock, 3, [b"pro", b"gra", b"m"]),
        (FileBlock, 2, [b"pr", b"og", b"ra", b"m"]),
    ],
)
def test_a_block_may_grow(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[str], GrowingBlock],
    most: int,
    pieces: list[bytes],
) -> None:
    monkeypatch.setattr(folder, "_PIECE", most)
    block = make(str(tmp_path))
    block.append(b"pro")
    block.append(b"gram")
    assert (block.size, list(block)) == (7, pieces)
    assert b"".join(pack(HEADER, [block, [], [bytes(70)]])) == DATA
    assert list(tmp_path.iterdir()) == []


def test_blocks_begin_at_multiples_of_64() -> None:
    first, last = DATA.index(b"program"), len(DATA) - 32 - 70
    assert (first % 64, last % 64) == (0, 0)
    assert DATA[-32:] == hashlib.sha256(DATA[:-32]).digest()


def test_every_cut_and_every_flipped_bit_is_refused() -> None:
    for size in range(len(DATA)):
        with pytest.raises(StaleEntryError):
            unpack(memoryview(DATA[:size]))
    for index in range(len(DATA)):
        with pytest.raises(StaleEntryError):
            unpack(memoryview(DATA[:index] + bytes([DATA[index] ^ 1]) + DATA[index + 1 :]))


def test_a_file_that_is_known_is_hashed_in_its_header_only() -> None:
    start = DATA.index(b"program")
    changed = memoryview(DATA[:start] + b"P" + DATA[start + 1 :])
    assert bytes(unpack(changed, is_known=True)[1][0]) == b"Program"
    for index in range(DATA.index(b"}") + 1):
        flipped = DATA[:index] + bytes([DATA[index] ^ 1]) + DATA[index + 1 :]
        with pytest.raises(StaleEntryError):
            unpack(memoryview(flipped), is_known=True)
    for size in range(len(DATA) - 1):
        with pytest.raises(StaleEntryError):
            unpack(memoryview(DATA[:size]), is_known=True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (memoryview(b""), "it has 0 bytes, expected more"),
        (memoryview(DATA[:5]), "it has 5 bytes, expected more"),
        (memoryview(b"\x89ARMNNP\n\1" + DATA[9:]), r"it is b'\\x89ARMNNP\\n' of version 1, expec"),
        (memoryview(DATA[:8] + b"\1" + DATA[9:]), f"of version 1, expected .*, {VERSION}"),
        (memoryview(DATA[:-1]), "its sha256 is not that of its content"),
        (with_header(b"{}", size=3), "its header has 3 bytes, and the file 58"),
        (with_header(b"{}", size=HEADER_LIMIT + 1), "its header has 67108865 bytes"),
        (with_header(b"{"), "its header cannot be read: JSONDecodeError"),
        (with_header(b"\xff"), "its header cannot be read: UnicodeDecodeError"),
        (with_header(b"[]"), "its header cannot be read: TypeError"),
        (with_header(b"{}"), "its header cannot be read: KeyError"),
        (with_header(b'{"sizes": [null]}'), "its header cannot be read: TypeError"),
        (with_header(b'{"sizes": [-1]}', bytes(64)), "a block of -1 bytes does not fit"),
        (with_header(b'{"sizes": [99]}', bytes(64)), "a block of 99 bytes does not fit"),
        (with_header(b'{"sizes": []}', b"?"), "something follows its last block"),
        (with_header(b"[" * 100_000), "its header cannot be read: RecursionError"),
    ],
)
def test_what_is_refused_is_refused_with_its_reason(data: memoryview, reason: str) -> None:
    with pytest.raises(StaleEntryError, match=reason):
        unpack(data)
