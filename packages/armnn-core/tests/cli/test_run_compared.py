# SPDX-License-Identifier: MIT
"""``armnn run`` compared with stored outputs and other backends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn.cli.main import main
from armnn.errors import MemoryImportError
from armnn.runtime import LoadedNetwork

GIVEN = ("--input", "x=1,2,3,4")
RIGHT = np.float32([[3, 5, 7, 9]])


@pytest.fixture
def differing(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function for an ``armnn run`` that fails."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["run", *arguments, "--json"]) == 1
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_stored_outputs_that_agree(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    np.save(toy / "y.npy", RIGHT + np.float32(0.005))  # the range is 6
    np.savez(toy / "all.npz", out_x=RIGHT)
    for source in ("out_x=y.npy", "y.npy", "made:0=y.npy", "all.npz"):
        (found,) = document(model(), *GIVEN, "--compare-output", source)["comparisons"]
        assert (found["source"], found["agrees"]) == ("stored outputs", True)


def test_the_first_number_that_differs_is_shown(
    differing: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    toy: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(toy / "y.npy", np.float32([[3, 5, 7.5, np.nan]]))
    options = (model(), *GIVEN, "--compare-output", "y.npy")
    (found,) = differing(*options)["comparisons"]
    (output,) = found["outputs"]
    assert output["first"] == [0, 2]
    assert (output["count"], output["got"], output["expected"]) == (2, 7.0, 7.5)
    assert main(["run", *options]) == 1
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Compared with stored outputs, within 0.001 of the range, 1 step")
    cells = lines[start + 4].split()
    assert cells[:2] == ["out_x", "differs"]
    assert lines[start + 4].endswith("2 of 4   [0, 2]   7, 7.5")
    assert main(["run", *options, "--tolerance", "0.2"]) == 1  # NaN is never near


def test_the_tolerances_are_options(
    document: Callable[..., dict[str, Any]],
    differing: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    toy: Path,
) -> None:
    np.save(toy / "y.npy", RIGHT + np.float32([0, 0, 0, 0.5]))
    differing(model(), *GIVEN, "--compare-output", "y.npy")
    document("model.toy", *GIVEN, "--compare-output", "y.npy", "--tolerance", "0.1")
    quantized = model({"x": [[1, 4], "QAsymmS8", 1.0, 0]})
    np.save(toy / "q.npy", np.int8([[3, 5, 7, 12]]))
    differing(quantized, *GIVEN, "--compare-output", "q.npy")
    document(quantized, *GIVEN, "--compare-output", "q.npy", "--step-tolerance", "3")


def test_other_shapes_and_types_differ(
    differing: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    np.save(toy / "y.npy", RIGHT[0])
    np.save(toy / "d.npy", RIGHT.astype(np.float64))
    for name, problem in (
        ("y.npy", "another shape: got [1,4], expected [4]"),
        ("d.npy", "got float32, expected float64"),
    ):
        (found,) = differing(model(), *GIVEN, "--compare-output", name)["comparisons"]
        assert found["outputs"][0]["problem"] == problem
    assert main(["run", "model.toy", *GIVEN, "--compare-output", "y.npy"]) == 1


def test_several_outputs_are_compared_with_one_archive(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    np.savez(toy / "all.npz", out_z=np.ones((1, 4), np.float32), out_x=RIGHT)
    given = (*GIVEN, "--input", "z=zeros", "--compare-output", "all.npz")
    (found,) = document(path, *given)["comparisons"]
    assert [output["name"] for output in found["outputs"]] == ["out_x", "out_z"]


def test_the_same_model_on_other_backends(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    options = ("--backends", "Toy", "--compare-output-with-backend", "Half,Toy")
    (found,) = document(model(), *options)["comparisons"]
    assert (found["source"], found["agrees"]) == ("Half, Toy", True)
    assert found["outputs"][0]["total"] == 4


def test_a_run_may_take_no_longer_than_the_threshold(
    differing: Callable[..., dict[str, Any]],
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    latency = differing(model(), "--threshold-time", "0")["latency"]
    assert (latency["threshold_ms"], latency["exceeds_threshold"]) == (0, True)
    assert latency["max_ms"] > 0
    assert document("model.toy", "--threshold-time", "1e6")["latency"]["exceeds_threshold"] is False
    assert main(["run", "model.toy", "--threshold-time", "0"]) == 1
    assert " ms, expected 0 ms\n" in capsys.readouterr().out


def test_several_threads_run_at_once(
    document: Callable[..., dict[str, Any]], text: Callable[..., str], model: Callable[..., str]
) -> None:
    options = ("--concurrent", "3", "--iterations", "4", "--warmup", "2")
    found = document(model(), *GIVEN, *options)
    latency = found["latency"]
    assert (latency["iterations"], latency["concurrent"], latency["warmup"]) == (12, 3, 2)
    assert latency["runs_per_second"] > 0
    assert found["outputs"][0]["values"] == RIGHT.tolist()
    assert "(12 runs, 3 at once, " in text("model.toy", *options)


def test_inputs_are_imported_where_their_memory_allows_it(
    document: Callable[..., dict[str, Any]],
    text: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
) -> None:
    options = ("--import-inputs-if-aligned", "--iterations", "3")
    found = document(model(), *GIVEN, *options)
    assert found["latency"]["imports"] == "inputs are imported"
    assert found["outputs"][0]["values"] == RIGHT.tolist()
    assert "imports" not in document("model.toy")["latency"]
    folder = toy / "sets"
    folder.mkdir()
    for number in range(2):
        np.save(folder / f"{number}.npy", np.full((1, 4), number, np.float32))
    sets = document("model.toy", "--input", "sets", *options)["sets"]
    assert [each["outputs"][0]["values"] for each in sets] == [[[1] * 4], [[3] * 4]]
    assert "Memory: inputs are " in text("model.toy", *options)


def test_inputs_that_cannot_be_imported_are_copied_with_the_reason(
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryImportError("not aligned to 64 bytes")

    monkeypatch.setattr(LoadedNetwork, "import_inputs", refuse)
    found = document(model(), *GIVEN, "--import-inputs-if-aligned")
    assert found["latency"]["imports"] == "inputs are copied: not aligned to 64 bytes"
    assert found["outputs"][0]["values"] == RIGHT.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare-output", "out_y=y.npy"], "'out_y', expected one of 'out_x', 'made:0'"),
        (["--compare-output", "y.txt"], "'y.txt' for 'out_x', expected a file ending in .npy"),
        (["--compare-output", "none.npy"], "cannot read 'none.npy': No such file"),
        (["--compare-with", "onnxruntime"], "onnxruntime cannot run 'model.toy': expected a file"),
        (["--compare-output-with-backend", "Npu"], "There is no backend 'Npu'"),
        (["--tolerance", "-1"], "the tolerance of_range"),
        (["--import-inputs-if-aligned", "--profile"], "is for one thread without profile"),
        (["--import-inputs-if-aligned", "--concurrent", "2"], "is for one thread without profile"),
    ],
)
def test_what_cannot_be_compared_gets_a_clear_error(
    error: Callable[..., str], model: Callable[..., str], arguments: list[str], message: str
) -> None:
    assert message in error(model(), *arguments)
