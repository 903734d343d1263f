# SPDX-License-Identifier: MIT
"""``armnn run --compare-with onnxruntime`` and ``armnn compare --tools``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import armnn
from armnn.debugging import compare_with_tool
from armnn.debugging.other_runtimes import RUNTIMES, marked_onnx, run_elsewhere
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn_tools.cli.main import main

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


@pytest.fixture
def layered(model: Callable[..., onnx.ModelProto], tmp_path: Path) -> Path:
    """Write a model with a named node and a constant."""
    weights = np.random.default_rng(0).standard_normal((4, 6), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Gelu", ["product"], ["gelu"], name="smooth"),
        helper.make_node("Constant", [], ["axis"], value_int=1),
        helper.make_node("CumSum", ["gelu", "axis"], ["joined"]),
        helper.make_node("Softmax", ["joined"], ["y"]),
    ]
    file = tmp_path / "layered.onnx"
    inputs = {"x": (onnx.TensorProto.FLOAT, [3, 4])}
    types = {"y": onnx.TensorProto.FLOAT}
    made = model(nodes, inputs, ("y",), constants={"w": weights}, opset=20, output_types=types)
    onnx.save(made, file)
    return file


def test_all_tensors_become_outputs(layered: Path) -> None:
    marked = onnx.load_from_string(marked_onnx(layered.read_bytes()))
    assert [each.name for each in marked.graph.output] == ["y", "product", "gelu", "joined"]
    assert marked.graph.node == onnx.load(layered).graph.node
    assert list(armnn.parse(marked.SerializeToString(), suffix="onnx").outputs)


def test_layers_agree_with_onnxruntime_by_name(
    layered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(layered), "--tools", "--samples", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["tools"]["onnxruntime"]
    assert document["verdicts"] == found["verdicts"]
    last = [each["layers"][-1] for each in found["verdicts"]]
    assert last[:2] == ["product", "smooth"]
    assert last[-1] == "y"
    assert all(each["backend"] == "onnxruntime" for each in found["verdicts"])
    assert 0 < max(each["ratio"] for each in found["verdicts"]) < 1
    assert found["backend_runs"] == 2
    (layered.parent / "found.json").write_text(json.dumps(document))
    shown = layered.with_suffix(".html")
    arguments = ("--backends", "CpuRef", "--compare", str(layered.parent / "found.json"))
    assert main(["view", str(layered), *arguments, "-o", str(shown)]) == 0
    assert "smooth" in shown.read_text()


def test_only_the_tensor_that_differs_is_named(
    layered: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    *kept, run = RUNTIMES["onnxruntime"]

    def wrong(library: Any, model: Any, inputs: Any) -> dict[str, Any]:
        # A kernel that makes 1.01 of 1; what comes behind it is computed of that.
        proto = onnx.load_from_string(model.source)
        proto.graph.node[0].output[0] = "right"
        proto.graph.initializer.append(
            onnx.numpy_helper.from_array(np.array(1.01, np.float32), "a")
        )
        proto.graph.node.insert(1, helper.make_node("Mul", ["right", "a"], ["product"]))
        return run(library, replace(model, source=proto.SerializeToString()), inputs)

    monkeypatch.setitem(RUNTIMES, "onnxruntime", (*kept, wrong))
    (finding,) = compare_with_tool(layered).wrong
    assert (finding.layers, finding.types) == (("product",), ("FullyConnected",))
    assert finding.figures.largest == pytest.approx(0.01, rel=1e-3)
    assert main(["compare", str(layered), "--tools", "--backends", "CpuRef"]) == 1
    text = capsys.readouterr().out
    assert "onnxruntime and CpuRef differ in 1 of " in text
    assert text.splitlines()[-1] == (
        "No layer is wrong: the model's values agree with the reference's."
    )


def test_a_finding_says_what_onnxruntime_computes(
    layered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["compare", str(layered), "--tools", "--backends", "CpuRef", "--every-layer"])
    assert status == 0
    assert "onnxruntime and CpuRef agree in all of" in capsys.readouterr().out


def test_layers_of_a_file_with_data_elsewhere_are_not_compared(
    layered: Path, tmp_path: Path
) -> None:
    file = tmp_path / "outside.onnx"
    onnx.save(onnx.load(layered), file, save_as_external_data=True, size_threshold=0)
    with pytest.raises(InvalidArgumentError, match=r"outside\.onnx': it keeps data in other files"):
        compare_with_tool(file)
