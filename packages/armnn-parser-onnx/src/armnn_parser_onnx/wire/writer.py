# SPDX-License-Identifier: MIT
"""Messages to bytes, in the order of the fields' numbers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from armnn_parser_onnx.wire.fields import Field
from armnn_parser_onnx.wire.kinds import FIELDS
from armnn_parser_onnx.wire.message import Message
from armnn_parser_onnx.wire.messages import Attribute
from armnn_parser_onnx.wire.source import Span
from armnn_parser_onnx.wire.varints import EIGHT_BYTES, FOUR_BYTES, LENGTH, VARINT

_BITS = 2**64 - 1


def encoded(message: Message) -> bytes:
    """Return the bytes of a message.

    Fields with the value that absent ones have are left out, but for the value of an attribute.
    """
    return b"".join(_parts(message))


def _parts(message: Message) -> list[bytes | memoryview]:
    always = FIELDS.get(message.type) if isinstance(message, Attribute) else None
    parts: list[bytes | memoryview] = []
    for name, field in sorted(type(message).FIELDS.items(), key=lambda each: each[1].number):
        value = getattr(message, name)
        if field.repeated:
            for each in value:
                parts += _field(field, each)
        elif name == always or value != field.default:
            parts += _field(field, value)
    return parts


def _field(field: Field, value: Any) -> Iterator[bytes | memoryview]:
    for kind, code in ((FOUR_BYTES, "<f"), (EIGHT_BYTES, "<d")):
        if kind in field.forms:
            yield _varint(field.number << 3 | kind) + struct.pack(code, value)
            return
    if VARINT in field.forms:
        yield _varint(field.number << 3) + _varint(int(value) & _BITS)
        return
    content = _content(value)
    yield _varint(field.number << 3 | LENGTH) + _varint(sum(map(len, content)))
    yield from content


def _content(value: Any) -> list[bytes | memoryview]:
    if isinstance(value, Message):
        return _parts(value)
    if isinstance(value, Span):
        return [value.read("the data of a tensor")]
    return [value.encode() if isinstance(value, str) else value]


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)
