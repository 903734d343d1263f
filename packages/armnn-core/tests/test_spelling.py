# SPDX-License-Identifier: MIT
"""What is suggested for a name that does not exist."""

from __future__ import annotations

import pytest

from armnn.arguments import closest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cpuacc", "CpuAcc"),
        ("CPUREF", "CpuRef"),
        ("CpuAc", "CpuAcc"),
        ("CpuRf", "CpuRef"),
        ("CpuRef", "CpuRef"),
        ("GpuAcc", "CpuAcc"),
        ("Npu", None),
        ("", None),
    ],
)
def test_the_most_like_is_suggested_whatever_the_case(name: str, meant: str | None) -> None:
    assert closest(name, ["CpuRef", "CpuAcc", "OpenVino"]) == meant


def test_of_names_that_differ_in_case_only_the_first_is_suggested() -> None:
    assert closest("acme", ["Acme", "ACME"]) == "Acme"


def test_nothing_is_suggested_where_nothing_is_known() -> None:
    assert closest("acme", []) is None
