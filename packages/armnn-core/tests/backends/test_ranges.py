# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.backends.discovery import begins_after, declared_range, range_text


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
    assert (None if declared is None else range_text(declared)) == spelled


def test_a_range_that_begins_later_says_so() -> None:
    for text, version in (("c>=1.3,<2", "1.2"), ("c~=2.0", "1.9"), ("c==3.*", "2.9")):
        declared = declared_range([text], "c")
        assert declared is not None
        assert begins_after(declared, version)
        assert not begins_after(declared, "3.0")
