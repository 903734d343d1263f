# SPDX-License-Identifier: MIT
"""``armnn compile`` writes what ``armnn run`` loads without a parser."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn_tools.cli.main import main


@pytest.fixture
def model(tmp_path: Path) -> str:
    network = armnn.Network("open")
    x = network.add_input("x", armnn.TensorInfo((None, 2)))
    network.add_output("y", network.add_addition(x, np.ones((1, 2), np.float32)))
    armnn.save(network, tmp_path / "open.armnn")
    return str(tmp_path / "open.armnn")


def test_open_shapes_must_be_given(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compile", model, "-o", model.replace(".armnn", ".armnn-prepared")]
    assert main([*arguments, "--backends", "CpuRef"]) == 1
    assert "give it shapes, as 'armnn compile --shape' does" in capsys.readouterr().err
    assert list(Path(model).parent.iterdir()) == [Path(model)]


@pytest.mark.parametrize("command", ["compile", "convert"])
def test_a_name_of_bytes_that_are_no_text_is_printed(
    command: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = {"compile": ".armnn-prepared", "convert": ".armnn"}[command]
    made = model.replace("open.armnn", f"\udcff{suffix}")
    options = {"compile": ["--shape", "x=3x2", "--backends", "CpuRef", "-o", made]}
    assert main([command, model, *options.get(command, [made])]) == 0
    assert Path(made).exists()
    assert f"\\udcff{suffix}: " in capsys.readouterr().out


def test_what_is_compiled_is_run_without_its_model(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = model.replace(".armnn", ".armnn-prepared")
    arguments = ["compile", model, "--shape", "x=3x2", "-o", out, "--backends", "CpuRef"]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["file"] == out
    assert result["bytes"] == Path(out).stat().st_size
    assert result["layers"] == {"CpuRef": 1}
    made = Path(model).with_name("y.npy")
    assert main(["run", out, "--input", "x=zeros", "--output", f"y={made}"]) == 0
    np.testing.assert_array_equal(np.load(made), np.ones((3, 2)))


def test_a_capacity_is_that_of_a_language_model(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", model.replace(".armnn", ".armnn-prepared"), "--backends", "CpuRef"]
    assert main(["compile", model, "--capacity", "9", *out]) == 1
    assert "--capacity is for the folder of a language model" in capsys.readouterr().err
    assert main(["compile", str(tmp_path), "--shape", "x=3x2", *out]) == 1
    assert "is a folder, which says how its model is read" in capsys.readouterr().err
