# SPDX-License-Identifier: MIT
"""Model files whose outputs are all tensors that nodes compute.

A parser and the format's own runtime read such a file alike, so a tensor's name finds its value in
both. Only the list of outputs is changed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from armnn.errors import ParseError

_GRAPH, _NODE, _OUTPUT = 7, 1, 12
"""Fields of ONNX's ModelProto and GraphProto."""

_NODE_OUTPUT, _NODE_TYPE = 2, 4
"""Fields of ONNX's NodeProto."""

_SUBGRAPHS, _TENSORS, _OUTPUTS, _OPERATORS, _MADE = 2, 0, 2, 3, 2
"""Slots of TensorFlow Lite's tables Model, SubGraph (three) and Operator."""

_TENSOR_TYPE = 1
_NUMBERS = (0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 15, 16)
"""TensorFlow Lite's types of real and whole numbers and Booleans of at least a byte."""


def marked_onnx(content: bytes) -> bytes:
    """Return an ONNX model with all computed tensors as outputs.

    Those of the main graph are marked, behind the model's own outputs.

    Raises:
        ParseError: It is no ONNX model.
    """
    outputs: dict[str, None] = {}
    made: dict[str, None] = {}
    for graph in _messages(content, _GRAPH):
        for output in _messages(graph, _OUTPUT):
            outputs |= dict.fromkeys(_texts(output, 1))
        for node in _messages(graph, _NODE):
            if _texts(node, _NODE_TYPE) != ["Constant"]:
                made |= dict.fromkeys(name for name in _texts(node, _NODE_OUTPUT) if name)
    added = b"".join(
        _field(_OUTPUT, _field(1, name.encode())) for name in made if name not in outputs
    )
    # Protocol Buffers merge a message that stands twice, so the outputs may follow the file.
    return content + _field(_GRAPH, added)


def marked_tflite(content: bytes) -> bytes:
    """Return a TensorFlow Lite model with computed tensors as outputs.

    Those of the main subgraph are marked, behind the model's own outputs.

    Raises:
        ParseError: It is no TensorFlow Lite model.
    """
    try:
        main = next(_tables(content, _target(content, 0), _SUBGRAPHS))
        place = _slot(content, main, _OUTPUTS)
        types = [_type_of(content, at) for at in _tables(content, main, _TENSORS)]
        marked = dict.fromkeys(_integers(content, main, _OUTPUTS))
        for operator in _tables(content, main, _OPERATORS):
            made = _integers(content, operator, _MADE)
            marked |= {index: None for index in made if index >= 0 and types[index] in _NUMBERS}
    except (struct.error, IndexError, StopIteration) as error:
        raise ParseError("the model is no TensorFlow Lite file: it ends too early") from error
    if not place:
        raise ParseError("the model's main subgraph has no outputs")
    padded = content + bytes(-len(content) % 4)
    vector = struct.pack(f"<I{len(marked)}i", len(marked), *marked)
    body = bytearray(padded + vector)
    struct.pack_into("<I", body, place, len(padded) - place)
    return bytes(body)


MARKS: dict[str, Callable[[bytes], bytes]] = {".onnx": marked_onnx, ".tflite": marked_tflite}
"""What marks the tensors of files of a suffix."""


def _field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field in the wire format."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _texts(message: memoryview, field: int) -> list[str]:
    return [bytes(each).decode("utf-8", "replace") for each in _messages(message, field)]


def _messages(content: bytes | memoryview, wanted: int) -> Iterator[memoryview]:
    """Yield the length-delimited fields of a number."""
    view, at = memoryview(content), 0
    try:
        while at < len(view):
            key, at = _read_varint(view, at)
            kind, size = key & 7, 0
            if kind == 2:
                size, at = _read_varint(view, at)
            elif kind == 0:
                _, at = _read_varint(view, at)
            else:
                size = {1: 8, 5: 4}[kind]
            if at + size > len(view):
                raise IndexError(at)
            if key >> 3 == wanted and kind == 2:
                yield view[at : at + size]
            at += size
    except (IndexError, KeyError) as error:
        raise ParseError("the model is no ONNX file: it cannot be read to its end") from error


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = view[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _target(content: bytes, place: int) -> int:
    """Return where a FlatBuffers offset points."""
    offset: int = struct.unpack_from("<I", content, place)[0]
    return place + offset


def _slot(content: bytes, table: int, slot: int) -> int:
    """Return a field's place, 0 if the table lacks it."""
    vtable = table - struct.unpack_from("<i", content, table)[0]
    if vtable < 0 or 4 + 2 * slot >= struct.unpack_from("<H", content, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0]
    return table + offset if offset else 0


def _type_of(content: bytes, tensor: int) -> int:
    place = _slot(content, tensor, _TENSOR_TYPE)
    return content[place] if place else 0


def _integers(content: bytes, table: int, slot: int) -> tuple[int, ...]:
    place = _slot(content, table, slot)
    if not place:
        return ()
    vector = _target(content, place)
    (count,) = struct.unpack_from("<I", content, vector)
    if count > len(content):
        raise IndexError(count)
    return struct.unpack_from(f"<{count}i", content, vector + 4)


def _tables(content: bytes, table: int, slot: int) -> Iterator[int]:
    """Yield where the tables of a vector begin."""
    place = _slot(content, table, slot)
    if place:
        vector = _target(content, place)
        (count,) = struct.unpack_from("<I", content, vector)
        for number in range(count):
            yield _target(content, vector + 4 + 4 * number)
