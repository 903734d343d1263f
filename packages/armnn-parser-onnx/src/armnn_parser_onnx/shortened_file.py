# SPDX-License-Identifier: MIT
"""A model file without its large tensors' data.

The data stays in the file until it is needed. A decoded message holds a copy of every tensor,
beside the file's bytes that it was decoded from and the arrays that are made of it. Here the fields
of Protocol Buffers are walked in the file, and large raw data of a tensor is replaced by a key.

The key takes the place of the field's content and nothing else is changed: in whatever order
fields come, however often, and however messages are merged, Protocol Buffers decides which raw
data a tensor has, as it does for the whole file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGE: Final = 16384
"""Bytes of data from which on they are left in the file."""

_Fields: TypeAlias = "dict[int, _Fields]"

_RAW_DATA: Final = 9
_TENSOR: Final[_Fields] = {_RAW_DATA: {}}
_NODE: Final[_Fields] = {5: {5: _TENSOR}}  # attribute, t
_MODEL: Final[_Fields] = {7: {1: _NODE, 5: _TENSOR}}  # graph; node, initializer
"""The fields on the way from a model to the data of its tensors, by number."""

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10
_LONGEST_LENGTH = 5
"""The bytes of a varint, and of one that Protocol Buffers takes as a tag or a length."""


class MalformedError(Exception):
    """The file is no message, or not a model's."""


def shortened(file: BinaryIO, size: int, leave: Callable[[int, int], bytes]) -> bytes:
    """Return a file's message without its large tensors' data.

    Args:
        file: Buffered, at its beginning.
        size: The bytes of the file.
        leave: Takes the offset and length of data, and returns the key that replaces it.

    Raises:
        MalformedError: What stands there is not clear; Protocol Buffers may have more to say.
    """
    return b"".join(_pieces(file, size, _MODEL, leave))


def _pieces(
    file: BinaryIO, end: int, fields: _Fields, leave: Callable[[int, int], bytes]
) -> Iterator[bytes]:
    start = file.tell()
    while start < end:
        tag, coded_tag = _varint(file, _LONGEST_LENGTH)
        number, kind = tag >> 3, tag & 7
        length = _content_length(file, kind)
        begin = file.tell()
        stop = begin + length
        if stop > end:
            raise MalformedError
        if kind != _LENGTH or number not in fields or length < LARGE:
            file.seek(start)
            yield _exactly(file, stop - start)
        else:
            if number == _RAW_DATA and fields is _TENSOR:
                content = leave(begin, length)
                file.seek(stop)
            else:
                content = b"".join(_pieces(file, stop, fields[number], leave))
            yield coded_tag + _encoded(len(content)) + content
        start = stop


def _content_length(file: BinaryIO, kind: int) -> int:
    """Return how many bytes of a field follow."""
    if kind == _LENGTH:
        return _varint(file, _LONGEST_LENGTH)[0]
    if kind == _VARINT:
        _varint(file, _LONGEST_VARINT)
        return 0
    if kind in (_EIGHT_BYTES, _FOUR_BYTES):
        return 8 if kind == _EIGHT_BYTES else 4
    raise MalformedError


def _varint(file: BinaryIO, longest: int) -> tuple[int, bytes]:
    """Return a number and the bytes that encode it."""
    value, coded = 0, b""
    while len(coded) < longest:
        byte = _exactly(file, 1)
        value |= (byte[0] & 0x7F) << 7 * len(coded)
        coded += byte
        if byte[0] < 0x80:
            return value, coded
    raise MalformedError


def _encoded(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise MalformedError
    return data
