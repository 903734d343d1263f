# SPDX-License-Identifier: MIT
"""The command's answers to bad input: reasons, never tracebacks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn_tools.cli.main import main

if TYPE_CHECKING:
    from numpy.typing import NDArray

Run = Callable[..., subprocess.CompletedProcess[str]]

MODEL_ERRORS = {
    "missing.onnx": ["missing.onnx", "there is no model file"],
    "text.onnx": ["text.onnx", "not an ONNX"],
    "empty.onnx": ["empty.onnx", "empty"],
    "truncated.onnx": ["truncated.onnx", "truncated"],
    "model.xyz": ["model.xyz", "no parser", ".onnx"],
    "page.onnx": ["page.onnx", "an HTML page"],
    "pointer": ["pointer", "git-LFS", "git lfs pull"],
    "named.tflite": ["named.tflite", "an ONNX model", "--format onnx"],
    "unsupported.onnx": ["'first'", "'second'", "NotAnOperator", "AlsoNone"],
}


def write_model(path: Path, *op_types: str) -> Path:
    """Write a model of unary operators from "x" to "y".

    The shape is [2, 3].
    """
    names = ["x", *(f"between{index}" for index in range(1, len(op_types))), "y"]
    labels = ["first", "second", "third"]
    nodes = [
        helper.make_node(op_type, [source], [target], name=label)
        for op_type, source, target, label in zip(op_types, names, names[1:], labels, strict=False)
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    onnx.save(helper.make_model(helper.make_graph(nodes, "graph", [x], [y])), path)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_model(tmp_path / "good.onnx", "Relu", "Neg")


@pytest.fixture
def bad(tmp_path: Path, good: Path) -> Path:
    """Write a folder with a model for each MODEL_ERRORS key."""
    (tmp_path / "text.onnx").write_text("This is not a model.\n" * 100)
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "truncated.onnx").write_bytes(good.read_bytes()[:-20])
    (tmp_path / "model.xyz").write_text("This is not a model, either.\n")
    (tmp_path / "page.onnx").write_text("<!doctype html><title>Sign in</title>")
    (tmp_path / "pointer").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "named.tflite").write_bytes(good.read_bytes())
    write_model(tmp_path / "unsupported.onnx", "NotAnOperator", "AlsoNone")
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command in this process; an exception is the test's."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        try:
            status = main([str(each) for each in arguments])
        except SystemExit as end:  # argparse's
            status = int(end.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return run


def refused(attempt: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a command that failed properly."""
    assert attempt.returncode != 0
    assert re.match(r"armnn( \w+)?: error: ", attempt.stderr)
    return attempt.stderr


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (word, name)
        for word in ("run", "inspect")
        for name in MODEL_ERRORS
        if (word, name) != ("inspect", "unsupported.onnx")
    ],
)
def test_a_bad_model_is_refused_with_its_name_and_what_is_wrong(
    command: Run, bad: Path, word: str, name: str
) -> None:
    message = refused(command(word, bad / name))
    for part in MODEL_ERRORS[name]:
        assert part.lower() in message.lower()


def test_an_unsupported_model_is_inspected_and_fails(command: Run, bad: Path) -> None:
    done = command("inspect", bad / "unsupported.onnx")
    assert done.returncode == 1
    for operator in ("NotAnOperator", "AlsoNone"):
        assert operator in done.stdout


def test_a_folder_that_cannot_be_scanned_is_warned_of_and_nothing_is_loaded(
    installed: Run, good: Path
) -> None:
    options = ["--dynamic-backends-path", "relative/path", "--input", "x=random"]
    done = installed("armnn", "run", good, *options)
    assert done.returncode == 0
    assert (
        "relative/path' of dynamic backends (--dynamic-backends-path) does not exist" in done.stderr
    )


def test_an_unknown_backend_is_refused_with_the_known_ones(command: Run, good: Path) -> None:
    message = refused(command("run", good, "--backends", "CpuReff"))
    assert "'CpuReff'" in message
    assert "CpuRef" in message.replace("CpuReff", "")


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (np.zeros((2, 4), np.float32), ["'x'", "[2,4]", "[2,3]"]),
        (np.zeros((1, 2, 3), np.float32), ["'x'", "[1,2,3]", "[2,3]"]),
        (np.zeros((2, 3), np.complex64), ["'x'", "complex64", "float32"]),
        (np.full((2, 3), 2**24 + 1), ["'x'", "int64", "float32", "cannot hold all"]),
        (np.full((2, 3), "a"), ["x.npy", "<u1", "numbers"]),
    ],
    ids=["shape", "rank", "type", "value", "text"],
)
def test_an_input_that_does_not_fit_is_refused_with_what_is_expected(
    command: Run, good: Path, tmp_path: Path, array: NDArray[Any], parts: list[str]
) -> None:
    np.save(tmp_path / "x.npy", array)
    message = refused(command("run", good, "--input", f"x={tmp_path / 'x.npy'}"))
    for part in parts:
        assert part.lower() in message.lower().replace(", ", ",")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--input", "z=random"],
        ["--input", "x=missing.npy"],
        ["--input", "x=missing.png"],
        ["--output", "z=z.npy"],
        ["--labels", "missing.txt"],
        ["--layer-backend", "nothing=CpuRef"],
        ["--iterations", "0"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_wrong_argument_is_refused_by_its_name(
    command: Run, good: Path, arguments: list[str]
) -> None:
    option, value = arguments
    message = refused(command("run", good, *arguments))
    name, _, file = value.partition("=")
    assert option in message or name in message or (file and file in message)


def test_nan_and_infinity_pass_through(command: Run, good: Path, tmp_path: Path) -> None:
    data = np.array([[np.nan, np.inf, -np.inf], [0, -1, 1]], np.float32)
    np.save(tmp_path / "x.npy", data)
    result = tmp_path / "y.npy"
    run = command("run", good, "--input", f"x={tmp_path / 'x.npy'}", "--output", f"y={result}")
    assert run.returncode == 0, run.stderr
    negative_rectified = [[np.nan, -np.inf, 0], [0, 0, -1]]
    np.testing.assert_array_equal(np.load(result), np.array(negative_rectified, np.float32))
