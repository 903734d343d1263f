# SPDX-License-Identifier: MIT
"""JSON that is read without the module ``json``."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from armnn import _json

VALUES = [
    {},
    {"a": [1, -2, 3.5, 1e300, True, False, None, "text"], "b": {"c": {}}},
    {"é": '\n\t\\ " \u2028 𝄞', "": 2**70},
    [],
    "text",
    12,
    None,
]


@pytest.fixture(params=["compiled", "without"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with CPython's scanner, and as another Python does."""
    if request.param == "without":
        monkeypatch.setattr(_json, "make_scanner", None)


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("spaces", ["", " \n\t\r"])
@pytest.mark.parametrize("indent", [None, 2])
def test_it_reads_what_json_writes(value: Any, spaces: str, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert _json.parsed_json(f"{spaces}{text}{spaces}") == value


@pytest.mark.usefixtures("scanner")
def test_it_reads_numbers_that_json_lacks() -> None:
    values = _json.parsed_json("[NaN, Infinity, -Infinity]")
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize(
    "text", ["", " ", "{", "[1,", "{1: 2}", '{"a" 1}', "[1] 2", '"\n"', "nul", "\u00a0[]", "'a'"]
)
def test_other_texts_are_value_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        _json.parsed_json(text)


@pytest.mark.usefixtures("scanner")
def test_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(RecursionError):
        _json.parsed_json("[" * 100_000)
