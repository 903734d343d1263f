# SPDX-License-Identifier: MIT
"""Declarations of a model, and a model in one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn.errors import ParseError
from armnn_parser_onnx.description import read_declarations, whole_model
from tools.fuzz.onnx_reader import difference

DATA = np.arange(4, dtype=np.float32)


def external(name: str) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "data.bin", "offset": "4", "length": "16"}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a model with data of all kinds beside it."""
    declared = helper.make_tensor_value_info
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "inner"], ["out"])],
        "branch",
        [],
        [declared("out", TensorProto.FLOAT, [4])],
        [external("inner")],
    )
    nodes = [
        helper.make_node("Constant", [], ["c"], value=external("value")),
        helper.make_node("If", ["choice"], ["b"], then_branch=branch, else_branch=branch),
        helper.make_node("Sum", ["b", "c", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [declared("x", TensorProto.FLOAT, [4]), declared("choice", TensorProto.BOOL, [])],
        [declared("y", TensorProto.FLOAT, [4])],
        [external("w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    (tmp_path / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    return tmp_path / "model.onnx"


def test_data_of_other_files_is_inside(path: Path) -> None:
    inside = onnx.load_from_string(whole_model(path))
    onnx.checker.check_model(inside)
    assert difference(read_declarations(inside.SerializeToString()), onnx.load(path)) == ""


def test_a_model_without_other_files_stays_as_it_is(path: Path) -> None:
    whole = whole_model(path) + b"\xfa\x3e\x01x"  # an unknown field, which would be left out
    path.write_bytes(whole)
    assert whole_model(path) == whole
    assert whole_model(whole) == whole


def test_missing_data_is_refused(path: Path) -> None:
    path.with_name("data.bin").unlink()
    with pytest.raises(ParseError, match=r"cannot be read: .*data\.bin"):
        whole_model(path)


def test_declarations_are_read_without_the_data(path: Path) -> None:
    path.with_name("data.bin").unlink()
    model = read_declarations(path)
    assert model.graph is not None
    assert [value.name for value in model.graph.input] == ["x", "choice"]
    assert model.model_version is None
    assert read_declarations(b"").graph is None
