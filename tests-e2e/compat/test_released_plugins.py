# SPDX-License-Identifier: MIT
"""The checkout's core works with released loader and CpuRef."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import install
from fixtures import FROZEN
from matrix import BACKENDS, Cell, Matrix, cells, outcome

PLUGINS = ("armnn_backend_ref-1.1.0", "armnn_dynamic_loader-1.0.0")
NATIVE = [
    cell
    for cell in cells()
    if (cell.core, cell.door) == ("checkout", "native") and cell.backend in BACKENDS
]


@pytest.fixture(scope="module")
def core(matrix: Matrix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkout's core with plug-ins that predate it."""
    ours = [
        wheel
        for wheel in matrix.wheels_of_core("checkout")
        if wheel.name.startswith(("armnn_core-", "armnn_backend_api-"))
    ]
    theirs = [FROZEN / f"{stem}-py3-none-any.whl" for stem in PLUGINS]
    return install([*ours, *theirs], tmp_path_factory.mktemp("released-plugins"))


@pytest.mark.parametrize("cell", NATIVE, ids=lambda cell: f"API {cell.backend}")
def test_a_cell_does_what_is_written_by_the_released_loader(
    matrix: Matrix, core: Path, cell: Cell
) -> None:
    assert outcome(matrix.observed(cell, [core])) == cell.expected
