# SPDX-License-Identifier: MIT
"""CpuRef's recorded mutants apply, and the tool catches them.

``nox -s kit_mutants`` runs all of them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import kit_mutants
import pytest

MUTANTS = kit_mutants.read_mutants()


def test_there_are_enough_mutants_and_each_applies() -> None:
    assert len(MUTANTS) >= 200
    assert len({(m.layer, m.file, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)
    assert kit_mutants.inapplicable(MUTANTS) == []


def test_few_survivors_are_recorded_each_with_its_reason() -> None:
    survivors = [mutant for mutant in MUTANTS if mutant.survives]
    assert len(survivors) <= (1 - kit_mutants.REQUIRED_SHARE) * len(MUTANTS)


def test_a_mutant_that_no_longer_applies_is_an_error() -> None:
    stale = replace(MUTANTS[0], old="no such text")
    (problem,) = kit_mutants.inapplicable([stale])
    assert "'no such text' occurs 0 times, expected once" in problem
    idle = replace(MUTANTS[0], new=MUTANTS[0].old)
    assert kit_mutants.inapplicable([idle])[0].endswith("nothing is changed")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return shutil.copytree(kit_mutants.SOURCES, tmp_path / "src")


def test_a_broken_kernel_is_caught_and_mended_afterwards(scratch: Path) -> None:
    mutant = kit_mutants.Mutant(
        layer="Softmax",
        file="ops/normalization.py",
        old="y = np.exp(_shifted(x, d.beta, d.axis))",
        new="y = np.exp2(_shifted(x, d.beta, d.axis))",
        what="the wrong base",
    )
    assert kit_mutants.is_caught(mutant, scratch)
    assert not kit_mutants.run_kit("Softmax", scratch)


def test_a_kernel_that_cannot_be_imported_is_an_error_and_no_success(scratch: Path) -> None:
    mutant = replace(MUTANTS[0], old="import numpy as np\n", new="import numpy as np, nothing\n")
    with pytest.raises(RuntimeError, match=r"no verdict: .*No module named 'nothing'"):
        kit_mutants.is_caught(mutant, scratch)


@pytest.mark.parametrize(
    ("survives", "caught", "is_good", "text"),
    [
        ("", True, True, "1 of 1 mutants caught: 100.0%"),
        ("", False, False, "survived Softmax"),
        ("it is faster", False, False, "(recorded: it is faster)"),
        ("it is faster", True, False, "1 of them are not as kit_mutants.toml says"),
    ],
)
def test_the_report_names_survivors_and_surprises(
    capsys: pytest.CaptureFixture[str], survives: str, caught: bool, is_good: bool, text: str
) -> None:
    mutant = kit_mutants.Mutant("Softmax", "ops/x.py", "a", "b", "is wrong", survives)
    assert kit_mutants.report([mutant], [caught]) is is_good
    assert text in capsys.readouterr().out


def test_some_survivors_with_a_reason_are_accepted() -> None:
    sound = kit_mutants.Mutant("Softmax", "ops/x.py", "a", "b", "is wrong")
    known = replace(sound, survives="it is faster")
    assert kit_mutants.report([*[sound] * 19, known], [*[True] * 19, False])
    assert not kit_mutants.report([*[sound] * 18, known], [*[True] * 18, False])
