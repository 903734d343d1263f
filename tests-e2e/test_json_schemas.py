# SPDX-License-Identifier: MIT
"""What commands print with --json about real backends has the schema that ``armnn schema`` prints.

The tests of armnn-tools check all commands with toy backends, which compile nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest

from armnn_tools.cli.main import main
from armnn_tools.cli.schema import SCHEMAS


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Enter a folder with a model of a convolution, a quantization and an integer output."""
    weights = onnx.numpy_helper.from_array(np.ones((2, 3, 3, 3), np.float32), "w")
    scale = onnx.numpy_helper.from_array(np.float32(0.5), "scale")
    zero = onnx.numpy_helper.from_array(np.uint8(3), "zero")
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        onnx.helper.make_node("Relu", ["c"], ["y"], name="relu"),
        onnx.helper.make_node("QuantizeLinear", ["y", "scale", "zero"], ["q"], name="quantize"),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])
    outputs = [
        onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None),
        onnx.helper.make_tensor_value_info("q", onnx.TensorProto.UINT8, None),
    ]
    graph = onnx.helper.make_graph(nodes, "real", [x], outputs, [weights, scale, zero])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    return "m.onnx"


BACKENDS = ("--backends", "CpuAcc,CpuRef")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "m.onnx", *BACKENDS, "--report", "--profile", "--times", "--concurrent", "2"),
        ("view", "m.onnx", *BACKENDS),
        ("inspect", "m.onnx", *BACKENDS, "--layers", "--reasons"),
        ("compare", "m.onnx", *BACKENDS, "--every-layer"),
        ("compare", "m.onnx", "--tools"),
        ("compile", "m.onnx", *BACKENDS, "--shape", "2x3x8x8", "-o", "m.armnn-prepared"),
        ("backends", "new", "Acme", "--id", "AcmeNpu"),
    ],
    ids=" ".join,
)
def test_a_document_has_its_schema(
    command: tuple[str, ...], model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMAS[command[0]])
    if command[0] == "run":
        assert found["compiled_parts"][0]["backend"] == "CpuAcc"
        assert {row["backend"] for row in found["layer_times"]} == {"CpuAcc"}
