# SPDX-License-Identifier: MIT
"""Buffers for weights, in huge pages if there are any."""

from __future__ import annotations

import contextlib
import mmap
import threading
from typing import Final

import numpy as np

_HUGE_PAGE: Final = 1 << 21
_PLAIN: Final = 2 * _HUGE_PAGE
"""Bytes of small buffers that are not worth the end of a huge page."""

_BLOCK: Final = 4 * _HUGE_PAGE
_ALIGNMENT: Final = 64


class HugePages:
    """Makes buffers in mapped blocks.

    A block goes with its last buffer. Getting megabytes in pages of 4 KiB takes longer than copying
    weights there. Any number of threads may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plain = 0
        self._rest = memoryview(b"")

    def empty(self, size: int) -> memoryview:
        """Return a buffer, in a block aligned to 64 bytes.

        Raises:
            MemoryError: There is no memory for it.
        """
        with self._lock:
            if self._plain + size <= _PLAIN:
                self._plain += size
                return np.empty(size, np.uint8).data
            if size > len(self._rest):
                self._rest = _block(max(size, _BLOCK))
            made = self._rest[:size]
            self._rest = self._rest[-(-size // _ALIGNMENT) * _ALIGNMENT :]
            return made


def _block(size: int) -> memoryview:
    """Return whole huge pages, at least so many bytes.

    Raises:
        MemoryError: There is no memory for them.
    """
    whole = -(-size // _HUGE_PAGE) * _HUGE_PAGE
    try:
        pages = mmap.mmap(-1, whole + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {whole} bytes of weights: {error}") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux, if its kernel was built with them
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(pages, np.uint8).ctypes.data % _HUGE_PAGE
    return memoryview(pages)[start : start + whole]
