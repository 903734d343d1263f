# SPDX-License-Identifier: MIT
"""A model file without the data of its large tensors, which stays in the file until it is needed.

A decoded message holds a copy of every tensor, beside the file's bytes that it was decoded from
and the arrays that are made of it. Here the fields of Protocol Buffers are walked in the file, and
where large data stands in a tensor, the tensor says instead where in the file that is.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from onnx import TensorProto

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE: Final = 16384
"""Bytes of data from which on they are left in the file."""

IN_MODEL_FILE: Final = "armnn.in_model_file"
"""The key of the entry of ``external_data`` that tensors have whose data was left in the file."""

_Fields: TypeAlias = "dict[int, _Fields]"

_RAW_DATA: Final = 9
_TENSOR: Final[_Fields] = {_RAW_DATA: {}}
_NODE: Final[_Fields] = {5: {5: _TENSOR}}  # attribute, t
_MODEL: Final[_Fields] = {7: {1: _NODE, 5: _TENSOR}}  # graph; node, initializer
"""The fields on the way from a model to the data of its tensors, by number."""

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


class MalformedError(Exception):
    """The file is no message, or has something that no model has."""


def shortened(file: BinaryIO, size: int) -> bytes:
    """Return the message in a file without the data of its large tensors.

    Args:
        file: Buffered, at its beginning.
        size: The bytes of the file.

    Raises:
        MalformedError: What stands there is not clear; Protocol Buffers may have more to say.
    """
    return b"".join(_pieces(file, size, _MODEL))


def _pieces(file: BinaryIO, end: int, fields: _Fields) -> Iterator[bytes]:
    start = file.tell()
    while start < end:
        tag = _varint(file)
        number, kind = tag >> 3, tag & 7
        length = _content_length(file, kind)
        begin = file.tell()
        stop = begin + length
        if stop > end:
            raise MalformedError
        if kind != _LENGTH or number not in fields or length < LARGE:
            file.seek(start)
            yield _exactly(file, stop - start)
        elif number == _RAW_DATA and fields is _TENSOR:
            yield _left_in_file(begin, length)
            file.seek(stop)
        else:
            content = b"".join(_pieces(file, stop, fields[number]))
            yield _encoded(tag) + _encoded(len(content)) + content
        start = stop


def _content_length(file: BinaryIO, kind: int) -> int:
    """Return how many bytes of a field follow."""
    if kind == _LENGTH:
        return _varint(file)
    if kind == _VARINT:
        _varint(file)
        return 0
    if kind in (_EIGHT_BYTES, _FOUR_BYTES):
        return 8 if kind == _EIGHT_BYTES else 4
    raise MalformedError


def _left_in_file(offset: int, length: int) -> bytes:
    """Return the fields of a tensor that say where its data is."""
    tensor = TensorProto(data_location=TensorProto.EXTERNAL)
    for key, number in ((IN_MODEL_FILE, 1), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(number))
    encoded: bytes = tensor.SerializeToString()
    return encoded


def _varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 64, 7):
        (byte,) = _exactly(file, 1)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise MalformedError


def _encoded(value: int) -> bytes:
    made = io.BytesIO()
    while value >= 0x80:
        made.write(bytes([value & 0x7F | 0x80]))
        value >>= 7
    made.write(bytes([value]))
    return made.getvalue()


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise MalformedError
    return data
