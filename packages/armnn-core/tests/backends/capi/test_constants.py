# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

from armnn.backends.capi.values import Constants


def test_a_constant_lives_until_it_was_dropped_as_often_as_it_was_held() -> None:
    held, array = Constants(), np.arange(3, dtype=np.float32)
    gone = weakref.ref(array)
    reference, tensor = held.lend(array)
    assert held.lend(array)[0] == reference
    held.keep(reference)
    del array
    for _ in range(3):
        assert gone() is not None
        assert list((ctypes.c_float * 3).from_address(tensor.contents.data)) == [0, 1, 2]
        held.drop(reference)
    gc.collect()
    assert (len(held), gone()) == (0, None)


def test_an_array_with_gaps_is_described_by_a_dense_copy() -> None:
    held, array = Constants(), np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::2]
    reference, tensor = held.lend(array)
    assert held.lend(array)[0] == reference
    assert list((ctypes.c_int32 * 4).from_address(tensor.contents.data)) == [0, 2, 3, 5]
    assert tensor.contents.shape[:2] == [2, 2]
    assert not tensor.contents.strides


def test_no_other_constant_gets_the_number_of_a_dead_one() -> None:
    held, seen = Constants(), []
    for _ in range(100):  # the same address comes back
        array = np.zeros(3, np.float32)
        reference, _ = held.lend(array)
        held.drop(reference)
        assert held.lend(array)[0] == reference
        held.drop(reference)
        seen.append(reference)
    assert len(set(seen)) == 100


def test_a_constant_goes_when_who_kept_it_drops_it() -> None:
    held, array, calls = Constants(), np.arange(3, dtype=np.float32), []
    gone = weakref.ref(array)
    reference, _ = held.lend(array, lambda: calls.append("let go"))
    del array
    for _ in range(2):
        held.keep(reference)
    held.drop(reference)
    assert (calls, gone() is None) == ([], False)
    held.drop(reference)
    assert (calls, gone()) == (["let go"], None)
    held.drop(reference)
    assert len(held) == 0


def test_a_constant_that_is_kept_outlives_its_lending() -> None:
    held, array, calls = Constants(), np.arange(3, dtype=np.float32), []
    reference, tensor = held.lend(array, lambda: calls.append("let go"))
    held.keep(reference)
    del array
    held.take_back(reference)
    assert list((ctypes.c_float * 3).from_address(tensor.contents.data)) == [0, 1, 2]
    held.drop(reference)
    assert (calls, len(held)) == ([], 0)


def test_a_constant_that_was_held_before_does_not_go_early() -> None:
    held, array, calls = Constants(), np.arange(3, dtype=np.float32), []
    reference, _ = held.lend(array)
    held.lend(array, lambda: calls.append("let go"))
    held.keep(reference)
    for _ in range(3):
        held.drop(reference)
    assert (calls, len(held)) == ([], 0)


@pytest.mark.parametrize("reference", [None, 0, 12345])
def test_what_nobody_holds_cannot_be_kept_or_dropped(reference: int | None) -> None:
    for function in (Constants().keep, Constants().drop):
        with pytest.raises(LookupError, match=f"no kept constant has reference {reference}"):
            function(reference)
