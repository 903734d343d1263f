# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

from armnn._huge_pages import HugePages
from armnn.debugging.file_backed import WORTH_A_FILE, empty, leave_memory

if TYPE_CHECKING:
    import pytest

DTYPE = np.dtype(np.float32)
LARGE = (2, WORTH_A_FILE // 8 + 1)


def resident_megabytes() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE / 2**20


def test_values_are_read_again_after_they_left_memory() -> None:
    shape = (4 * LARGE[0], LARGE[1])
    array = empty(shape, DTYPE)
    array[...] = np.arange(shape[1])
    view = array[1:]
    before = resident_megabytes()
    leave_memory([None, view, np.ones(3)])
    assert resident_megabytes() < before - array.nbytes / 2**20 / 2
    np.testing.assert_array_equal(array[-1], np.arange(shape[1], dtype=np.float32))


def test_weights_keep_their_values() -> None:
    memory = HugePages().empty(2 * WORTH_A_FILE)
    assert isinstance(memory.obj, mmap.mmap)
    weights = np.frombuffer(memory, DTYPE)
    weights[...] = 1
    leave_memory([weights, weights[3:].reshape(-1, 1)])
    assert weights.min() == 1


def test_small_ones_are_in_memory() -> None:
    array = empty((3, 5), DTYPE)
    assert array.shape == (3, 5)
    assert array.base is None


def test_a_full_disk_leaves_them_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    array = empty(LARGE, DTYPE)
    array[...] = 1
    leave_memory([array])
    assert array.min() == 1
