# SPDX-License-Identifier: MIT
"""Numbers and unknown fields of the wire format.

Source: Protocol Buffers, "Encoding". The bounds are those of its C implementation.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn_parser_onnx.wire.errors import MalformedError

VARINT, EIGHT_BYTES, LENGTH, START_GROUP, END_GROUP, FOUR_BYTES = range(6)
"""What follows a tag, by its lowest three bits."""

MOST_DEPTH: Final = 100
"""How deep messages and groups are nested at most."""

_LARGEST_TAG = 2**32 - 1
_BITS = 2**64 - 1
_LARGEST_LENGTH = 2**31 - 1
_FEW_BYTES = 64
"""Up to so many bytes of packed numbers are decoded one by one."""

_BLOCK = 1 << 16
"""How many packed numbers are decoded at once."""


def tag_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a tag, and where its content begins.

    Raises:
        MalformedError: The number of the field is 0 or takes more than 32 bits.
        IndexError: The bytes end.
    """
    first = data[pos]
    if first < 128:
        tag, pos = first, pos + 1
    elif data[pos + 1] < 128:  # as of fields from 16 on
        tag, pos = first & 127 | data[pos + 1] << 7, pos + 2
    else:
        tag, pos = _any_tag_at(data, pos)
    if tag < 8:
        raise MalformedError
    return tag, pos


def _any_tag_at(data: bytes, pos: int) -> tuple[int, int]:
    tag, pos = _number_at(data, pos, 5)
    if tag > _LARGEST_TAG:
        raise MalformedError
    return tag, pos


def length_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a length, and where the content begins.

    Raises:
        MalformedError: It is more than any message can have.
        IndexError: The bytes end.
    """
    first = data[pos]
    if first > 127 and data[pos + 1] < 128:  # as most that are asked for here
        return first & 127 | data[pos + 1] << 7, pos + 2
    length, pos = _number_at(data, pos, 5)
    if length > _LARGEST_LENGTH:
        raise MalformedError
    return length, pos


def varint_at(data: bytes, pos: int) -> tuple[int, int]:
    """Return a number's lowest 64 bits, and where it ends.

    Raises:
        MalformedError: It takes more than ten bytes.
        IndexError: The bytes end.
    """
    value, pos = _number_at(data, pos, 10)
    return value & _BITS, pos


def _number_at(data: bytes, pos: int, longest: int) -> tuple[int, int]:
    value = data[pos]
    if value < 128:
        return value, pos + 1
    value &= 127
    for place in range(1, longest):
        byte = data[pos + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, pos + place + 1
    raise MalformedError


def signed(number: int, bits: int) -> int:
    """Return the two's complement of a number's lowest bits."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def packed_varints(data: bytes) -> NDArray[np.uint64]:
    """Return the lowest 64 bits of consecutive numbers.

    Raises:
        MalformedError: The last one is cut short, or one takes more than ten bytes.
    """
    if len(data) <= _FEW_BYTES:
        return np.array(_few(data), np.uint64)
    coded = np.frombuffer(data, np.uint8)
    if coded[-1] > 127:
        raise MalformedError
    ends = np.flatnonzero(coded < 128)
    made = np.empty(len(ends), np.uint64)
    begin = 0
    for first in range(0, len(ends), _BLOCK):
        block = ends[first : first + _BLOCK]
        made[first : first + len(block)] = _block(coded, begin, block)
        begin = int(block[-1]) + 1
    return made


def _few(data: bytes) -> list[int]:
    if data.isascii():  # each is one byte
        return list(data)
    values, pos = [], 0
    while pos < len(data):
        try:
            value, pos = varint_at(data, pos)
        except IndexError:
            raise MalformedError from None
        values.append(value)
    return values


def _block(coded: NDArray[np.uint8], begin: int, ends: NDArray[Any]) -> NDArray[np.uint64]:
    """Return consecutive numbers, given where each ends."""
    begins = np.concatenate([[begin], ends[:-1] + 1])
    sizes = ends - begins + 1
    longest = int(sizes.max())
    if longest > 10:
        raise MalformedError
    values = np.zeros(len(ends), np.uint64)
    for place in range(longest):
        reaching = sizes > place
        bits = (coded[begins[reaching] + place] & 127).astype(np.uint64)
        values[reaching] |= bits << np.uint64(7 * place)
    return values


def skipped(data: bytes, pos: int, tag: int, depth: int = 0) -> int:
    """Return where an unknown field ends.

    Args:
        data: Holds it.
        pos: Where its content begins.
        tag: Its tag.
        depth: In how many messages and groups it is.

    Raises:
        MalformedError: It is a group without end, or of no known kind.
        IndexError: The bytes end.
    """
    kind = tag & 7
    if kind == VARINT:
        return varint_at(data, pos)[1]
    if kind in (EIGHT_BYTES, FOUR_BYTES):
        return pos + (8 if kind == EIGHT_BYTES else 4)
    if kind == LENGTH:
        length, pos = length_at(data, pos)
        return pos + length
    if kind != START_GROUP or depth >= MOST_DEPTH:
        raise MalformedError
    while True:
        inner, pos = _any_tag_at(data, pos)  # a field in a group may have the number 0
        if inner & 7 == END_GROUP:
            if inner >> 3 != tag >> 3:
                raise MalformedError
            return pos
        pos = skipped(data, pos, inner, depth + 1)
