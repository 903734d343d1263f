# SPDX-License-Identifier: MIT
"""Changes of numbers in FlatBuffers files."""

from __future__ import annotations

import random
import struct

_NUMBERS = (
    -(2**31),
    -129,
    -2,
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    16,
    28,
    255,
    2**15,
    2**20,
    2**30,
    2**31 - 1,
)
_SMALL = 4096
"""Words up to this are numbers in tables more often than they are offsets."""


def mutate(source: random.Random, data: bytes) -> bytes:
    """Return a file with one to three numbers changed."""
    changed = bytearray(data)
    places = [
        at
        for at in range(0, len(data) - 3, 4)
        if -1 <= struct.unpack_from("<i", data, at)[0] <= _SMALL
    ]
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        at = source.choice(places)
        number = struct.unpack_from("<i", changed, at)[0]
        close = (number + 1, number - 1, number * 2, source.randrange(220))
        other = source.choice((*close, *_NUMBERS))
        struct.pack_into("<I", changed, at, other % 2**32)
    return bytes(changed)
