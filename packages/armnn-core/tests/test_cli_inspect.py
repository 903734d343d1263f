# SPDX-License-Identifier: MIT
"""``armnn inspect``, on a toy parser: what it tells of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armnn.cli.main import main
from armnn.testing import Plugin, backend_plugin, installed

# [n,4] * [4,3] plus a bias, and two activations.
SOURCE = """\
import numpy as np
from armnn import DataType, Network, TensorInfo
from armnn.layers.activation import ActivationDescriptor

def parse(path):
    network = Network("toy", {"author": "me", "notes": "a\\x1b[2Jb"})
    x = network.add_input("x", TensorInfo(("n", 4), DataType.FLOAT32))
    weights = network.add_constant(np.zeros((4, 3), np.float32), name="w")
    bias = network.add_constant(np.zeros(3, np.float32), name="b")
    y = network.add("FullyConnected", [x, weights, bias], name="dense").output
    z = network.add("Activation", [y], ActivationDescriptor(), name="sigmoid").output
    network.add_output("z", network.add("Activation", [z], name="again").output)
    return network
"""
PARSER = Plugin(
    "armnn-toy",
    "0.1",
    entry_points={"armnn.parsers": {"toy": "armnn_toy:parse"}},
    modules={"armnn_toy": SOURCE},
)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path) -> Iterator[Path]:
    """The working folder, with model.toy; a parser and a backend are all that is installed."""
    (tmp_path / "model.toy").write_text("")
    with (
        installed(tmp_path, PARSER, backend_plugin("Null"), alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


@pytest.fixture
def text(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs ``armnn inspect`` and gives what it printed."""

    def run(*arguments: str) -> str:
        assert main(["inspect", *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


@pytest.fixture
def document(text: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Runs ``armnn inspect --json`` and gives what it printed."""

    def run(*arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text(*arguments, "--json"))
        return found

    return run


def test_a_model_is_told_in_full(document: Callable[..., dict[str, Any]]) -> None:
    assert document("model.toy") == {
        "model": "model.toy",
        "name": "toy",
        "inputs": [{"name": "x", "data_type": "Float32", "shape": ["n", 4]}],
        "outputs": [{"name": "z", "data_type": "Float32", "shape": ["n", 3]}],
        "layers": 3,
        "parameters": 15,
        "parameter_bytes": 60,
        "multiply_adds": None,
        "layers_by_type": [
            {"type": "Activation", "count": 2, "parameters": 0, "multiply_adds": 0},
            {"type": "FullyConnected", "count": 1, "parameters": 15, "multiply_adds": None},
        ],
        "metadata": {"author": "me", "notes": "a\x1b[2Jb"},
        "operators": [],
    }


def test_with_shapes_multiply_adds_are_known(document: Callable[..., dict[str, Any]]) -> None:
    found = document("model.toy", "--shape", "x=5x4", "--layers")
    assert found["multiply_adds"] == 5 * 4 * 3
    assert found["inputs"][0]["shape"] == [5, 4]
    assert found["outputs"][0]["shape"] == [5, 3]
    assert found["layer_list"][0] == {
        "layer": "dense",
        "type": "FullyConnected",
        "backend": None,
        "outputs": [{"name": "dense", "data_type": "Float32", "shape": [5, 3]}],
        "parameters": 15,
        "multiply_adds": 60,
    }


def test_the_text_says_how_to_learn_what_is_not_known(text: Callable[..., str]) -> None:
    lines = [" ".join(line.split()) for line in text("model.toy").splitlines()]
    assert "x Float32[n,4]" in lines
    assert "Activation 2 0 0" in lines
    assert "FullyConnected 1 15 ?" in lines
    assert "Parameters: 15 (60 bytes)" in lines
    assert "Multiply-adds: not known, as shapes are open; try --shape x=1x4" in lines
    assert "Multiply-adds: 12" in text("model.toy", "--shape", "x=1x4")


def test_layers_are_listed_on_request(text: Callable[..., str]) -> None:
    lines = [" ".join(line.split()) for line in text("model.toy", "--layers").splitlines()]
    assert "dense FullyConnected Float32[n,3] 15 ?" in lines
    assert "sigmoid Activation Float32[n,3] 0 0" in lines
    optimised = text("model.toy", "--layers", "--backends", "Null", "--shape", "2x4")
    lines = [" ".join(line.split()) for line in optimised.splitlines()]
    assert "dense FullyConnected Null Float32[2,3] 15 24" in lines


def test_control_characters_of_a_model_do_not_reach_the_terminal(text: Callable[..., str]) -> None:
    printed = text("model.toy")
    assert "\x1b" not in printed
    assert "a\\x1b[2Jb" in printed


def test_the_graph_is_written_for_graphviz(text: Callable[..., str]) -> None:
    text("model.toy", "--dot", "parsed.dot")
    parsed = Path("parsed.dot").read_text(encoding="utf-8")
    assert '[label="FullyConnected\\ndense\\nweights: Float32[4,3]\\nbias: Float32[3]"' in parsed
    text("model.toy", "--dot", "optimised.dot", "--backends", "Null", "--shape", "2x4")
    optimised = Path("optimised.dot").read_text(encoding="utf-8")
    assert '[label="FullyConnected on Null\\ndense' in optimised
    assert '[label="input: Float32[2,4]"]' in optimised


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toy"], "There is no model file 'none.toy'"),
        (["model.toy", "--shape", "x=1x5"], "--shape got [1,5] for the input 'x', expected [n,4]"),
        (["model.toy", "--shape", "y=1x4"], "--shape got the name 'y', expected one of 'x'"),
        (["model.toy", "--backends", "Nul"], "'Nul'"),
        (["model.toy", "--dot", "none/a.dot"], "'none/a.dot', which cannot be written (No such"),
    ],
)
def test_bad_input_gets_a_clear_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("armnn: error: ")
    assert message in printed.err
    assert "Traceback" not in printed.err
