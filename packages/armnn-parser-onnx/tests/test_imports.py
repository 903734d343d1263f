# SPDX-License-Identifier: MIT
"""What parsing a model does not import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from armnn.errors import UnsupportedOperatorError
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
X = np.zeros((2, 3), np.float32)
LOADED = """
import sys
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.export import to_onnx
before = set(sys.modules)
to_onnx(parse(sys.argv[1]))
print(*sorted(sys.modules))
"""


def modules_after(path: Path) -> set[str]:
    """Return a fresh process's modules after it parsed a model."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(path)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_reading_and_writing_a_model_imports_neither_onnx_nor_protobuf(
    model: Model, tmp_path: Path
) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "x"], ["y"])]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, {"x": X}).SerializeToString())
    loaded = modules_after(path)
    assert not {name for name in loaded if name.partition(".")[0] in ("onnx", "google")}


def test_operators_that_only_onnx_defines_name_the_extra_without_it(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    pad = helper.make_node("CenterCropPad", ["x", "shape"], ["y"])
    made = model(pad, {"x": X}, constants={"shape": np.array([1, 5])}, opset=18)
    message = r"CenterCropPad.*only the package onnx has it.*: pip install onnx"
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(made.SerializeToString())
