# SPDX-License-Identifier: MIT
"""A backend's report of memory is believed only if complete."""

from __future__ import annotations

import pytest

from armnn.backends.cache import Footprint

SAID = {"arena_bytes": 4096, "scratch_bytes": 0, "weight_bytes": 12}


def test_the_details_of_a_compile_event_become_a_footprint() -> None:
    footprint = Footprint.from_details({**SAID, "kernel": "fast"})
    assert footprint == Footprint(4096, 0, 12)
    assert footprint.as_dict() == SAID


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("wrong", [-1, True, 1.5, "12", None])
def test_details_that_are_no_sizes_say_nothing(name: str, wrong: object) -> None:
    assert Footprint.from_details({**SAID, name: wrong}) is None


def test_details_that_lack_one_say_nothing() -> None:
    assert Footprint.from_details({}) is None
    assert Footprint.from_details({"arena_bytes": 1, "weight_bytes": 2}) is None
