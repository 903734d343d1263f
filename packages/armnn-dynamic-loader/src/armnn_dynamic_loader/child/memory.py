# SPDX-License-Identifier: MIT
"""Guarded memory: it shows a backend's writes outside its tensors."""

from __future__ import annotations

import ctypes
import mmap
from typing import Final

_PAGE: Final = mmap.PAGESIZE
_PROT_NONE: Final = 0
_CANARY: Final = 0xA5
_UNWRITTEN: Final = 0xC7


class GuardedTensor:
    """A tensor's elements between guard bytes and an inaccessible page.

    A write close to the elements is found by :meth:`damage`; one far behind them ends the process
    with a signal.

    Attributes:
        address: Of the first element; a multiple of the page size.
        size: In bytes.
    """

    def __init__(self, size: int, content: bytes | None) -> None:
        """Allocate the memory.

        Args:
            size: In bytes.
            content: The elements of an input; None for an output.
        """
        body = -(-(size + 1) // _PAGE) * _PAGE  # at least one byte stands behind the elements
        self._memory = mmap.mmap(-1, _PAGE + body + _PAGE)
        self._whole = ctypes.c_char.from_buffer(self._memory)
        start = ctypes.addressof(self._whole)
        self._before, self._behind = start, start + _PAGE + size
        self._room = body - size
        self.address, self.size = start + _PAGE, size
        self._content = content
        ctypes.memset(start, _CANARY, _PAGE + body)
        ctypes.memset(self.address, _UNWRITTEN, size)
        if content is not None:
            ctypes.memmove(self.address, content, len(content))
        _protect(start + _PAGE + body)

    def damage(self) -> str:
        """Return what was written outside the tensor; empty if nothing."""
        if ctypes.string_at(self._behind, self._room) != bytes([_CANARY]) * self._room:
            return "writes behind the end of"
        if ctypes.string_at(self._before, _PAGE) != bytes([_CANARY]) * _PAGE:
            return "writes before the beginning of"
        if self._content is not None and not self.read().startswith(self._content):
            return "writes to"
        if self._content is None and self.size and self.read() == bytes([_UNWRITTEN]) * self.size:
            return "answers ARMNN_OK, but writes nothing to"
        return ""

    def read(self) -> bytes:
        """Return the elements."""
        return ctypes.string_at(self.address, self.size)


def _protect(page: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if libc.mprotect(page, _PAGE, _PROT_NONE):
        raise OSError(ctypes.get_errno(), "mprotect failed")
