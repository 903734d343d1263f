# SPDX-License-Identifier: MIT
"""The bytes of what a runtime stores: a JSON header and arrays, read strictly.

A file is: magic (8 bytes), version (uint32), size of the header (uint64), little-endian; the header
as JSON; the bytes of each array, of the size that the header's "sizes" says, at the next multiple
of 64; the sha256 of everything before.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn._digest import DIGEST_SIZE, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MAGIC: Final = b"\x89ARMNNS\n"
VERSION: Final = 2
HEADER_LIMIT: Final = 1 << 26

_PREFIX: Final = struct.Struct("<8sIQ")
_ALIGNMENT: Final = 64


class StaleFileError(ValueError):
    """What was stored cannot be used; the text says why."""


def pack(header: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces."""
    blocks = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
    text = json.dumps({**header, "sizes": [block.size for block in blocks]}).encode()
    pieces: list[bytes | memoryview] = [_PREFIX.pack(MAGIC, VERSION, len(text)), text]
    end = _PREFIX.size + len(text)
    for block in blocks:
        pieces += [bytes(-end % _ALIGNMENT), block.data]
        end += -end % _ALIGNMENT + block.size
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return [*pieces, digest.digest()]


def unpack(data: memoryview) -> tuple[dict[str, Any], list[NDArray[np.uint8]]]:
    """Return the header and the bytes of each array, where they lie.

    Raises:
        StaleFileError: It is not what :func:`pack` writes, byte by byte.
    """
    body, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if len(body) < _PREFIX.size:
        raise StaleFileError(f"it has {len(data)} bytes, expected more")
    if sha256(body).digest() != digest:
        raise StaleFileError("its sha256 is not that of its content")
    magic, version, size = _PREFIX.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise StaleFileError(f"it is {magic!r} of version {version}, expected {MAGIC!r}, {VERSION}")
    end = _PREFIX.size + size
    if size > HEADER_LIMIT or end > len(body):
        raise StaleFileError(f"its header has {size} bytes, and the file {len(data)}")
    try:
        header = json.loads(bytes(body[_PREFIX.size : end]))
        sizes = [int(each) for each in header.pop("sizes")]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise StaleFileError(f"its header cannot be read: {error!r}") from error
    arrays = []
    for each in sizes:
        start = end + -end % _ALIGNMENT
        end = start + each
        if each < 0 or end > len(body):
            raise StaleFileError(f"an array of {each} bytes does not fit into its {len(data)}")
        arrays.append(np.frombuffer(body, np.uint8, each, start))
    if end != len(body):
        raise StaleFileError("something follows its last array")
    return header, arrays
