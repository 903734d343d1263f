# SPDX-License-Identifier: MIT
"""Recorded faults of C backends apply and are caught.

``nox -s kit_mutants_native`` runs all of them.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import native_mutants
import pytest

from armnn_backend_api import get_include

MUTANTS = native_mutants.read_mutants()


def named(what: str) -> native_mutants.Mutant:
    (found,) = (m for m in MUTANTS if m.what == what and m.source == "mutated.c")
    return found


def test_there_are_enough_mutants_and_each_applies() -> None:
    assert len(MUTANTS) >= 60
    assert len({str(mutant) for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.source for mutant in MUTANTS} == set(native_mutants.SOURCES)
    assert native_mutants.inapplicable(MUTANTS) == []
    survivors = [mutant for mutant in MUTANTS if mutant.survives]
    assert len(survivors) <= (1 - native_mutants.REQUIRED_SHARE) * len(MUTANTS)


def test_a_mutant_that_no_longer_applies_is_an_error() -> None:
    stale = replace(MUTANTS[0], old="no such text")
    assert "occurs 0 times, expected once" in native_mutants.inapplicable([stale])[0]
    idle = replace(MUTANTS[0], new=MUTANTS[0].old, also=())
    assert native_mutants.inapplicable([idle])[0].endswith("nothing is changed")


def test_the_backend_of_the_mutants_compiles_without_a_warning(tmp_path: Path) -> None:
    source = native_mutants.SOURCES["mutated.c"]
    library = tmp_path / "Acme_MutatedNpu_backend.so"
    flags = [flag for flag in native_mutants.FLAGS if flag != "-w"]
    command = ["gcc", *flags, "-Wall", "-Wextra", "-Werror", f"-I{get_include()}", "-o"]
    subprocess.run([*command, str(library), str(source), "-lm"], check=True)


def test_a_fault_is_named_by_a_test() -> None:
    found = native_mutants.run_mutant(named("beta is read as an integer"))
    assert found == "test_what_is_required_is_claimed[Softmax-Float32]"


def test_a_mutant_that_does_not_compile_has_no_verdict() -> None:
    broken = replace(named("a bias is forgotten"), new="no C at all")
    with pytest.raises(RuntimeError, match="does not compile"):
        native_mutants.run_mutant(broken)


@pytest.mark.parametrize(
    ("survives", "caught", "is_good", "words"),
    [
        ("", "test_x", True, "caught by test_x"),
        ("", "", False, "1 of them are not as native_mutants.toml says"),
        ("it is faster", "", False, "survived  (recorded: it is faster)"),
        ("it is faster", "test_x", False, "1 of them are not as native_mutants.toml says"),
    ],
)
def test_the_report_is_good_if_all_is_as_recorded(
    capsys: pytest.CaptureFixture[str], survives: str, caught: str, is_good: bool, words: str
) -> None:
    mutant = replace(MUTANTS[0], survives=survives)
    assert native_mutants.report([mutant], [caught]) is is_good
    assert words in capsys.readouterr().out
