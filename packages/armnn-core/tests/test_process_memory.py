# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import mmap
import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armnn._process_memory import HugePages, give_pages_back, map_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIB = 1 << 20


def test_buffers_have_their_size_and_share_no_byte() -> None:
    pages = HugePages()
    sizes = [0, 1, 63, MIB + 1, 3 * MIB, 5 * MIB, 1, 9 * MIB, 2 * MIB]
    arrays = [np.frombuffer(pages.empty(size), np.uint8) for size in sizes]
    for number, array in enumerate(arrays):
        array[:] = number
    assert [array.size for array in arrays] == sizes
    for number, array in enumerate(arrays):
        assert (array == number).all()


def test_buffers_of_blocks_are_aligned() -> None:
    pages = HugePages()
    pages.empty(MIB >> 1)
    starts = [np.frombuffer(pages.empty(100), np.uint8).ctypes.data for _ in range(3)]
    assert [start % 64 for start in starts] == [0, 0, 0]


def test_only_small_buffers_are_outside_blocks() -> None:
    pages = HugePages()
    kinds = [type(pages.empty(size).obj) for size in (MIB >> 2, MIB >> 2, MIB >> 2, MIB)]
    assert kinds == [np.ndarray, np.ndarray, mmap.mmap, mmap.mmap]


def test_a_block_goes_with_its_last_buffer() -> None:
    pages = HugePages()
    first, second = pages.empty(MIB), pages.empty(MIB)
    assert first.obj is second.obj
    block = weakref.ref(first.obj)
    del pages, first
    gc.collect()
    assert block() is not None
    del second
    gc.collect()
    assert block() is None


def test_large_buffers_go_before_small_ones_beside_them() -> None:
    pages = HugePages()
    pages.empty(MIB >> 1)
    small = [pages.empty(MIB >> 3)]
    large = [pages.empty(MIB), pages.empty(5 * MIB)]
    small.append(pages.empty(MIB >> 3))
    assert small[0].obj is small[1].obj
    assert large[0].obj is large[1].obj
    block = weakref.ref(large[0].obj)
    del large, pages
    gc.collect()
    assert block() is None


def test_the_unused_end_of_a_huge_page_goes_back_and_buffers_stay() -> None:
    pages = HugePages()
    size = 7 * MIB // 4
    for _ in range(3):
        pages.empty(size)
    last = np.frombuffer(pages.empty(size), np.uint8)
    last[:] = 1
    resident = resident_bytes(last)
    other = pages.empty(size)  # needs another block
    del pages, other
    # Its first huge page has the end of the buffer before it.
    assert 3 * MIB <= resident_bytes(last) < 3 * MIB + (1 << 16)
    assert resident >= resident_bytes(last)
    assert (last == 1).all()


def resident_bytes(array: NDArray[np.uint8]) -> int:
    """Return how much of an array's mapping is in memory."""
    address = array.ctypes.data
    is_there = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        place = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if place is not None:
            is_there = int(place[1], 16) <= address < int(place[2], 16)
        elif is_there and line.startswith("Rss:"):
            return int(line.split()[1]) << 10
    raise LookupError(address)


def resident(file: Path) -> int:
    """Return the bytes of a mapped file that are in memory."""
    rows = Path("/proc/self/smaps").read_text(encoding="utf-8").split(f" {file}\n")[1:]
    return sum(int(row.split("Rss:")[1].split()[0]) << 10 for row in rows)


def test_the_pages_of_a_mapped_array_go_and_come_back(tmp_path: Path) -> None:
    path, page = tmp_path / "weights", mmap.PAGESIZE
    content = np.arange(64 * page, dtype=np.uint8)
    path.write_bytes(content)
    with path.open("rb") as file:
        mapped = np.frombuffer(map_file(file.fileno(), 0, len(content)), np.uint8)
    part = mapped[8 * page + 5 : 40 * page]
    for apart in (mapped.copy(), np.zeros(1), part):
        mapped.max()
        assert resident(path) == len(content)
        give_pages_back(apart)
    assert resident(path) == len(content) - 32 * page
    np.testing.assert_array_equal(part, content[8 * page + 5 : 40 * page])
