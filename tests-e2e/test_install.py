# SPDX-License-Identifier: MIT
"""What a user has after pip install: the core alone, and with a backend and a parser."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_core_alone_says_that_no_backend_is_installed_and_what_to_install(
    core_alone: Run,
) -> None:
    listing = core_alone("armnn", "backends")
    assert "No backend is installed" in listing.stdout + listing.stderr
    assert 'pip install "armnn-core[' in listing.stdout + listing.stderr
    assert json.loads(core_alone("armnn", "backends", "--json").stdout) == []


def test_the_core_alone_names_the_parser_that_a_model_needs(
    core_alone: Run, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    attempt = core_alone("armnn", "run", path)
    assert attempt.returncode != 0
    assert "armnn-core[onnx]" in attempt.stderr
    assert "Traceback" not in attempt.stderr


def test_the_core_alone_builds_networks(core_alone: Run) -> None:
    code = (
        "import armnn; net = armnn.Network('n');"
        "x = net.add_input('x', armnn.TensorInfo((2, 3), armnn.DataType.FLOAT32));"
        "print(net.add_addition(x, x).info.shape)"
    )
    attempt = core_alone("python", "-c", code)
    assert attempt.stdout.strip() == "(2, 3)", attempt.stderr


def test_an_installed_backend_is_listed_with_its_origin(core_with_ref_and_onnx: Run) -> None:
    listing = core_with_ref_and_onnx("armnn", "backends", "--json")
    (backend,) = json.loads(listing.stdout)
    assert backend["id"] == "CpuRef"
    assert backend["distribution"] == "armnn-backend-ref"


def test_the_environments_are_consistent(core_alone: Run, core_with_ref_and_onnx: Run) -> None:
    for run in (core_alone, core_with_ref_and_onnx):
        check = run("python", "-m", "pip", "check")
        assert check.returncode == 0, check.stdout


def test_the_demo_tells_which_way_the_page_is_turned(
    core_with_ref_and_onnx: Run, model: Callable[[str], Path], page: Path
) -> None:
    answer = core_with_ref_and_onnx(
        "armnn", "run", model("page_orientation"), "--input", f"x={page}", "--report", "--top-k=1"
    )
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^ *class +label +score *$", answer.stdout, re.MULTILINE)
    assert re.search(r"^ *1 +90 +0\.9\d+ *$", answer.stdout, re.MULTILINE)
    assert re.search(r"^ *Softmax\.0 +Softmax +CpuRef *$", answer.stdout, re.MULTILINE)


def test_the_module_is_the_command(core_with_ref_and_onnx: Run) -> None:
    command = core_with_ref_and_onnx("armnn", "--version")
    module = core_with_ref_and_onnx("python", "-m", "armnn", "--version")
    assert command.stdout == module.stdout
    assert command.stdout.startswith("armnn-core ")
