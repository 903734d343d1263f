# SPDX-License-Identifier: MIT
"""Files and runtimes that cannot be compared.

What the runtimes compute is compared where their models are: in the tests of the parsers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from armnn.errors import InvalidArgumentError, NotInstalledError, ParseError
from armnn_tools.cli.main import main
from armnn_tools.debugging import compare_with_tool
from armnn_tools.debugging.other_runtimes import RUNTIMES, marked_onnx, marked_tflite, run_elsewhere

if TYPE_CHECKING:
    from armnn.runtime import LoadedNetwork

UNUSED = cast("LoadedNetwork", None)


@pytest.mark.parametrize("name", list(RUNTIMES))
def test_one_that_is_not_installed_is_named_with_a_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, module, distribution, _ = RUNTIMES[name]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=f"^{name} is not .* pip install {distribution}$"):
        run_elsewhere(name, f"m{suffix}", UNUSED, {})


def test_one_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="is 'torch': expected one of onnxruntime, lite"):
        run_elsewhere("torch", "m.onnx", UNUSED, {})
    with pytest.raises(InvalidArgumentError, match=r"litert cannot run 'm\.onnx': expected a file"):
        run_elsewhere("litert", "m.onnx", UNUSED, {})


@pytest.mark.parametrize("content", [b"\x3a\x05\x0a", b"\x3a\x80", b"\x0f", b"\x39abc"])
def test_a_broken_onnx_file_is_an_error(content: bytes) -> None:
    with pytest.raises(ParseError, match="not an ONNX file: it cannot be read to its end"):
        marked_onnx(content)


@pytest.mark.parametrize("content", [b"", b"TFL3", bytes(64), b"\x08\0\0\0TFL3\x04\0\0\0" * 2])
def test_a_broken_tflite_file_is_an_error(content: bytes) -> None:
    with pytest.raises(ParseError, match=r"not a TensorFlow Lite file|has no outputs"):
        marked_tflite(content)


def test_outputs_stand_once() -> None:
    # A graph (field 7) of a node (1) with the outputs (2) "a" and "b", and the output (12) "a".
    graph = b"\x0a\x06\x12\x01a\x12\x01b" + b"\x62\x03\x0a\x01a"
    model = b"\x3a" + bytes([len(graph)]) + graph
    assert marked_onnx(model) == model + b"\x3a\x05\x62\x03\x0a\x01b"


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.armnn"
    file.touch()
    with pytest.raises(InvalidArgumentError, match=r"no other runtime reads .* \.onnx or \.tflite"):
        compare_with_tool(file)


@pytest.mark.parametrize(
    ("suffix", "module", "name"),
    [
        ("onnx", "onnxruntime", "onnxruntime"),
        ("tflite", "ai_edge_litert.interpreter", "ai-edge-litert"),
    ],
)
def test_a_runtime_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str, name: str
) -> None:
    file = tmp_path / f"m.{suffix}"
    file.touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=f"is not installed.* pip install {name}$"):
        compare_with_tool(file)


@pytest.mark.parametrize("other", [["--passes"], ["--vary", "OMP_NUM_THREADS=1"]])
def test_one_question_is_asked_at_a_time(
    other: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "m.onnx", "--tools", *other]) == 1
    assert "answer questions of their own: give one of them" in capsys.readouterr().err
