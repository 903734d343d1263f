# SPDX-License-Identifier: MIT
"""The cells are complete, follow the rule, and can fail."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from check_pair import RIGHT, main, problems
from matrix import (
    BACKENDS,
    CORES,
    DESCRIPTION,
    REFUSED,
    RELEASES,
    Cell,
    Matrix,
    cells,
    needed_by,
    outcome,
    version,
)


def of(*wanted: str) -> Cell:
    (found,) = (cell for cell in cells() if (cell.core, cell.backend, cell.door) == wanted)
    return found


@pytest.mark.parametrize(("table", "backends"), [("cells", BACKENDS), ("released_cells", RELEASES)])
def test_there_is_a_cell_for_each_core_and_backend(table: str, backends: dict[str, Any]) -> None:
    assert [*DESCRIPTION[table]] == [*CORES]
    assert all([*row] == [*backends] for row in DESCRIPTION[table].values())


@pytest.mark.parametrize(("core", "backend"), {(cell.core, cell.backend): None for cell in cells()})
def test_the_rule_of_arm_nn_gives_the_written_outcome(core: str, backend: str) -> None:
    provided, needed = version(CORES[core]["api"]), needed_by(backend)
    works = needed[0] == provided[0] and needed[1] <= provided[1]
    written = of(core, backend, "python").outcome
    refused = "too old" if needed < provided else "too new"
    assert written not in REFUSED if works else written == refused


def test_the_checkout_is_released_or_younger_than_what_is() -> None:
    releases = DESCRIPTION["releases"].items()
    cores = [row["api"] for name, row in releases if name.startswith("armnn-core ")]
    released = [name for name, row in CORES.items() if row["is"] == "released"]
    assert released == list(dict.fromkeys(cores))
    assert version(CORES["checkout"]["api"]) >= version(released[-1])


# What a cell may print other than what is right, and what is then said of it.
RUNS = {
    "api": "1.1",
    "layer": {"result": RIGHT["Convolution2d"], "backend": "Compat", "reason": ""},
    "field": {"result": 2, "backend": "Compat", "reason": ""},
}
WRONG = {
    "what happens": {"refusal": "It is not wanted."},
    "api": {"api": "1.0"},
    "layer": {"layer": {**RUNS["layer"], "result": [[[[0]]]]}},
    "field": {"field": {**RUNS["field"], "result": 1}},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_cell_in_which_something_else_happens_is_named(name: str) -> None:
    cell = of("1.1", "1.1", "python")
    assert problems(cell, RUNS) == []
    found = problems(cell, {**RUNS, **WRONG[name]})
    assert [problem.partition(":")[0] for problem in found] == [name]


def test_a_refused_backend_that_leaves_no_answer_is_named() -> None:
    cell = of("1.0", "1.1", "python")
    found = {"api": "1.0", "refusal": cell.expected}
    assert [problem.partition(":")[0] for problem in problems(cell, found)] == ["instead"]


def test_a_pair_that_compat_toml_lacks_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("1.0", "7.8") == 1
    assert capsys.readouterr().out == "compat.toml has no cell of core 1.0 and backend 7.8\n"


# What is switched off, where, and a cell that then turns red.
RULES = {
    "same major, no younger minor": (
        "armnn_backend_api/version.py",
        r"return backend\.major == core\.major and .*",
        "return True",
        of("checkout", "1.4", "native"),
    ),
    "an older backend is not offered what is younger": (
        "armnn/optimizer/participants.py",
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
    found = matrix.observed(cell, [core, matrix.cpuref("checkout")])
    assert outcome(found) != cell.expected
