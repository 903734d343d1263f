# SPDX-License-Identifier: MIT
"""Scripts: length, the runs they make, what they refuse."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, OptimizerOptions, TensorInfo
from armnn.errors import NotInstalledError
from armnn_tools.debugging import ErrorKind, Failure, Figures, LayerFinding
from armnn_tools.debugging.reducing.failure import Script, write_arrays, write_model
from armnn_tools.debugging.reducing.worker import Job

JOB = Job("compare", ["CpuRef"], "CpuRef")
DATA = np.array([[1.0, 2.0, -3.0]], np.float32)


def failure(kind: ErrorKind = ErrorKind.VALUES, **figures: Any) -> Failure:
    found = Figures(kind, 9.0, **{"unit": "of the largest", **figures})
    return Failure("wrong layer", finding=LayerFinding(("a",), ("Floor",), "CpuRef", found, 3, 60))


@pytest.fixture
def network() -> Network:
    network = Network("abs")
    x = network.add_input("x", TensorInfo((1, 3)))
    network.add_output("y", network.add_activation(x, function="Abs"))
    return network


def script_of(
    script: Script, network: Network, folder: Path, found: Failure, expected: Any, job: Job = JOB
) -> Path:
    model = folder / "small.armnn"
    write_model(network, model)
    write_arrays(folder / "small.inputs.npz", {"x": DATA})
    write_arrays(folder / "small.before.npz", {"x": -DATA})
    write_arrays(folder / "small.expected.npz", {"y": expected})
    path = folder / "small.py"
    path.write_text(script.text(model, job, found, {"y": expected}))
    return path


@pytest.mark.parametrize("script", [Script(), Script(disturbs=True), Script(5, disturbs=True)])
@pytest.mark.parametrize(
    "found",
    [failure(largest=0.1, allowed=0.01), failure(largest=0.01, rms=0.01, allowed=0.02)],
    ids=["largest", "rms"],
)
def test_a_script_of_15_lines_passes_with_right_outputs_only(
    script: Script, found: Failure, network: Network, tmp_path: Path
) -> None:
    path = script_of(script, network, tmp_path, found, np.abs(DATA))
    assert len(path.read_text().splitlines()) <= 15
    runpy.run_path(str(path))
    path = script_of(script, network, tmp_path, found, np.abs(DATA) * np.float32(1.1))
    with pytest.raises(AssertionError, match="y"):
        runpy.run_path(str(path))


@pytest.mark.parametrize(("expected", "passes"), [(3.001, True), (np.nan, False), (4.0, False)])
def test_beside_nan_small_errors_do_not_count(
    expected: float, passes: bool, network: Network, tmp_path: Path
) -> None:
    right = np.array([[1, 2, expected]], np.float32)
    path = script_of(Script(), network, tmp_path, failure(ErrorKind.NAN, unit=""), right)
    if passes:
        runpy.run_path(str(path))
    else:
        with pytest.raises(AssertionError):
            runpy.run_path(str(path))


def test_a_flaky_failure_is_run_often_enough() -> None:
    first, second = Script.all_for(failure())  # 3 of 60 runs
    assert first == Script(240)
    assert (1 - 3 / 60) ** first.runs < 1e-5
    assert second == Script(240, disturbs=True)
    assert Script.all_for(Failure("hang"))[0] == Script()


def test_options_are_part_of_the_script(network: Network, tmp_path: Path) -> None:
    job = Job(
        "compare",
        ["CpuRef"],
        "CpuRef",
        OptimizerOptions(rewrite=False, strict=True),
        CreationOptions(enable_dynamic_backends=False),
    )
    path = script_of(Script(), network, tmp_path, failure(largest=1.0), np.abs(DATA), job)
    (line,) = [each for each in path.read_text().splitlines() if each.startswith("model = ")]
    creation, _, options = line.partition(".load_model(")
    assert creation.endswith("Runtime(armnn.CreationOptions(enable_dynamic_backends=False))")
    assert options == "folder / \"small.armnn\", ['CpuRef'], strict=True, rewrite=False)"
    runpy.run_path(str(path))


def test_a_title_cannot_break_the_script(network: Network, tmp_path: Path) -> None:
    found = Failure("error", ('"""', "\\\nimport os\n" * 20))
    path = script_of(Script(), network, tmp_path, found, np.abs(DATA))
    assert len(path.read_text().splitlines()) <= 15
    runpy.run_path(str(path))


def test_bfloat16_is_written_as_float32(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.npz", {"x": np.array([1.5, 2], ml_dtypes.bfloat16)})
    read = np.load(tmp_path / "a.npz")["x"]
    assert read.dtype == np.float32
    assert read.tolist() == [1.5, 2.0]


def test_the_suffix_says_the_format(network: Network, tmp_path: Path) -> None:
    write_model(network, tmp_path / "a.armnn")
    assert armnn.parse(tmp_path / "a.armnn").outputs[0].name == "y"
    with pytest.raises(NotInstalledError, match=r"Cannot export a network as \.odd"):
        write_model(network, tmp_path / "a.odd")
