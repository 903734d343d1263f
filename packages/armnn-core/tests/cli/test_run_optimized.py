# SPDX-License-Identifier: MIT
"""``armnn run`` with its intermediate tensors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.cli.main import main

if TYPE_CHECKING:
    import pytest

GIVEN = ("--input", "x=1025,1,2,3")


def test_intermediate_tensors_are_written(
    document: Callable[..., dict[str, Any]], model: Callable[..., str], toy: Path
) -> None:
    document(model(), *GIVEN, "--print-intermediate-layers-to-file", "shown")
    arrays = [np.load(file) for file in sorted((toy / "shown").rglob("*.npy"))]
    assert any(np.array_equal(array, [[2050, 2, 4, 6]]) for array in arrays)


def test_intermediate_tensors_are_shown_once_beside_the_document(
    model: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", model(), *GIVEN, "--print-intermediate-layers", "--json"]) == 0
    printed = capfd.readouterr()
    found = json.loads(printed.out)
    assert found["outputs"][0]["values"] == [[2051, 3, 5, 7]]
    assert found["latency"]["warmup"] == 0
    assert printed.err.count("double_x (0): float32[1, 4] from 2 to 2050") == 1
