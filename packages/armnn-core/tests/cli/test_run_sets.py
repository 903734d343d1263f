# SPDX-License-Identifier: MIT
"""``armnn run`` on several sets of inputs, and real values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn.cli.main import main


@pytest.fixture
def folder(toy: Path) -> Path:
    """Make a folder with three inputs."""
    (toy / "in=puts").mkdir()
    for number, name in enumerate(("c", "a", "b")):
        np.save(toy / "in=puts" / f"{name}.npy", np.full((1, 4), number, np.float32))
    (toy / "in=puts" / "notes.txt").write_text("no input")
    return toy / "in=puts"


# Of the files a, b and c, which hold 1, 2 and 0.
RIGHT = [[[3.0] * 4], [[5.0] * 4], [[1.0] * 4]]


@pytest.mark.parametrize("source", ["x=in=puts", "tensor:0=in=puts", "in=puts"])
def test_a_folder_has_a_set_in_each_file(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], folder: Path, source: str
) -> None:
    found = document(model(), "--input", source, "--iterations", "2", "--output", "y.npy")
    assert [each["inputs"][0]["source"] for each in found["sets"]] == [
        f"in=puts/{name}.npy" for name in "abc"
    ]
    assert [each["outputs"][0]["values"] for each in found["sets"]] == RIGHT
    assert found["files"] == {f"output out_x of set {n}": f"y_{n}.npy" for n in range(3)}
    for number, right in enumerate(RIGHT):
        np.testing.assert_array_equal(np.load(folder.parent / f"y_{number}.npy"), right)
    assert found["latency"]["iterations"] == 6
    assert "inputs" not in found


def test_the_sets_are_numbered_in_text(
    text: Callable[..., str], model: Callable[..., str], folder: Path
) -> None:
    assert folder.is_dir()
    lines = text(model(), "--input", "in=puts").splitlines()
    starts = [lines.index(f"Set {number}:") for number in range(3)]
    assert starts == sorted(starts)
    assert lines[starts[1] + 1].endswith("from in=puts/b.npy")
    assert lines[starts[1] + 3] == "[[5. 5. 5. 5.]]"


def test_other_inputs_are_the_same_in_all_sets(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], folder: Path
) -> None:
    assert folder.is_dir()
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    found = document(path, "--input", "x=in=puts", "--input", "z=1,2,3,4")
    others = [each["outputs"][1]["values"] for each in found["sets"]]
    assert others == [[[3, 5, 7, 9]]] * 3


def test_each_set_is_compared_with_its_stored_output(
    document: Callable[..., dict[str, Any]],
    model: Callable[..., str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored = folder.parent / "stored"
    stored.mkdir()
    for number, right in enumerate(RIGHT):
        np.save(stored / f"{number}.npy", np.float32(right))
    options = ("--input", "in=puts", "--compare-output", "out_x=stored")
    found = document(model(), *options, "--compare-output-with-backend", "Half,Toy")
    for each in found["sets"]:
        assert [one["agrees"] for one in each["comparisons"]] == [True, True]
    np.save(stored / "1.npy", np.float32(RIGHT[0]))
    assert main(["run", "model.toy", *options, "--json"]) == 1
    sets = json.loads(capsys.readouterr().out)["sets"]
    assert [each["comparisons"][0]["agrees"] for each in sets] == [True, False, True]


def test_folders_that_do_not_fit_get_a_clear_error(
    error: Callable[..., str], model: Callable[..., str], folder: Path
) -> None:
    (folder.parent / "empty").mkdir()
    (folder.parent / "one").mkdir()
    np.save(folder.parent / "one" / "z.npy", np.zeros((1, 4), np.float32))
    path = model({name: [[1, 4], "Float32"] for name in ("x", "z")})
    message = error(path, "--input", "x=empty")
    assert "--input got the folder 'empty', which has no file ending in .npy" in message
    message = error(path, "--input", "x=in=puts", "--input", "z=one")
    assert "different numbers of files: 'x=in=puts' with 3, 'z=one' with 1" in message
    message = error(path, "--input", "x=in=puts", "--compare-output", "out_x=one")
    assert "--compare-output got 1 file for an output, expected 3: one for each set" in message
    message = error(path, "--compare-output", "out_x=in=puts")
    assert "--compare-output got 3 files for an output, expected 1" in message


def test_real_values_are_quantised_and_back(
    document: Callable[..., dict[str, Any]],
    error: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
) -> None:
    path = model({"x": [[1, 3], "QAsymmU8", 0.5, 10]})
    np.save(toy / "x.npy", np.float32([[0, 1, -5]]))
    message = error(path, "--input", "x.npy")
    assert (
        "got float32, expected uint8, which cannot hold all of its values; --quantize-" in message
    )
    assert "got float64, expected uint8, which cannot hold all of its values; --quant" in error(
        path, "--input", "x=0,1,-5.0"
    )
    options = ("--input", "x.npy", "--quantize-input", "--output", "y.npy")
    document(path, *options)
    # Stored are 10, 12 and 0; the layers compute 2 * x + 1 on what is stored.
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.uint8([[21, 25, 1]]))
    document(path, *options, "--dequantize-output")
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.float32([[5.5, 7.5, -4.5]]))
    document(path, "--input", "x=0,1,-5.0", *options[2:])
    np.testing.assert_array_equal(np.load(toy / "y.npy"), np.uint8([[21, 25, 1]]))
