# SPDX-License-Identifier: MIT
"""Blocks of a file that have pages in common, which the file holds once.

The programs of one model for several input shapes have the same packed weights. Each is a block of
its own for its backend, so that its pages are mapped behind each other when the file is read.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, BinaryIO, Final

import numpy as np

from armnn.backends.cache import Block, GrowingBlock, StaleEntryError
from armnn.storage.folder import PAGE

Extent = list[int]
"""A range of bytes: the number of the block in the file, the offset in it, and the size."""

_LARGE: Final = 1 << 20
"""Bytes of a block from which on its pages are looked at."""

_MAP_FIXED: Final = 0x10  # of Linux; the module mmap lacks it

_FEWEST: Final = 16
"""Pages in a row that are worth a mapping of their own."""


def with_shared_pages(blocks: Sequence[Block]) -> tuple[list[Block], list[list[Extent]]]:
    """Return the blocks that a file needs to hold, and the extents that each block consists of."""
    held: list[Block] = []
    layout: list[list[Extent]] = []
    known: dict[bytes, tuple[int, int]] = {}
    for block in blocks:
        size = _size_of(block)
        if size < _LARGE:
            layout.append([[len(held), 0, size]])
            held.append(block)
            continue
        digests = [blake2b(page, digest_size=16).digest() for page in _pages_of(block)]
        runs = _runs([known.get(digest) for digest in digests])
        extents, new = [], 0
        for source, first, count in runs:
            end = min((first + count) * PAGE, size)
            if source is None:
                extents.append([len(held), new, end - first * PAGE])
                for place in range(count):
                    known.setdefault(digests[first + place], (len(held), new + place * PAGE))
                new += count * PAGE
            else:
                extents.append([*source, end - first * PAGE])
        if new:
            kept = {first: count for source, first, count in runs if source is None}
            held.append(block if len(runs) == 1 else [*_chosen(block, kept)])
        layout.append(extents)
    return held, layout


def _runs(
    sources: Sequence[tuple[int, int] | None],
) -> list[tuple[tuple[int, int] | None, int, int]]:
    """Return pages in a row that are in the file in a row: where, the first one, and how many.

    Where there are few of them, they count as new, which has None as its place.
    """
    found: list[tuple[tuple[int, int] | None, int, int]] = []
    at = 0
    while at < len(sources):
        source, end = sources[at], at + 1
        if source is not None:
            while end < len(sources) and sources[end] == (source[0], source[1] + (end - at) * PAGE):
                end += 1
        if source is None or end - at < _FEWEST:
            source = None
            if found and found[-1][0] is None:
                _, first, count = found.pop()
                found.append((None, first, count + end - at))
                at = end
                continue
        found.append((source, at, end - at))
        at = end
    return found


def _size_of(block: Block) -> int:
    return block.size if isinstance(block, GrowingBlock) else sum(map(len, block))


def _pages_of(block: Block) -> Iterator[bytes | memoryview]:
    """Yield the pages of a block, the last one as it is."""
    left = b""
    for piece in block:
        view = memoryview(piece)
        if left:
            missing = PAGE - len(left)
            left += bytes(view[:missing])
            view = view[missing:]
            if len(left) < PAGE:
                continue
            yield left
        whole = len(view) // PAGE * PAGE
        yield from (view[at : at + PAGE] for at in range(0, whole, PAGE))
        left = bytes(view[whole:])
    if left:
        yield left


def _chosen(block: Block, runs: dict[int, int]) -> Iterator[bytes]:
    """Yield pages of a block: from each number on so many."""
    until = 0
    for number, page in enumerate(_pages_of(block)):
        until = max(until, number + runs.get(number, 0))
        if number < until:
            yield bytes(page)


def joined(
    file: BinaryIO, data: memoryview, blocks: Sequence[memoryview], layout: Any
) -> list[memoryview]:
    """Return the blocks of :func:`with_shared_pages`.

    Args:
        file: The file.
        data: All of it, mapped.
        blocks: The blocks that it holds.
        layout: The extents of each block.

    Raises:
        StaleEntryError: An extent is not within its block.
    """
    start = _address_of(data)
    try:
        return [_joined(file, start, blocks, extents) for extents in layout]
    except (TypeError, ValueError, LookupError, OSError) as error:
        raise StaleEntryError(f"the extents of its blocks cannot be read: {error!r}") from error


def _joined(file: BinaryIO, start: int, blocks: Sequence[memoryview], extents: Any) -> memoryview:
    views: list[memoryview] = []
    for number, begin, size in extents:
        if not all(type(each) is int and each >= 0 for each in (number, begin, size)):
            raise ValueError(f"an extent is {(number, begin, size)}")
        view = blocks[number][begin : begin + size]
        if len(view) != size:
            raise ValueError(f"an extent of {size} bytes is not within its block")
        views.append(view)
    if len(views) == 1:
        return views[0]
    places = [_address_of(view) - start for view in views]
    if any(place % mmap.PAGESIZE for place in places) or any(
        len(view) % mmap.PAGESIZE for view in views[:-1]
    ):
        return memoryview(b"".join(views))  # the system's pages are larger
    return _mapped(file, places, [len(view) for view in views])


def _address_of(view: memoryview) -> int:
    address: int = np.frombuffer(view, np.uint8).ctypes.data
    return address


def _mapped(file: BinaryIO, places: Sequence[int], sizes: Sequence[int]) -> memoryview:
    """Map ranges of a file behind each other."""
    pages = mmap.mmap(-1, sum(sizes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made: memoryview = memoryview(pages).toreadonly()
    at = _address_of(made)
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    for place, size in zip(places, sizes, strict=True):
        flags = mmap.MAP_SHARED | _MAP_FIXED
        found = system.mmap(at, size, mmap.PROT_READ, flags, file.fileno(), place)
        if found != at:
            raise OSError(ctypes.get_errno(), "mmap failed")
        at += size
    return made
