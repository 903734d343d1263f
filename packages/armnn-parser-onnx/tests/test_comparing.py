# SPDX-License-Identifier: MIT
"""``armnn run --compare-with onnxruntime``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import armnn
from armnn.cli.main import main
from armnn.debugging.runtimes import run_elsewhere
from armnn.errors import ExecutionError

OPTIONS = ("--backends", "CpuRef", "--compare-with", "onnxruntime", "--json")


@pytest.fixture
def path(model: Callable[..., onnx.ModelProto], tmp_path: Path) -> Path:
    """Write a model of a product and a softmax."""
    weights = np.random.default_rng(0).standard_normal((4, 5), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Softmax", ["product"], ["y"]),
    ]
    inputs = {"x": (onnx.TensorProto.FLOAT, ["n", 4])}
    file = tmp_path / "m.onnx"
    types = dict.fromkeys(("y", "product"), onnx.TensorProto.FLOAT)
    made = model(nodes, inputs, tuple(types), constants={"w": weights}, output_types=types)
    onnx.save(made, file)
    return file


def test_a_model_agrees_with_onnxruntime(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path), "--shape", "3x4", *OPTIONS, "--tolerance", "1e-5"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert found["source"] == "onnxruntime"
    assert [(each["name"], each["total"]) for each in found["outputs"]] == [
        ("y", 15), ("product", 15),
    ]  # fmt: skip


def test_an_input_that_onnxruntime_refuses_is_an_error(path: Path) -> None:
    loaded = armnn.load_model(path, ["CpuRef"])
    with pytest.raises(ExecutionError, match=r"onnxruntime cannot run '.*m\.onnx': .*rank"):
        run_elsewhere("onnxruntime", path, loaded, {"x": np.zeros(4, np.float32)})


@pytest.mark.parametrize("option", ["--fp16-turbo", "--reduce-fp32-to-fp16", "--bf16"])
def test_16_bits_are_compared_with_32(
    path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    options = ("--shape", "3x4", "--backends", "CpuRef", option, "--tolerance", "0.02", "--json")
    assert main(["run", str(path), *options, "--compare-output-with-backend", "CpuRef"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert all(1e-6 < output["largest"] < 0.02 for output in found["outputs"])
