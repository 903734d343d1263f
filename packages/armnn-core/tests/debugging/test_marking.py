# SPDX-License-Identifier: MIT
"""Files that cannot be marked.

Marked ones are tested with the parsers."""

from __future__ import annotations

import pytest

from armnn.debugging.marking import marked_onnx, marked_tflite
from armnn.errors import ParseError


@pytest.mark.parametrize("content", [b"\x3a\x05\x0a", b"\x3a\x80", b"\x0f", b"\x39abc"])
def test_a_broken_onnx_file_is_an_error(content: bytes) -> None:
    with pytest.raises(ParseError, match="no ONNX file: it cannot be read to its end"):
        marked_onnx(content)


@pytest.mark.parametrize("content", [b"", b"TFL3", bytes(64), b"\x08\0\0\0TFL3\x04\0\0\0" * 2])
def test_a_broken_tflite_file_is_an_error(content: bytes) -> None:
    with pytest.raises(ParseError, match=r"no TensorFlow Lite file|has no outputs"):
        marked_tflite(content)


def test_outputs_stand_once() -> None:
    # A graph (field 7) of a node (1) with the outputs (2) "a" and "b", and the output (12) "a".
    graph = b"\x0a\x06\x12\x01a\x12\x01b" + b"\x62\x03\x0a\x01a"
    model = b"\x3a" + bytes([len(graph)]) + graph
    assert marked_onnx(model) == model + b"\x3a\x05\x62\x03\x0a\x01b"
