# SPDX-License-Identifier: MIT
"""The recorded faults of backends apply, and the tool sees whether the kit catches them.

``nox -s kit_mutants`` runs all of them.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from armnn_backend_api import get_include
from tools.mutants import check

MUTANTS = check.read_mutants()
KERNELS = [mutant for mutant in MUTANTS if mutant.source == "CpuRef"]
NATIVE = [mutant for mutant in MUTANTS if mutant.source != "CpuRef"]


def named(what: str) -> check.Mutant:
    (found,) = (m for m in MUTANTS if m.what == what and m.source == "mutated.c")
    return found


def test_there_are_enough_mutants_and_each_applies() -> None:
    assert len(KERNELS) >= 200
    assert len(NATIVE) >= 60
    assert len({(m.layers, m.file, m.what, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)
    assert {mutant.source for mutant in MUTANTS} == set(check.SOURCES)
    assert check.inapplicable(MUTANTS) == []
    for group in (KERNELS, NATIVE):
        survivors = [mutant for mutant in group if mutant.survives]
        assert len(survivors) <= (1 - check.REQUIRED_SHARE) * len(group)


def test_a_mutant_that_no_longer_applies_is_an_error() -> None:
    stale = replace(MUTANTS[0], old="no such text")
    (problem,) = check.inapplicable([stale])
    assert "'no such text' occurs 0 times, expected once" in problem
    idle = replace(MUTANTS[0], new=MUTANTS[0].old)
    assert check.inapplicable([idle])[0].endswith("nothing is changed")


def test_the_backend_of_the_mutants_compiles_without_a_warning(tmp_path: Path) -> None:
    library = tmp_path / "Acme_MutatedNpu_backend.so"
    flags = [flag for flag in check.FLAGS if flag != "-w"]
    command = ["gcc", *flags, "-Wall", "-Wextra", "-Werror", f"-I{get_include()}", "-o"]
    subprocess.run([*command, str(library), str(check.SOURCES["mutated.c"]), "-lm"], check=True)


def test_a_broken_kernel_is_caught_and_a_sound_one_is_not() -> None:
    mutant = check.Mutant(
        "CpuRef",
        ("Softmax",),
        "the wrong base",
        "y = np.exp(_shifted(x, d.beta, d.axis))",
        "y = np.exp2(_shifted(x, d.beta, d.axis))",
        file="ops/normalization.py",
    )
    assert check.run_mutant(mutant).startswith("Softmax-")
    assert check.run_mutant(replace(mutant, new=mutant.old)) == ""


def test_a_kernel_that_cannot_be_imported_is_an_error_and_no_success() -> None:
    mutant = replace(MUTANTS[0], old="import numpy as np\n", new="import numpy as np, nothing\n")
    with pytest.raises(RuntimeError, match=r"no verdict: [^$]*No module named 'nothing'"):
        check.run_mutant(mutant)


def test_a_fault_in_c_is_named_by_a_test() -> None:
    found = check.run_mutant(named("beta is read as an integer"))
    assert found == "test_what_is_required_is_claimed[Softmax-Float32]"


def test_a_mutant_that_does_not_compile_has_no_verdict() -> None:
    broken = replace(named("a bias is forgotten"), new="no C at all")
    with pytest.raises(RuntimeError, match="does not compile"):
        check.run_mutant(broken)


@pytest.mark.parametrize(
    ("survives", "caught", "is_good", "words"),
    [
        ("", "test_x", True, "1 of 1 mutants caught: 100.0%"),
        ("", "", False, "1 of them are not as recorded"),
        ("it is faster", "", False, "survived  (recorded: it is faster)"),
        ("it is faster", "test_x", False, "caught by test_x  (recorded: it is faster)"),
    ],
)
def test_the_report_names_survivors_and_surprises(
    capsys: pytest.CaptureFixture[str], survives: str, caught: str, is_good: bool, words: str
) -> None:
    mutant = replace(MUTANTS[0], survives=survives)
    assert check.report([mutant], [caught]) is is_good
    assert words in capsys.readouterr().out


def test_some_survivors_with_a_reason_are_accepted() -> None:
    known = replace(MUTANTS[0], survives="it is faster")
    assert check.report([*[MUTANTS[0]] * 19, known], [*["test_x"] * 19, ""])
    assert not check.report([*[MUTANTS[0]] * 18, known], [*["test_x"] * 18, ""])
