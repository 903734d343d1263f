# SPDX-License-Identifier: MIT
"""What the host writes around a serialised program, and reads strictly before anyone else.

A file is: magic (8 bytes), version and size of the JSON header (2 x uint32), size of the payload
(uint64), all little-endian; then the header, the payload, and the sha256 of everything before.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from armnn._digest import DIGEST_SIZE, sha256

MAGIC: Final = b"\x89ARMNNP\n"
VERSION: Final = 1
HEADER_LIMIT: Final = 1 << 16
PAYLOAD_LIMIT: Final = 1 << 36

_PREFIX: Final = struct.Struct("<8sIIQ")


class EnvelopeError(ValueError):
    """Bytes are no envelope, or not a whole one; the text says why."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a serialised program was made by, of and for.

    Attributes:
        backend: The id of the backend.
        backend_version: Its own version.
        api_version: The Backend API version that it needs.
        device: The id of the device; empty for the backend's first.
        device_fingerprint: What the backend says of device, driver and library.
        graph_fingerprint: The sha256 of the graph with its constants.
        options: The user's options, as "name=value", in order.
    """

    backend: str
    backend_version: str
    api_version: str
    device: str
    device_fingerprint: str
    graph_fingerprint: str
    options: tuple[str, ...]

    def json(self) -> str:
        """Return it as JSON, the same text for the same values."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    def pack(self, payload: Sequence[bytes]) -> list[bytes]:
        """Return the file of a program, in pieces; the program comes in pieces too.

        Raises:
            EnvelopeError: The header or the program is too large.
        """
        header = self.json().encode()
        size = sum(map(len, payload))
        _check_sizes(len(header), size)
        pieces = [_PREFIX.pack(MAGIC, VERSION, len(header), size), header, *payload]
        digest = sha256()
        for piece in pieces:
            digest.update(piece)
        return [*pieces, digest.digest()]

    def difference(self, found: Envelope) -> str:
        """Return why a program in another envelope does not fit; "" if it does."""
        for field in dataclasses.fields(self):
            ours, theirs = getattr(self, field.name), getattr(found, field.name)
            if ours != theirs:
                return f"its {field.name} is {theirs!r}, expected {ours!r}"
        return ""


def unpack(data: bytes | memoryview) -> tuple[Envelope, memoryview]:
    """Return the envelope and the program of a file.

    Raises:
        EnvelopeError: The file is not what :meth:`Envelope.pack` writes, byte by byte.
    """
    data = memoryview(data)
    if len(data) < _PREFIX.size:
        raise EnvelopeError(f"it has {len(data)} bytes, expected at least {_PREFIX.size}")
    magic, version, header_size, payload_size = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise EnvelopeError(f"it begins with {magic!r}, expected {MAGIC!r}")
    if version != VERSION:
        raise EnvelopeError(f"its envelope has version {version}, expected {VERSION}")
    _check_sizes(header_size, payload_size)
    size = _PREFIX.size + header_size + payload_size + DIGEST_SIZE
    if len(data) != size:
        raise EnvelopeError(f"it has {len(data)} bytes, expected {size}")
    body, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if sha256(body).digest() != digest:
        raise EnvelopeError("its sha256 is not that of its content")
    start = _PREFIX.size + header_size
    return _envelope_of(bytes(body[_PREFIX.size : start])), body[start:]


def _check_sizes(header_size: int, payload_size: int) -> None:
    for what, size, limit in (
        ("header", header_size, HEADER_LIMIT),
        ("program", payload_size, PAYLOAD_LIMIT),
    ):
        if size > limit:
            raise EnvelopeError(f"its {what} has {size} bytes, expected at most {limit}")


def _envelope_of(header: bytes) -> Envelope:
    try:
        values: dict[str, Any] = json.loads(header)
        options = values.pop("options")
        texts = [*values.values(), *options]
        envelope = Envelope(**values, options=tuple(options))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EnvelopeError(f"its header cannot be read: {error!r}") from error
    if not all(isinstance(text, str) for text in texts) or not isinstance(options, list):
        raise EnvelopeError("its header holds something else than texts")
    return envelope
