# SPDX-License-Identifier: MIT
"""The file of an entry: JSON header and byte blocks.

A file is: magic (8 bytes), version (uint32), size of the header (uint64), little-endian; the header
as JSON; each block, of the size that the header's "sizes" says, at the next multiple of 64; the
sha256 of everything before.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

from armnn._digest import DIGEST_SIZE, sha256
from armnn.backends.cache import StaleEntryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from armnn.backends.cache import Block, Entry

MAGIC: Final = b"\x89ARMNNS\n"
VERSION: Final = 2
HEADER_LIMIT: Final = 1 << 26

_PREFIX: Final = struct.Struct("<8sIQ")
_ALIGNMENT: Final = 64


def pack(header: Mapping[str, Any], blocks: Sequence[Block]) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces."""
    sizes = [sum(map(len, block)) for block in blocks]
    text = json.dumps({**header, "sizes": sizes}).encode()
    pieces: list[bytes | memoryview] = [_PREFIX.pack(MAGIC, VERSION, len(text)), text]
    end = _PREFIX.size + len(text)
    for block, size in zip(blocks, sizes, strict=True):
        pieces += [bytes(-end % _ALIGNMENT), *block]
        end += -end % _ALIGNMENT + size
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return [*pieces, digest.digest()]


def unpack(data: memoryview) -> Entry:
    """Return header and blocks of a file, without copying.

    Raises:
        StaleEntryError: It is not what :func:`pack` writes, byte by byte.
    """
    body, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if len(body) < _PREFIX.size:
        raise StaleEntryError(f"it has {len(data)} bytes, expected more")
    magic, version, size = _PREFIX.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise StaleEntryError(
            f"it is {magic!r} of version {version}, expected {MAGIC!r}, {VERSION}"
        )
    if sha256(body).digest() != digest:
        raise StaleEntryError("its sha256 is not that of its content")
    end = _PREFIX.size + size
    if size > HEADER_LIMIT or end > len(body):
        raise StaleEntryError(f"its header has {size} bytes, and the file {len(data)}")
    try:
        header = json.loads(bytes(body[_PREFIX.size : end]))
        sizes = [int(each) for each in header.pop("sizes")]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
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
