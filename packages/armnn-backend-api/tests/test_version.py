# SPDX-License-Identifier: MIT
"""The version type, its spelling and the compatibility rule."""

from __future__ import annotations

import dataclasses
import operator
import subprocess
import sys
from importlib.metadata import requires, version
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, __version__, is_compatible

NUMBERS = st.integers(min_value=0, max_value=2**32 - 1)
VERSIONS = st.builds(BackendVersion, NUMBERS, NUMBERS)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("2.4", True), ("3.4", False), ("1.4", False), ("2.5", False), ("2.3", True), ("2.0", True)],
)
def test_a_core_of_2_4_takes_its_own_major_up_to_its_own_minor(
    backend: str, expected: bool
) -> None:
    assert is_compatible(BackendVersion.parse(backend), BackendVersion(2, 4)) is expected


@given(VERSIONS)
def test_every_version_is_compatible_with_itself(version: BackendVersion) -> None:
    assert is_compatible(version, version)


@given(VERSIONS, VERSIONS)
def test_two_different_versions_are_compatible_one_way_at_most(
    first: BackendVersion, second: BackendVersion
) -> None:
    both_ways = is_compatible(first, second) and is_compatible(second, first)
    assert both_ways == (first == second)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_newer_minor_of_the_core_never_loses_a_backend(
    major: int, needed: int, provided: int, newer: int
) -> None:
    backend = BackendVersion(major, needed)
    older, younger = sorted([BackendVersion(major, provided), BackendVersion(major, newer)])
    assert is_compatible(backend, younger) or not is_compatible(backend, older)


@given(VERSIONS)
def test_parsing_the_text_of_a_version_gives_it_back(version: BackendVersion) -> None:
    assert BackendVersion.parse(str(version)) == version


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.0", BackendVersion(1, 0)),
        ("0.0", BackendVersion(0, 0)),
        ("10.20", BackendVersion(10, 20)),
        ("4294967295.4294967295", BackendVersion(2**32 - 1, 2**32 - 1)),
    ],
)
def test_parse_reads_major_dot_minor(text: str, expected: BackendVersion) -> None:
    assert BackendVersion.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "1.", ".0", "1.0.0", "v1.0", "-1.0", "1.-1", "+1.0", " 1.0", "1.0\n", "1 .0",
        "01.0", "1.00", "1.0rc1", "1,0", "\u0661.\u0660",
    ],
)  # fmt: skip
def test_parse_refuses_any_other_spelling(text: str) -> None:
    with pytest.raises(ValueError, match=r"Cannot read a Backend API version: got .*'1\.0'"):
        BackendVersion.parse(text)


@pytest.mark.parametrize(("major", "minor"), [(-1, 0), (0, -1), (2**32, 0), (0, 2**32)])
def test_numbers_that_a_uint32_cannot_hold_are_refused(major: int, minor: int) -> None:
    field = "minor" if major == 0 else "major"
    with pytest.raises(ValueError, match=rf"field '{field}': got -?\d+, expected 0 to 4294967295"):
        BackendVersion(major, minor)


@pytest.mark.parametrize("number", [1.0, "1", None, True])
def test_numbers_that_are_not_integers_are_refused(number: Any) -> None:
    with pytest.raises(TypeError, match=r"field 'major': got .*, expected an int"):
        BackendVersion(number, 0)
    with pytest.raises(TypeError, match=r"field 'minor': got .*, expected an int"):
        BackendVersion(0, number)


def test_order_is_numeric_and_by_major_first() -> None:
    texts = ["1.2", "2.0", "1.10", "0.9", "10.0"]
    ordered = sorted(BackendVersion.parse(text) for text in texts)
    assert [str(each) for each in ordered] == ["0.9", "1.2", "1.10", "2.0", "10.0"]


def test_versions_are_immutable_and_hashable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        BackendVersion(1, 0).major = 2  # type: ignore[misc]  # that it is refused is tested
    assert len({BackendVersion(1, 0), BackendVersion.parse("1.0")}) == 1


def test_the_api_version_is_the_distribution_version_without_its_patch_number() -> None:
    major, minor, _patch = (int(number) for number in version("armnn-backend-api").split("."))
    assert BackendVersion(major, minor) == BACKEND_API_VERSION
    assert __version__ == version("armnn-backend-api")


def test_the_distribution_needs_nothing_but_python() -> None:
    assert not requires("armnn-backend-api")
    code = (
        "import sys; before = set(sys.modules); import armnn_backend_api;"
        "print({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "{'armnn_backend_api'}"


def test_a_version_is_compared_with_versions_only() -> None:
    version: Any = BackendVersion(1, 2)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="not supported between instances"):
            compare(version, (1, 2))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'minor'"):
        del version.minor
