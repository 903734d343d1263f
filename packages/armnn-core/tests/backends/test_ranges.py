# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools

import pytest
from packaging.specifiers import SpecifierSet

from armnn.backends.discovery import declared_range

VERSIONS = ("0.9", "1", "1.0", "1.0.0", "1.0.1", "1.2", "1.10", "2", "2.0.0", "2.0.1", "10.0")
RANGES = [
    f"{lower},{upper}"
    for lower, upper in itertools.product((">=1.0", ">1", ">=1.2"), ("<2", "<=2.0", "<1.10.0"))
]


@pytest.mark.parametrize("text", [*RANGES, "~=1.0", "==1.*", "!=1.2,>=1"])
def test_a_range_admits_what_packaging_admits(text: str) -> None:
    declared = declared_range([f"the-contract{text}", "other>=7"], "the-contract")
    assert declared is not None
    for version in VERSIONS:
        assert declared.admits(version) == SpecifierSet(text).contains(version), version


@pytest.mark.parametrize(
    ("requirements", "spelled"),
    [
        (["c<2,>=1.0"], ">=1.0,<2"),
        (["c <2 , >= 1.0"], ">=1.0,<2"),
        (["C>=1", "c<1.5"], ">=1,<1.5"),
        (["c (>=1.0)"], ">=1.0"),
        (["c[extra]>=1.0,!=1.2"], ">=1.0,!=1.2"),
        (["c"], ""),
        (["c>=2; extra == 'x'", "c>=two", "c-d>=3", "?"], None),
        ([], None),
    ],
)
def test_the_clauses_of_all_requirements_that_apply_are_joined(
    requirements: list[str], spelled: str | None
) -> None:
    declared = declared_range(requirements, "c")
    assert (None if declared is None else str(declared)) == spelled


def test_a_range_that_begins_later_says_so() -> None:
    for text, version in (("c>=1.3,<2", "1.2"), ("c~=2.0", "1.9"), ("c==3.*", "2.9")):
        declared = declared_range([text], "c")
        assert declared is not None
        assert declared.begins_after(version)
        assert not declared.begins_after("3.0")
