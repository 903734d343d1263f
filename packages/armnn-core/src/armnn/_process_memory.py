# SPDX-License-Identifier: MIT
"""Memory of the process: weights in huge pages or mapped, and pages given back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import threading
import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_HUGE_PAGE: Final = 1 << 21
_PLAIN: Final = 1 << 19
"""Bytes of small buffers that are not worth a huge page.

The system clears a huge page in the time in which it finds some forty of 4 KiB.
"""

_LARGE: Final = 1 << 18
"""Bytes from which on it counts what a buffer keeps in memory, or is kept by."""

_UNNEEDED: Final = getattr(mmap, "MADV_DONTNEED", None)  # of Linux
_BLOCK: Final = 4 * _HUGE_PAGE
_ALIGNMENT: Final = 64


class HugePages:
    """Makes buffers in mapped blocks.

    A block goes with its last buffer; large buffers share none with small ones, which may stay much
    longer. Getting megabytes in pages of 4 KiB takes longer than copying weights there. Any number
    of threads may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plain = 0
        self._blocks: dict[bool, _Block] = {}  # for large buffers, and for others

    def empty(self, size: int) -> memoryview:
        """Return a buffer, in a block aligned to 64 bytes.

        Raises:
            MemoryError: There is no memory for it.
        """
        with self._lock:
            if self._plain + size <= _PLAIN:
                self._plain += size
                return np.empty(size, np.uint8).data
            is_large = size >= _LARGE
            block = self._blocks.get(is_large)
            if block is None or not block.has(size):
                block = self._blocks[is_large] = _Block(max(size, _BLOCK))
            return block.take(size)


_mapped: Final[weakref.WeakValueDictionary[tuple[int, ...], mmap.mmap]] = (
    weakref.WeakValueDictionary()
)
_mapping: Final = threading.Lock()


def map_file(descriptor: int, offset: int, size: int) -> memoryview:
    """Map bytes of a file for reading.

    A file is mapped once, whole, as each mapping of Python's has a descriptor.

    Args:
        descriptor: The open file.
        offset: Where the bytes begin.
        size: How many they are; they are within the file.

    Raises:
        OSError: They cannot be mapped.
    """
    status = os.fstat(descriptor)
    key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    with _mapping:
        pages = _mapped.get(key)
        if pages is None:
            try:
                pages = _mapped[key] = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            except OSError:  # all of it does not fit into the process
                return _mapped_part(descriptor, offset, size)
    return memoryview(pages)[offset : offset + size]


def _mapped_part(descriptor: int, offset: int, size: int) -> memoryview:
    before = offset % mmap.ALLOCATIONGRANULARITY
    pages = mmap.mmap(descriptor, size + before, offset=offset - before, access=mmap.ACCESS_READ)
    return memoryview(pages)[before:]


class _Block:
    """Mapped memory that begins with a huge page."""

    _HUGE: Final = getattr(mmap, "MADV_HUGEPAGE", None)

    def __init__(self, size: int) -> None:
        """Map whole huge pages, at least so many bytes.

        Raises:
            MemoryError: There is no memory for them.
        """
        whole = -(-size // _HUGE_PAGE) * _HUGE_PAGE
        self._pages = map_zeros(whole + _HUGE_PAGE)
        if self._HUGE is not None:
            with contextlib.suppress(OSError):  # a kernel may be built without them
                self._pages.madvise(self._HUGE)
        start = np.frombuffer(self._pages, np.uint8).ctypes.data
        self._used = -start % _HUGE_PAGE
        self._end = self._used + whole

    def has(self, size: int) -> bool:
        """Return whether so many bytes are left."""
        return size <= self._end - self._used

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        made = memoryview(self._pages)[self._used : self._used + size]
        self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
        return made

    def __del__(self) -> None:
        """Give the unused end back; buffers stay."""
        pages = getattr(self, "_pages", None)
        if pages is not None and _UNNEEDED is not None:
            start = -(-self._used // mmap.PAGESIZE) * mmap.PAGESIZE
            if start < self._end:
                pages.madvise(_UNNEEDED, start, self._end - start)


def map_zeros(size: int) -> mmap.mmap:
    """Return zeros, of which pages that nothing touches take no memory.

    The C library clears memory that it had given out before, and keeps it when it is freed.

    Raises:
        MemoryError: There is no memory for them.
    """
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {size} bytes: {error}") from error


def give_pages_back(data: NDArray[Any]) -> None:
    """Return the pages of an array in a mapped file to the system; reading brings them back."""
    if _UNNEEDED is None or data.nbytes < mmap.PAGESIZE:
        return
    with _mapping:
        pages = [*_mapped.values()]
    for each in pages:
        start = data.ctypes.data - np.frombuffer(each, np.uint8).ctypes.data
        if 0 <= start < len(each):
            before = start % mmap.PAGESIZE
            each.madvise(_UNNEEDED, start - before, before + data.nbytes)


def trim_memory() -> None:
    """Return the C library's free pages and those of mapped files to the system.

    A model's file and its plain weights are gone once a backend has packed them, but glibc keeps
    their pages for later: tens of megabytes, next to which working memory is then allocated. Of
    mapped files the pages come back where they are read.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim()
    if _UNNEEDED is not None:
        with _mapping:
            pages = [*_mapped.values()]
        for each in pages:
            each.madvise(_UNNEEDED)


@functools.cache
def _malloc_trim() -> functools.partial[object] | None:
    """Return a call of glibc, None of another C library."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None if trim is None else functools.partial(trim, ctypes.c_size_t(0))
