# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import armnn_parser_onnx.model_file as model_file
from armnn.errors import ModelFileError, ModelFileNotFoundError, ParseError
from armnn_parser_onnx.model_file import default_opset, read_model
from tools.fuzz.onnx_reader import difference

Model = Callable[..., onnx.ModelProto]
X = np.zeros((2, 3), np.float32)


@pytest.fixture
def relu(model: Model) -> onnx.ModelProto:
    return model(helper.make_node("Relu", ["x"], ["y"]), {"x": X})


def test_a_file_and_its_bytes_give_the_same_model(relu: onnx.ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(relu.SerializeToString())
    for source in (path, str(path), relu.SerializeToString()):
        assert difference(read_model(source).proto, relu) == ""


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match=r"there is no model file .*none\.onnx"):
        read_model(tmp_path / "none.onnx")
    with pytest.raises(FileNotFoundError):
        read_model(str(tmp_path / "none.onnx"))


@pytest.mark.parametrize("source", ["folder", "/dev/zero"])
def test_what_is_no_file_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read_model(tmp_path / source)


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError("denied")

    (tmp_path / "m.onnx").write_bytes(b"x")
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(ModelFileError, match="cannot be read: denied"):
        read_model(tmp_path / "m.onnx")


def test_a_file_that_cannot_be_read_on_is_refused(
    relu: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> bytes:
        raise OSError("a worn disk")

    (tmp_path / "m.onnx").write_bytes(relu.SerializeToString())
    monkeypatch.setattr(os, "pread", failing)
    with pytest.raises(ModelFileError, match="cannot be read: a worn disk"):
        read_model(tmp_path / "m.onnx")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    with pytest.raises(ParseError, match=r"m\.onnx' is empty"):
        read_model(tmp_path / "m.onnx")
    with pytest.raises(ParseError, match="'<bytes>' is empty"):
        read_model(b"")


@pytest.mark.parametrize("data", [b"hello, this is text", b"\0" * 64, b"{}", b"\x89PNG\r\n\x1a\n"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="is not an ONNX file"):
        read_model(data)


def test_a_truncated_file_is_refused_wherever_it_ends(relu: onnx.ModelProto) -> None:
    def is_refused_or_complete(data: bytes) -> bool:
        try:
            return difference(read_model(data).graph, relu.graph) == ""
        except ParseError as error:
            return "not an ONNX file" in str(error)

    data = relu.SerializeToString()
    assert all(is_refused_or_complete(data[:length]) for length in range(1, len(data)))


def test_a_message_without_a_graph_is_refused() -> None:
    with pytest.raises(ParseError, match="it has no graph or does not say its opset"):
        read_model(onnx.ModelProto(ir_version=8, producer_name="p").SerializeToString())


def test_deep_nesting_ends_in_an_error() -> None:
    message = b""
    for _ in range(10_000):  # a graph, in an attribute (6), in a node (5), in a graph (1)
        for field in (6, 5, 1):
            message = bytes([field << 3 | 2]) + _varint(len(message)) + message
    with pytest.raises(ParseError, match="is not an ONNX file or is cut short"):
        read_model(b"\x42\x02\x10\x15\x3a" + _varint(len(message)) + message)


def _varint(number: int) -> bytes:
    low = []
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    return bytes([*low, number])


def test_a_file_larger_than_a_message_can_be_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file, "_MAX_BYTES", 9)
    (tmp_path / "m.onnx").write_bytes(b"0123456789")
    with pytest.raises(ParseError, match="has 10 bytes, more than an ONNX file can have"):
        read_model(tmp_path / "m.onnx")


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_the_opset_of_either_spelling_of_the_domain_is_found(
    relu: onnx.ModelProto, domain: str
) -> None:
    del relu.opset_import[:]
    relu.opset_import.add(domain="com.other", version=1)
    relu.opset_import.add(domain=domain, version=13)
    assert default_opset(read_model(relu.SerializeToString())) == 13


@pytest.mark.parametrize("versions", [[], [12, 13]])
def test_no_opset_or_two_are_refused(relu: onnx.ModelProto, versions: list[int]) -> None:
    del relu.opset_import[:]
    relu.opset_import.add(domain="com.other", version=1)
    for version in versions:
        relu.opset_import.add(domain="", version=version)
    with pytest.raises(ParseError, match=f"says {len(versions)} versions of ONNX's operators"):
        default_opset(read_model(relu.SerializeToString()))
