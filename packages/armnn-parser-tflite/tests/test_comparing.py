# SPDX-License-Identifier: MIT
"""``armnn run --compare-with litert`` and ``armnn compare --tools``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.debugging.other_runtimes import run_elsewhere
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn_tools.cli.main import main

OPTIONS = ("--backends", "CpuRef", "--compare-with", "litert", "--json")


@pytest.fixture
def path(lite: Any, tmp_path: Path) -> Path:
    """Write a model that adds, quantized, to a constant."""
    tensors = {
        "x": lite.Tensor("int8", (1, 3), scale=0.5, zero_point=1, signature=(-1, 3)),
        "c": lite.constant(np.int8([[1, 2, 3]]), scale=0.25, zero_point=0),
        "y": lite.Tensor("int8", (1, 3), scale=0.5, zero_point=-3),
    }
    file = tmp_path / "m.tflite"
    file.write_bytes(lite.build(lite.Op("ADD", ["x", "c"]), tensors))
    return file


def test_a_model_agrees_with_litert(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path), "--shape", "4x3", *OPTIONS]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    (output,) = found["outputs"]
    assert (found["source"], output["unit"], output["total"]) == ("litert", "steps", 12)
    assert output["largest"] <= 1


def test_layers_agree_with_litert_by_name(
    lite: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = lite.Tensor("int8", (1, 3), scale=0.5, zero_point=1)
    tensors = {
        "x": x,
        "c": lite.constant(np.int8([[1, 2, 3]]), scale=0.25, zero_point=0),
        "sum": lite.Tensor("int8", (1, 3), scale=0.5, zero_point=-3),
        "y": lite.Tensor("int8", (1, 3), scale=1 / 128, zero_point=0),
    }
    ops = [
        lite.Op("ADD", ["x", "c"], ["sum"], options={"fusedActivationFunction": 1}),
        lite.Op("TANH", ["sum"], ["y"]),
    ]
    file = tmp_path / "two.tflite"
    file.write_bytes(lite.build(ops, tensors))
    assert main(["compare", str(file), "--tools", "--samples", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["tools"]["litert"]
    assert [(each["types"], each["total"], each["unit"]) for each in found["verdicts"]] == [
        (["Addition", "Activation"], 3, "steps"),
        (["Activation"], 3, "steps"),
    ]
    assert main(["compare", str(file), "--tools", "--subgraph", "0"]) == 1
    assert "choose no format, signature or subgraph" in capsys.readouterr().err


def test_a_state_begins_as_in_litert(lite: Any, tmp_path: Path) -> None:
    x, handle = lite.Tensor(shape=(2,)), lite.Tensor("resource", ())
    var = lite.Op("VAR_HANDLE", [], ["h"], options={"sharedName": "sum", "container": ""})
    first = lite.Part(
        [var, lite.Op("ASSIGN_VARIABLE", ["h", "c"], [])],
        {"h": handle, "c": lite.constant(np.float32([3, 3]))},
        [],
        [],
    )
    ops = [
        lite.Op("CALL_ONCE", [], [], options={"initSubgraphIndex": 1}),
        var,
        lite.Op("READ_VARIABLE", ["h"], ["before"]),
        lite.Op("ADD", ["before", "x"], ["y"]),
        lite.Op("ASSIGN_VARIABLE", ["h", "y"], []),
    ]
    file = tmp_path / "state.tflite"
    tensors = {"x": x, "h": handle, "before": x, "y": x}
    file.write_bytes(lite.build(ops, tensors, more=[first]))
    assert main(["run", str(file), "--input", "sum=3,3", *OPTIONS]) == 0
    loaded = armnn.load_model(file, ["CpuRef"])
    inputs = {"x": np.float32([1, 2]), "sum": np.float32([3, 0])}
    with pytest.raises(InvalidArgumentError, match=r"state 'sum', which begins with 3\.0 there: "):
        run_elsewhere("litert", file, loaded, inputs)


def test_another_part_of_a_file_is_not_compared(lite: Any, tmp_path: Path) -> None:
    x = lite.Tensor(shape=(2,))
    part = lite.Part([lite.Op("ADD", ["x", "z"])], {"x": x, "z": x, "y": x}, ["x", "z"])
    file = tmp_path / "two.tflite"
    file.write_bytes(lite.build(lite.Op("NEG", ["x"]), {"x": x, "y": x}, more=[part]))
    loaded = armnn.load_model(file, ["CpuRef"], parser_options={"subgraph": 1})
    inputs = {name: np.float32([1, 2]) for name in "xz"}
    with pytest.raises(InvalidArgumentError, match=r"has 1 inputs and 1 outputs there, 2 and 1 he"):
        run_elsewhere("litert", file, loaded, inputs)


def test_a_file_that_litert_refuses_is_an_error(path: Path, tmp_path: Path) -> None:
    loaded = armnn.load_model(path, ["CpuRef"])
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(b"no model")
    with pytest.raises(ExecutionError, match=r"litert cannot run '.*broken\.tflite': "):
        run_elsewhere("litert", broken, loaded, {"x": np.zeros((1, 3), np.int8)})
