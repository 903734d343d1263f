# SPDX-License-Identifier: MIT
"""Recognizes files by content: models of well-known formats, and other files of their names.

Models are downloaded: what lies there may be the page of an error, or the pointer that git stores
in place of a large file. Only the first bytes are read, and the tags of an ONNX model's fields.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["Content", "content_of"]

_HEAD = 4096
"""Bytes from the beginning, in which all marks are."""

_MOST_FIELDS = 100_000
"""Fields of an ONNX model up to which they are looked at: one per function and line of metadata."""

_ONNX_FIELDS: Final = {
    1: 0,  # ir_version
    2: 2,  # producer_name
    3: 2,  # producer_version
    4: 2,  # domain
    5: 0,  # model_version
    6: 2,  # doc_string
    7: 2,  # graph
    8: 2,  # opset_import
    14: 2,  # metadata_props
    20: 2,  # training_info
    25: 2,  # functions
    26: 2,  # configuration
}
"""The fields of a ``ModelProto`` with their wire types: 0 for a number, 2 for bytes."""

_GRAPH, _OPSET = 7, 8

_GET_AGAIN = "download the file itself"


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file.

    Attributes:
        what: Its name for messages, with an article.
        suffix: The suffix of the parser that reads it; "" if none does.
        advice: The advice for a file that no parser reads.
    """

    what: str
    suffix: str = ""
    advice: str = ""


_ONNX = Content("an ONNX model", "onnx")
_TFLITE = Content("a TensorFlow Lite model", "tflite")
_ARMNN = Content("a network of Arm NN", "armnn")

_POINTER = Content(
    "a pointer of git-LFS, which stands for a large file",
    advice="run 'git lfs pull' in the repository, or download the file itself from its page",
)
_PAGE = Content(
    "an HTML page, not a model",
    advice=f"{_GET_AGAIN}: the address led to a page about it, to a login or to an error",
)
_MARKS: Final = {
    b"version https://git-lfs.github.com/spec/": _POINTER,
    b"PK\x03\x04": Content(
        "a ZIP archive (PyTorch and Keras store models so)",
        advice="unpack it if a model is in it; else export the model to ONNX or TensorFlow Lite",
    ),
    b"\x1f\x8b": Content("compressed by gzip", advice="unpack it with gunzip"),
    b"\x89HDF\r\n\x1a\n": Content(
        "an HDF5 file, as Keras stores", advice="export the model to ONNX or TensorFlow Lite"
    ),
    b"GGUF": Content("a GGUF file, as llama.cpp reads", advice="export the original model to ONNX"),
}
"""How files of other kinds begin."""


def content_of(source: Path | bytes) -> Content | None:
    """Return the kind of content of a file or of its bytes; None if it is unknown or unreadable."""
    try:
        if isinstance(source, bytes):
            return _content(io.BytesIO(source), len(source))
        if not source.is_file():  # a pipe would wait for a writer
            return None
        with source.open("rb") as file:
            return _content(file, os.fstat(file.fileno()).st_size)
    except OSError:
        return None


def _content(file: BinaryIO, size: int) -> Content | None:
    head = file.read(_HEAD)
    if head[4:8] == b"TFL3":
        return _TFLITE
    for mark, content in _MARKS.items():
        if head.startswith(mark):
            return content
    beginning = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if beginning.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return _PAGE
    if _is_onnx(file, size):
        return _ONNX
    return _ARMNN if _is_armnn(head, size) else None


def _is_onnx(file: BinaryIO, size: int) -> bool:
    """Return whether bytes are fields of a model, with a graph and a version of the operators."""
    found = set()
    at = 0
    for _ in range(_MOST_FIELDS):
        if at >= size:
            break
        file.seek(at)
        # A tag of one or two bytes, and a number of at most ten.
        tag, used = _varint(piece := file.read(12))
        value, more = _varint(piece[used:])
        if not used or not more or _ONNX_FIELDS.get(tag >> 3) != tag & 7:
            return False
        found.add(tag >> 3)
        at += used + more + (value if tag & 7 else 0)
    return at == size and {_GRAPH, _OPSET} <= found


def _varint(data: bytes) -> tuple[int, int]:
    """Return the number at the beginning of bytes and its length; 0 and 0 if there is none."""
    number = 0
    for place, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, place + 1
    return 0, 0


def _is_armnn(head: bytes, size: int) -> bool:
    """Return whether bytes begin as a FlatBuffer with the root of a network.

    Arm NN writes no identifier, so the table of the root is looked at: it has layers, then numbers
    of inputs, of outputs, and versions.
    """
    if head[4:8] == b"ARMN":
        return True
    root = int.from_bytes(head[:4], "little")
    if not 4 <= root <= len(head) - 4 or root % 4:
        return False
    fields = root - int.from_bytes(head[root : root + 4], "little", signed=True)
    if not 4 <= fields <= len(head) - 6 or fields % 2:
        return False
    length, table, layers = (
        int.from_bytes(head[at : at + 2], "little") for at in (fields, fields + 2, fields + 4)
    )
    if length not in (10, 12) or not 4 <= layers < table <= 24 or root + table > len(head):
        return False
    at = root + layers
    return at + int.from_bytes(head[at : at + 4], "little") <= size - 4
