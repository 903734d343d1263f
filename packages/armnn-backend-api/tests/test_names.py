# SPDX-License-Identifier: MIT
"""One rule for ids, whatever brought the backend."""

from __future__ import annotations

import pytest

from armnn_backend_api.names import UNDEFINED_ID, VALID_ID, fault_of_id


@pytest.mark.parametrize("backend_id", ["CpuRef", "A", "7", "unknown", "Unknown2"])
def test_letters_and_digits_are_an_id(backend_id: str) -> None:
    assert fault_of_id(backend_id) == ""


@pytest.mark.parametrize(
    "backend_id", ["", "Acme Npu", "Acme.Npu", "Acm\u00e9", "A\n", "A?", 7, None]
)
def test_what_is_no_id_is_told_what_was_expected(backend_id: object) -> None:
    assert fault_of_id(backend_id) == "expected letters and digits"


def test_arm_nns_word_for_no_backend_is_no_id() -> None:
    assert VALID_ID.fullmatch(UNDEFINED_ID)
    assert fault_of_id(UNDEFINED_ID) == "expected another id, as 'Unknown' names no backend"
