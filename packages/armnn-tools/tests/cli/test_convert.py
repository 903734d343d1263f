# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn.parsing import parse
from armnn_tools.cli.main import main


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with an open batch and an extension."""
    network = armnn.Network("demo")
    x = network.add_input("x", armnn.TensorInfo(("batch", 4)))
    shape = network.add_shape(x)
    doubled = network.add_reshape(x, shape, name="same shape")
    network.add_output("y", network.add_activation(doubled, function="Mish", name="mish"))
    path = tmp_path / "demo.armnn"
    armnn.save(network, path, beyond_arm_nn=True)
    monkeypatch.setattr(
        "armnn_tools.cli.convert.parse", parse
    )  # the suffix may belong to another one
    return path


def test_a_model_is_written_and_described(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "net.armnn"
    arguments = ["convert", str(source), str(target), "--beyond-arm-nn"]
    assert main([*arguments, "--shape", "x=2x4"]) == 0
    assert capsys.readouterr().out.startswith(f"{target}: 4 layers, ")
    network = parse(target)
    assert [layer.output.info.shape for layer in network.inputs] == [(2, 4)]
    assert network.find("same shape").descriptor.target_shape == (2, 4)  # type: ignore[attr-defined]  # of this kind
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    made = armnn.load_model(network, backends=["CpuRef"]).run({"x": x})["y"]
    np.testing.assert_allclose(made, x * np.tanh(np.log1p(np.exp(x))), rtol=1e-5, atol=1e-6)


def test_format_says_what_a_file_is_whatever_its_suffix(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = source.rename(tmp_path / "demo.json")
    arguments = ["convert", str(strange), str(tmp_path / "net.armnn"), "--beyond-arm-nn"]
    assert main([*arguments, "--format", "armnn"]) == 0
    assert main(["inspect", str(strange), "--format", "armnn", "--backends", "CpuRef"]) == 0
    assert "Activation" in capsys.readouterr().out
    # Where no parser has the suffix, the content tells.
    nameless = strange.rename(tmp_path / "demo")
    assert main(["run", str(nameless), "--backends", "CpuRef", "--input", "zeros"]) == 0
    assert main(["inspect", str(nameless), "--format", "nonsense"]) == 1
    assert "there is no parser for the suffix '.nonsense'" in capsys.readouterr().err


def test_json_counts_the_layers(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "net.armnn"
    shape = ["--shape", "x=1x4", "--json"]
    assert main(["convert", str(source), str(target), "--beyond-arm-nn", *shape]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "model": str(source),
        "file": str(target),
        "for_arm_nn": "23.08",
        "beyond_arm_nn": True,
        "bytes": target.stat().st_size,
        "layers": {"Activation": 1, "Input": 1, "Output": 1, "Reshape": 1},
    }


@pytest.mark.parametrize("version", ["20.08", "23.08"])
def test_what_arm_nn_lacks_is_an_error(
    source: Path, tmp_path: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "net.armnn"
    arguments = ["convert", str(source), str(target), "--for-arm-nn", version]
    assert main([*arguments, "--shape", "x=1x4"]) == 1
    message = capsys.readouterr().err
    assert f"cannot be stored for Arm NN {version}: 'mish' (Activation): its function" in message
    assert not target.exists()


def test_another_suffix_is_refused(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(source), "net.onnx"]) == 1
    assert "FILE is 'net.onnx', expected a name that ends in .armnn" in capsys.readouterr().err
