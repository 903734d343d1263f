# SPDX-License-Identifier: MIT
"""``armnn compare``: table, JSON, exit status, inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, TensorInfo
from armnn.backends.registry import BackendRegistry
from armnn.optimizer import passes
from armnn_tools.cli.main import main
from fakes.faults import FAULTS, FaultyBackend, planted_network

LEAKY = next(fault for fault in FAULTS if fault.name == "alpha x 1.01")


@pytest.fixture
def faulty() -> Iterator[None]:
    backend = FaultyBackend(BackendRegistry(CreationOptions()).get("CpuRef"), LEAKY)
    armnn.register_backend("Faulty", lambda: backend)
    yield
    armnn.unregister_backend("Faulty")


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "leaky.armnn"
    armnn.save(planted_network(LEAKY.network, LEAKY.layer), path)
    return str(path)


@pytest.fixture
def compared(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Return a function from arguments to exit status and output."""

    def run(*arguments: str) -> tuple[int, str]:
        status = main(["compare", *arguments, "--no-rewrite"])
        return status, capsys.readouterr().out

    return run


def test_the_first_wrong_layer_is_marked(
    compared: Callable[..., tuple[int, str]], faulty: None, model: str
) -> None:
    status, text = compared(model, "--backends", "Faulty", "--repeats", "3")
    lines = text.splitlines()
    (row,) = [line for line in lines if line.startswith(" first")]
    assert status == 1
    assert row.split()[:5] == ["first", "planted", "Activation", "Activation", "Faulty"]
    assert "wrong values" in row
    assert "3 of 3" in row
    assert lines[-1] == "Wrong: planted Activation (Activation) on Faulty."


def test_a_right_backend_exits_with_zero(
    compared: Callable[..., tuple[int, str]], faulty: None, model: str
) -> None:
    status, text = compared(model, "--backends", "CpuRef")
    assert (status, text) == (
        0,
        "No layer is wrong: the model's values agree with the reference's.\n",
    )


def test_every_layer_lists_the_right_ones_too(
    compared: Callable[..., tuple[int, str]], faulty: None, model: str
) -> None:
    arguments = (model, "--backends", "Faulty", "--repeats", "1")
    _, text = compared(*arguments)
    assert " before " not in text
    _, text = compared(*arguments, "--every-layer")
    for name in ("before", "planted Activation", "after y"):
        assert f" {name} " in text
    assert " right " in text


def test_json_has_the_findings_and_the_work(
    compared: Callable[..., tuple[int, str]], faulty: None, model: str
) -> None:
    status, text = compared(model, "--backends", "Faulty", "--samples", "2", "--json")
    document: dict[str, Any] = json.loads(text)
    (wrong,) = [each for each in document["verdicts"] if each["wrong"]]
    assert status == 1
    assert document["samples"] == 2
    assert wrong["layers"] == ["planted Activation"]
    assert (wrong["kind"], wrong["unit"]) == ("wrong values", "of the largest")
    assert wrong["largest"] > wrong["allowed"] > 0


def test_a_folder_holds_a_file_for_each_sample(
    compared: Callable[..., tuple[int, str]], faulty: None, model: str, tmp_path: Path
) -> None:
    folder = tmp_path / "samples"
    folder.mkdir()
    shape = (2, 4, 6, 6)
    np.savez(folder / "a.npz", x=np.ones(shape, np.float32))  # the fault is below zero
    arguments = (model, "--backends", "Faulty", "--inputs", str(folder), "--json")
    assert compared(*arguments)[0] == 0
    np.savez(folder / "b.npz", x=-np.ones(shape, np.float32))
    status, text = compared(*arguments)
    (wrong,) = [each for each in json.loads(text)["verdicts"] if each["wrong"]]
    assert (status, wrong["sample"]) == (1, 1)


def test_an_open_shape_is_said(
    compared: Callable[..., tuple[int, str]], faulty: None, tmp_path: Path
) -> None:
    network = Network("open")
    x = network.add_input("x", TensorInfo((None, 3)))
    network.add_output("y", network.add_activation(x, function="LeakyReLu", a=0.1, name="leaky"))
    path = tmp_path / "open.armnn"
    armnn.save(network, path)
    status, text = compared(str(path), "--backends", "Faulty", "--shape", "x=5x3", "--json")
    assert status == 1
    assert json.loads(text)["verdicts"][0]["total"] == 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "compare needs the backends to look at: name them, as in --backends"),
        (("--backends", "Faulty", "--inputs", "nowhere"), "--inputs got 'nowhere', expected a fo"),
        (("--backends", "Faulty", "--inputs", "empty"), "has no file ending in .npy, .npz"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: tuple[str, ...],
    message: str,
    faulty: None,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["compare", model, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_passes_that_are_right_are_said_to_be(
    compared: Callable[..., tuple[int, str]], model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", model, "--passes"]) == 0
    assert capsys.readouterr().out.startswith("No pass makes the model wrong: ")


def test_a_wrong_pass_is_named(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(network: Network) -> int:
        layer = next((each for each in network.layers if each.name == "before"), None)
        if layer is None or layer.inputs[0] is None:
            return 0
        network.replace_uses(layer.output, layer.inputs[0])
        network.remove(layer)
        return 1

    monkeypatch.setattr(passes, "PASSES", (cut,))
    assert main(["compare", model, "--passes"]) == 1
    assert capsys.readouterr().out == (
        "Wrong: the pass cut, change 1 of 1. It takes out before; it puts in nothing; the output "
        "'y' has wrong values.\n"
    )
    assert main(["compare", model, "--passes", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["name"], document["layers"], document["agrees"]) == ("cut", ["before"], False)


def test_vary_compares_with_each_value(
    compared: Callable[..., tuple[int, str]], model: str
) -> None:
    arguments = (model, "--backends", "CpuRef", "--repeats", "1", "--vary")
    status, text = compared(*arguments, "ARMNN_BACKENDS=CpuRef,Other", "--json")
    document = json.loads(text)["values"]
    assert status == 1
    assert document["CpuRef"]["agrees"]
    assert "CpuRef" in document["Other"]["error"]


def test_vary_compares_with_all_options_of_the_command(
    compared: Callable[..., tuple[int, str]], model: str
) -> None:
    arguments = (model, "--var=NUMBER=1", "--backends", "CpuRef", "--no-static-backends")
    status, text = compared(*arguments, "--json")
    assert status == 1
    assert "CpuRef" in json.loads(text)["values"]["1"]["error"]


def test_vary_needs_a_name_and_values(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", model, "--backends", "CpuRef", "--vary", "NAME"]) == 1
    assert "--vary got 'NAME', expected NAME=VALUE,..." in capsys.readouterr().err
