# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib

import pytest
from flatbuffers import flexbuffers
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import ParseError
from armnn_parser_tflite.flexbuffer import read_numbers

NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, width=32),
)
KEYS = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=20)


@given(st.dictionaries(KEYS, NUMBERS, max_size=20))
def test_numbers_are_those_that_were_written(numbers: dict[str, float]) -> None:
    assert read_numbers(bytes(flexbuffers.Dumps(numbers))) == numbers


def test_other_values_are_left_out() -> None:
    data = bytes(flexbuffers.Dumps({"a": 1, "b": "text", "c": [1, 2], "d": None, "e": 2.5}))
    assert read_numbers(data) == {"a": 1, "e": 2.5}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has fewer than 3 bytes"),
        (bytes(flexbuffers.Dumps([1, 2])), "it is not a map"),
        (b"\x01\x24\x01", "an offset leads|is outside of it"),
        (b"\xff\x24\x01", "an offset leads 255 bytes before its start"),
        (b"\0\x24\x09", "a number of 9 bytes at"),
    ],
)
def test_malformed_options_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(
        ParseError, match=f"options of a custom operator are malformed: .*({message})"
    ):
        read_numbers(data)


VALID = bytes(flexbuffers.Dumps({"first": 3, "second": 0.25, "third": True}))


@given(st.integers(0, len(VALID) - 1), st.integers(0, 255), st.integers(3, len(VALID)))
def test_changed_and_cut_options_end_cleanly(place: int, byte: int, length: int) -> None:
    data = bytearray(VALID)
    data[place] = byte
    with contextlib.suppress(ParseError):
        read_numbers(bytes(data[-length:]))
