# SPDX-License-Identifier: MIT
"""The file of an entry: JSON header and byte blocks.

A file is: magic (8 bytes), version (uint32), CRC-32 of the header (uint32), size of the header
(uint64), little-endian; the header as JSON; each block, of the size that the header's "sizes" says,
at the next multiple of 64; the sha256 of everything before.

A file is mapped, and its blocks are read where they are; hashing all of it brings all of it into
memory. So a reader that knows already that the file is what was written checks the header only, by
its CRC.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final
from zlib import crc32

from armnn._load_times import stage
from armnn.backends.cache import Block, Entry, GrowingBlock, StaleEntryError

SUFFIX: Final = ".armnn-prepared"
WRITING: Final = ".writing-"
"""How the name of a file begins that is not complete."""

MAGIC: Final = b"\x89ARMNNS\n"
VERSION: Final = 3
HEADER_LIMIT: Final = 1 << 26

_PREFIX: Final = struct.Struct("<8sIIQ")
_ALIGNMENT: Final = 64
_DIGEST_SIZE: Final = sha256().digest_size


def pack(header: Mapping[str, Any], blocks: Sequence[Block]) -> Iterator[bytes | memoryview]:
    """Yield a file in pieces; the last is its sha256."""
    digest = sha256()
    for piece in _content(header, blocks):
        digest.update(piece)
        yield piece
    yield digest.digest()


def _content(header: Mapping[str, Any], blocks: Sequence[Block]) -> Iterator[bytes | memoryview]:
    sizes = [
        block.size if isinstance(block, GrowingBlock) else sum(map(len, block)) for block in blocks
    ]
    text = json.dumps({**header, "sizes": sizes}).encode()
    yield _PREFIX.pack(MAGIC, VERSION, crc32(text), len(text))
    yield text
    end = _PREFIX.size + len(text)
    for block, size in zip(blocks, sizes, strict=True):
        yield bytes(-end % _ALIGNMENT)
        yield from block
        end += -end % _ALIGNMENT + size


def digest_of(data: memoryview) -> str:
    """Return the sha256 that a file says it has."""
    return bytes(data[-_DIGEST_SIZE:]).hex()


def unpack(data: memoryview, *, is_known: bool = False) -> Entry:
    """Return header and blocks of a file, without copying.

    Args:
        data: The file.
        is_known: Whether its sha256 was checked since it changed last. Every offset is checked
            nevertheless.

    Raises:
        StaleEntryError: It is not what :func:`pack` writes, byte by byte.
    """
    body = data[:-_DIGEST_SIZE]
    if len(body) < _PREFIX.size:
        raise StaleEntryError(f"it has {len(data)} bytes, expected more")
    magic, version, checksum, size = _PREFIX.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise StaleEntryError(
            f"it is {magic!r} of version {version}, expected {MAGIC!r}, {VERSION}"
        )
    with stage("verify"):
        is_intact = is_known or sha256(body).hexdigest() == digest_of(data)
    if not is_intact:
        raise StaleEntryError("its sha256 is not that of its content")
    end = _PREFIX.size + size
    if size > HEADER_LIMIT or end > len(body):
        raise StaleEntryError(f"its header has {size} bytes, and the file {len(data)}")
    text = bytes(body[_PREFIX.size : end])
    if crc32(text) != checksum:
        raise StaleEntryError("the CRC-32 of its header is not that of its content")
    try:
        header = json.loads(text.decode())
        sizes = [int(each) for each in header.pop("sizes")]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise StaleEntryError(f"its header cannot be read: {error!r}") from error
    blocks = []
    for each in sizes:
        start = end + -end % _ALIGNMENT
        end = start + each
        if each < 0 or end > len(body):
            raise StaleEntryError(f"a block of {each} bytes does not fit into its {len(data)}")
        blocks.append(body[start:end])
    if end != len(body):
        raise StaleEntryError("something follows its last block")
    return header, blocks
