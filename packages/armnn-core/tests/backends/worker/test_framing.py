# SPDX-License-Identifier: MIT
"""Frames: what is written is read, all else is refused."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable

import pytest

from armnn.backends.worker.protocol import Kind, Message, ProtocolError, packed, read_message

FRAME = Message(Kind.REPLY, 7, {"views": [1, "ä"]}, (memoryview(b"abc"), memoryview(b"")))


def raw_of(message: Message) -> bytes:
    return b"".join(packed(message))


class EndedError(Exception):
    """There are no more bytes."""


def reader(raw: bytes) -> Callable[[int], memoryview]:
    left = memoryview(raw)

    def read(size: int) -> memoryview:
        nonlocal left
        if size > len(left):
            raise EndedError
        found, left = left[:size], left[size:]
        return found

    return read


def test_a_frame_is_read_as_it_was_written() -> None:
    found = read_message(reader(raw_of(FRAME)))
    assert (found.kind, found.sequence, found.document) == (FRAME.kind, 7, FRAME.document)
    assert [bytes(each) for each in found.blobs] == [b"abc", b""]


def head(**changes: object) -> bytes:
    fields = {
        "magic": b"ARMW",
        "major": 1,
        "kind": 1,
        "count": 0,
        "number": 1,
        "size": 2,
        "zero": 0,
    }
    return struct.pack("<4sBBHQII", *(fields | changes).values())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (head(magic=b"HTTP") + b"{}", "where a message begins"),
        (head(zero=1) + b"{}", "where a message begins"),
        (head(major=2) + b"{}", "protocol 2, expected 1"),
        (head(kind=9) + b"{}", "of kind 9"),
        (head(count=5000) + b"{}", "5000 blobs"),
        (head(size=1 << 31), "a document has 2147483648 bytes"),
        (head(count=1) + struct.pack("<Q", 1 << 60), "the blobs have"),
        (head() + b"[]", "a document is list"),
        (head() + b"{x", "cannot be read: JSONDecodeError"),
        (head(size=200_000) + b"[" * 200_000, "cannot be read: RecursionError"),
        (head() + b"\xff\xfe", "cannot be read: UnicodeDecodeError"),
    ],
)
def test_what_is_no_frame_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        read_message(reader(raw))


def test_a_receiver_says_how_many_bytes_it_takes() -> None:
    with pytest.raises(ProtocolError, match="the blobs have 3 bytes, expected at most 2"):
        read_message(reader(raw_of(FRAME)), most=2)


def test_damaged_frames_end_in_one_error_only() -> None:
    numbers = random.Random(1)
    outcomes = {"same": 0, "refused": 0}
    for _ in range(3000):
        raw = bytearray(raw_of(FRAME))
        for _ in range(numbers.randint(1, 3)):
            raw[numbers.randrange(len(raw))] = numbers.randrange(256)
        try:
            content = bytes(raw[: numbers.randint(0, 2 * len(raw))])
            found = read_message(reader(content), most=1 << 16)
        except (ProtocolError, EndedError):
            outcomes["refused"] += 1
        else:
            json.dumps(found.document)
            outcomes["same"] += 1
    assert min(outcomes.values()) > 100
