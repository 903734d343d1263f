# SPDX-License-Identifier: MIT
"""Files that no other runtime can be asked about.

What the runtimes compute is compared where their models are: in the tests of the parsers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from armnn.cli.main import main
from armnn.debugging import compare_with_tool
from armnn.errors import InvalidArgumentError, NotInstalledError


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
