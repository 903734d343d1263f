# SPDX-License-Identifier: MIT
"""Every cell of the matrix does what compat.toml says, and a broken rule turns cells red."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from matrix import BACKENDS, CELLS, CORES, DESCRIPTION, Matrix, outcome, version

# What cell.py computes. Windows of 2 x 2 over a picture of 1 to 9 with a row and a column of zeros
# above and before it, by hand: 4*1, 3*1+4*2, ...; in the middle 1*1+2*2+3*4+4*5 = 37.
CORRELATION = [[[[4, 11, 18], [18, 37, 47], [36, 67, 77]]]]
LAST_OF_EQUALS = 2
EXPECTED = ("outcome", "field", "message")


def title(cell: dict[str, Any]) -> str:
    return f"core {cell['core']}, API {cell['backend']}, {cell['door']}"


def of(core: str, backend: str, door: str) -> dict[str, Any]:
    (found,) = (
        cell
        for cell in CELLS
        if (cell["core"], cell["backend"], cell["door"]) == (core, backend, door)
    )
    return found


def expected(cell: dict[str, Any]) -> dict[str, Any]:
    return {name: cell[name] for name in EXPECTED if name in cell}


@pytest.fixture(scope="session")
def seen(matrix: Matrix) -> dict[str, dict[str, Any]]:
    """What happens in each cell."""
    return dict(zip(map(title, CELLS), matrix.all_observed(CELLS), strict=True))


def test_there_is_a_cell_for_each_core_backend_and_door() -> None:
    pairs = [
        f"core {core}, API {backend}, {door}"
        for core in CORES
        for backend in BACKENDS
        for door in ("python", "native")
    ]
    assert [title(cell) for cell in CELLS] == pairs


@pytest.mark.parametrize("cell", CELLS, ids=title)
def test_a_cell_does_what_is_written(seen: dict[str, dict[str, Any]], cell: dict[str, Any]) -> None:
    found = seen[title(cell)]
    assert outcome(found) == expected(cell)
    assert found["api"] == CORES[cell["core"]]["api"]
    if cell["outcome"] == "refused":
        assert found["instead"] == {"result": CORRELATION, "backend": "CpuRef", "reason": ""}
        return
    assert found["convolution"] == {"result": CORRELATION, "backend": "Compat", "reason": ""}
    if "field" in found:
        assert found["field"]["result"] == LAST_OF_EQUALS
        assert found["field"]["backend"] == ("Compat" if cell["field"] == "offered" else "CpuRef")


@pytest.mark.parametrize("cell", CELLS, ids=title)
def test_the_rule_of_arm_nn_gives_the_written_outcome(cell: dict[str, Any]) -> None:
    provided = version(CORES[cell["core"]]["api"])
    needed = version(BACKENDS[cell["backend"]]["declares"])
    works = needed[0] == provided[0] and needed[1] <= provided[1]
    assert (cell["outcome"] == "runs") is works


def test_the_checkout_is_released_or_younger_than_what_is() -> None:
    cores = [row for row in DESCRIPTION["release"] if row["package"] == "armnn-core"]
    released = [row["name"] for row in CORES.values() if row["is"] == "released"]
    assert released == list(dict.fromkeys(row["api"] for row in cores))
    assert version(CORES["checkout"]["api"]) >= version(released[-1])


# What is switched off, where, and a cell that then turns red.
RULES = {
    "same major, no younger minor": (
        "armnn_backend_api/version.py",
        r"return backend\.major == core\.major and .*",
        "return True",
        of("checkout", "1.2", "native"),
    ),
    "an older backend is not offered what is younger": (
        "armnn/optimizer/candidates.py",
        r"if \(version\.major, version\.minor\) < need\.version:",
        "if False:",
        of("checkout", "1.0", "python"),
    ),
    "the declared range is read before anything is imported": (
        "armnn/backends/discovery.py",
        r"if declared is not None and not declared\.\w+\(.*\):",
        "if False:",
        of("checkout", "2.0", "python"),
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_switched_off_turns_a_cell_red(
    matrix: Matrix, tmp_path: Path, rule: str
) -> None:
    name, pattern, replacement, cell = RULES[rule]
    core = tmp_path / "core"
    shutil.copytree(matrix.core("checkout"), core)
    text, count = re.subn(pattern, replacement, (core / name).read_text())
    assert count == 1
    (core / name).write_text(text)
    assert outcome(matrix.observed(cell, core)) != expected(cell)
