# SPDX-License-Identifier: MIT
"""``armnn run``: second names, and the part of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from armnn.cli.main import main


def test_inputs_and_outputs_have_second_names(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    path = model({"x": [[None, 2], "Float32"]})
    options = ("--shape", "tensor:0=2x2", "--input", "tensor:0=1,2,3,4")
    found = document(path, *options, "--output", "made:0=y.npy")
    assert [given["name"] for given in found["inputs"]] == ["x"]
    assert found["outputs"][0]["values"] == [[3, 5], [7, 9]]
    np.testing.assert_array_equal(np.load(toy / "y.npy"), [[3, 5], [7, 9]])


def test_a_misspelt_second_name_is_suggested(
    error: Callable[..., str], model: Callable[..., str]
) -> None:
    message = error(model(), "--input", "tensr:0=zeros")
    assert "expected one of 'x', 'tensor:0'; did you mean 'tensor:0'?" in message


def test_the_parser_is_told_which_part_of_a_file_to_read(
    document: Callable[..., dict[str, Any]], model: Callable[..., str]
) -> None:
    inputs = {"x": [[1, 4], "Float32"], "serve": [[1, 4], "Float32"]}
    found = document(model(inputs), "--signature", "serve", "--input", "tensor:0=zeros")
    assert [given["source"] for given in found["inputs"]] == ["random", "zeros"]
    assert main(["inspect", "model.toy", "--subgraph", "2", "--shape", "tensor:0=1x4"]) == 0
