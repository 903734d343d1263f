# SPDX-License-Identifier: MIT
"""``armnn reduce``: text, JSON, wrong usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn_tools.cli.main import main
from armnn_tools.debugging.reducing import result
from fakes.plugins import backend_plugin, installed

SOURCE = """
from fakes.faults import FAULTS, FaultyBackend

leaky = next(each for each in FAULTS if each.name == "alpha x 1.01")
backend = FaultyBackend.around("CpuRef", leaky)
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site"), backend_plugin("Faulty", source=SOURCE)):
        yield


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    network = Network("leaky")
    x = network.add_input("x", TensorInfo((2, 5)))
    value = network.add_activation(x, function="LeakyReLu", a=0.1, name="slope")
    network.add_output("y", network.add_softmax(value))
    armnn.save(network, tmp_path / "leaky.armnn")
    (tmp_path / "samples").mkdir()
    np.savez(tmp_path / "samples" / "a.npz", x=-np.ones((2, 5), np.float32))
    return "leaky.armnn"


def test_the_result_is_told_and_written(
    faulty: None, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(
        ["reduce", model, "--backends", "Faulty", "--inputs", "samples", "-o", "small.armnn"]
    )
    first, second, third, files = capsys.readouterr().out.splitlines()
    assert status == 0
    assert first == "Activation: wrong values, 0.01 of the largest"
    assert second.startswith("1 of 2 layers (Activation), ")
    assert third == "The script failed in the same way 3 of 3 times."
    assert files.split()[1:] == [
        "small.armnn",
        "small.inputs.npz",
        "small.expected.npz",
        "small.py",
    ]
    assert all(Path(each).exists() for each in files.split()[1:])


def test_json_has_the_finding_and_a_limit_is_kept(
    faulty: None,
    model: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(result, "_CONFIRMED", 1)  # each run of the script takes a process
    arguments = ["reduce", model, "--backends", "Faulty", "--layer", "slope", "-o", "a.armnn"]
    assert main([*arguments, "--time-limit", "0.001", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["layers"] == ["slope"]
    assert (document["complete"], document["layers_before"]) == (False, 2)
    assert document["model"] == "leaky.armnn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "a.onnx"), "armnn reduce needs the backend that fails: name it, as in --backends"),
        (("-o", "a.onnx", "--backends", "CpuRef", "--time-limit", "0"), "the time_limit is 0.0"),
        (("-o", "a.onnx", "--backends", "CpuRef", "--check", "prog"), "the check is 'prog'"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: tuple[str, ...], message: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reduce", model, *arguments]) == 1
    assert message in capsys.readouterr().err
