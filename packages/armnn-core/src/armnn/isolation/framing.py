# SPDX-License-Identifier: MIT
"""The frames between host and worker.

A frame is, little-endian: magic (4 bytes), protocol (uint8), kind (uint8), number of blobs
(uint16), sequence number (uint64), bytes of the document (uint32), zero (uint32); the bytes of each
blob (uint64 each); the document, a JSON object; the blobs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from armnn_backend_api import BackendVersion

PROTOCOL: Final = BackendVersion(1, 0)
"""Host and worker agree by the rule of the Backend API: the worker's is the one that is needed."""
MAGIC: Final = b"ARMW"
DOCUMENT_LIMIT: Final = 1 << 26
BLOBS_LIMIT: Final = 1 << 34
"""Bytes of all blobs of a frame; a receiver may set less."""
COUNT_LIMIT: Final = 1 << 12

_HEAD: Final = struct.Struct("<4sBBHQII")


class ProtocolError(Exception):
    """What was received is no frame, or no fitting one."""


class Kind(IntEnum):
    """What a frame is."""

    REQUEST = 1
    REPLY = 2
    FAILURE = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """A message.

    Attributes:
        kind: What it is.
        sequence: The number of the request that it is or answers.
        document: What it says.
        blobs: The bytes that go with it.
    """

    kind: Kind
    sequence: int
    document: dict[str, Any]
    blobs: Sequence[memoryview] = field(default=())


def packed(frame: Frame) -> list[bytes | memoryview]:
    """Return a frame in pieces.

    Raises:
        ProtocolError: It is larger than a frame may be.
    """
    text = json.dumps(frame.document, separators=(",", ":")).encode()
    sizes = [blob.nbytes for blob in frame.blobs]
    _check_sizes(len(text), sizes, BLOBS_LIMIT)
    head = _HEAD.pack(
        MAGIC, PROTOCOL.major, frame.kind, len(sizes), frame.sequence, len(text), 0
    ) + struct.pack(f"<{len(sizes)}Q", *sizes)
    return [head + text, *frame.blobs]


def read_frame(read: Callable[[int], memoryview], most: int = BLOBS_LIMIT) -> Frame:
    """Read a frame.

    Args:
        read: Returns exactly so many bytes.
        most: How many bytes the blobs may have.

    Raises:
        ProtocolError: It is none; nothing is allocated for what it claims beyond the limits.
    """
    magic, major, kind, count, sequence, size, zero = _HEAD.unpack(read(_HEAD.size))
    if magic != MAGIC or zero != 0:
        raise ProtocolError(f"got {bytes(magic)!r} where a frame begins, expected {MAGIC!r}")
    if major != PROTOCOL.major:
        raise ProtocolError(f"got a frame of protocol {major}, expected {PROTOCOL.major}")
    if kind not in list(Kind):
        raise ProtocolError(f"got a frame of kind {kind}, expected one of {[*map(int, Kind)]}")
    if count > COUNT_LIMIT:
        raise ProtocolError(f"got a frame of {count} blobs, expected at most {COUNT_LIMIT}")
    sizes = struct.unpack(f"<{count}Q", read(8 * count)) if count else ()
    _check_sizes(size, sizes, most)
    document = _document(bytes(read(size)))
    return Frame(Kind(kind), sequence, document, tuple(read(each) for each in sizes))


def _check_sizes(document: int, blobs: Sequence[int], most: int) -> None:
    if document > DOCUMENT_LIMIT:
        raise ProtocolError(f"a document has {document} bytes, expected at most {DOCUMENT_LIMIT}")
    if sum(blobs) > most:
        raise ProtocolError(f"the blobs have {sum(blobs)} bytes, expected at most {most}")


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(str(text, "utf-8"))  # bytes might be UTF-16 to it
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a document cannot be read: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise ProtocolError(f"a document is {type(document).__name__}, expected an object")
    return document
