# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import armnn
from armnn.errors import ModelFileError, ModelFileNotFoundError, ParseError

SUFFIXES = {
    "pb": "protobuf",
    "json": "json",
    "onnxjson": "json",
    "onnxtext": "onnxtxt",
    "onnxtxt": "onnxtxt",
    "pbtxt": "textproto",
    "prototxt": "textproto",
    "textproto": "textproto",
    "txtpb": "textproto",
}


def scaled() -> onnx.ModelProto:
    """Return a model of y = x * weights."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    weights = numpy_helper.from_array(np.array([1.5, -2, 0.25], np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "weights"], ["y"])], "scaled", [x], [y], [weights]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def test_the_suffixes_are_those_of_onnx() -> None:
    known = {f".{suffix}": form for suffix, form in SUFFIXES.items()}
    formats = {
        suffix: onnx.serialization.registry.get_format_from_file_extension(suffix)
        for suffix in known
    }
    assert formats == known
    entries = {entry.name for entry in armnn.parsing.installed_parsers()}
    assert set(SUFFIXES) <= entries


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")  # when it is saved
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_format_of_onnx_computes_what_the_model_does(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"model.{suffix}"
    onnx.save(scaled(), file)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for source in (file, file.read_bytes()):
        network = armnn.parse(source, suffix=suffix)
        y = armnn.load_model(network, backends=["CpuRef"]).run({"x": x})["y"]
        assert y.tolist() == (x * np.array([1.5, -2, 0.25], np.float32)).tolist()


def test_data_beside_a_text_is_found(tmp_path: Path) -> None:
    file = tmp_path / "model.textproto"
    onnx.save(scaled(), file, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").stat().st_size >= 12
    y = armnn.load_model(file, backends=["CpuRef"]).run({"x": np.ones((2, 3), np.float32)})["y"]
    assert y[0].tolist() == [1.5, -2, 0.25]


@pytest.mark.parametrize(
    ("suffix", "content", "what"),
    [
        ("textproto", b"ir_version: {", "in text form \\(textproto\\): "),
        ("json", b"{", "in text form \\(json\\): "),
        ("onnxtxt", b"<ir", "in text form \\(onnxtxt\\): "),
        ("textproto", b"ir_version: 8", "no graph"),
        ("json", b"\xff\xfe", "in text form \\(json\\): "),
    ],
)
def test_a_malformed_text_is_refused(
    tmp_path: Path, suffix: str, content: bytes, what: str
) -> None:
    file = tmp_path / f"model.{suffix}"
    file.write_bytes(content)
    with pytest.raises(ParseError, match=rf"model\.{suffix}' .*{what}"):
        armnn.parse(file)


def test_without_onnx_a_text_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.textproto"
    onnx.save(scaled(), file)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModelFileError, match=r"need the package onnx.*: pip install onnx"):
        armnn.parse(file)


def test_a_missing_text_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match="missing"):
        armnn.parse(tmp_path / "missing.textproto")
