# SPDX-License-Identifier: MIT
"""The kit on a shared library that takes no tensors in host memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_conformance.cases import cases_of
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.checks.correctness import CaseResult, check_case
from armnn_conformance.checks.hostile_host import check_hostile_host
from armnn_conformance.hostile.tricks import TRICKS
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import DEVICE_SOURCE

DEVICE = DEVICE_SOURCE.read_text(encoding="utf-8")
SUM = "values[at[2]][i] = values[at[0]][i] + values[at[1]][i];"
Build = Callable[[str], Path]


def play(library: Path, trick: str) -> None:
    library.parent.chmod(0o755)
    with Subject(str(library)) as subject:
        Checks(subject).run("hostile_graphs", {"trick": trick, "layers": ["Addition"]})


def test_a_device_passes_every_case_and_trick(build: Build) -> None:
    library = build(DEVICE)
    library.parent.chmod(0o755)
    with Subject(str(library)) as subject:
        outcomes = [check_case(subject, case) for case in cases_of("Addition")]
        checks = Checks(subject)
        checks.run("handles", {"layers": ["Addition"]})
    kinds = {each.result for each in outcomes}
    assert kinds == {CaseResult.PASSED, CaseResult.NOT_SUPPORTED}, outcomes
    check_hostile_host(str(library), ["Addition"])
    played = 0
    for trick in TRICKS:
        try:
            play(library, trick)
            played += 1
        except NotSupportedError:  # it stores nothing, for example
            continue
    assert played >= 5


def test_a_device_that_computes_wrongly_is_found_by_workload_and_host(build: Build) -> None:
    assert SUM in DEVICE
    library = build(DEVICE.replace(SUM, SUM.replace("+", "-")))
    library.parent.chmod(0o755)
    with Subject(str(library)) as subject:
        details = [check_case(subject, case).detail for case in cases_of("Addition")]
    assert any("the workload's output 0 is wrong" in each for each in details)
    with pytest.raises(NonconformityError, match=r"of output 0, of .*, differ"):
        play(library, "frees the graph after compile")
