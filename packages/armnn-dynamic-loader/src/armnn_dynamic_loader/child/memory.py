# SPDX-License-Identifier: MIT
"""Guarded memory: it shows a backend's accesses outside its tensors."""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any, Final

_PAGE: Final = mmap.PAGESIZE
_GUARD: Final = 4 * _PAGE
_PROT_NONE: Final = 0
_CANARY: Final = 0xA5
_ALIGNMENT: Final = 64

_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where tensors are, and how they are guarded.

    Attributes:
        is_at_end: Whether they end where an inaccessible page begins, so that reading one element
            too many ends the process. Else canaries follow them, which show writes.
        is_read_only: Whether writing to an input ends the process.
        poison: The byte that outputs are filled with.
    """

    is_at_end: bool = False
    is_read_only: bool = False
    poison: int = 0xC7


class GuardedTensor:
    """A tensor's elements between canaries and inaccessible pages.

    Attributes:
        address: Of the first element.
        size: In bytes.
    """

    def __init__(
        self, size: int, content: bytes | None, placement: Placement, alignment: int
    ) -> None:
        """Allocate the memory.

        Args:
            size: In bytes.
            content: The elements of an input; None for an output.
            placement: Where in the pages the elements are.
            alignment: What the address is a multiple of, in bytes.
        """
        offset = -(-_ALIGNMENT // alignment) * alignment  # canaries stand before the elements
        body = -(-(offset + size + 1) // _PAGE) * _PAGE
        self._memory = mmap.mmap(-1, _GUARD + body + _GUARD)
        self._whole = ctypes.c_char.from_buffer(self._memory)
        self._start = ctypes.addressof(self._whole) + _GUARD
        if placement.is_at_end:
            offset = (body - size) // alignment * alignment
        self.address, self.size = self._start + offset, size
        self._offset, self._body = offset, body
        self._content, self._poison = content, placement.poison
        ctypes.memset(self._start, _CANARY, body)
        ctypes.memset(self.address, placement.poison, size)
        if content is not None:
            ctypes.memmove(self.address, content, len(content))
        for guard in (self._start - _GUARD, self._start + body):
            _protect(guard, _GUARD, _PROT_NONE)
        if content is not None and placement.is_read_only:
            _protect(self._start, body, mmap.PROT_READ)

    def poison(self, byte: int) -> None:
        """Fill an output with another byte, for the next call."""
        self._poison = byte
        ctypes.memset(self.address, byte, self.size)

    def damage(self) -> str:
        """Return what was written outside the tensor; empty if nothing."""
        whole = ctypes.string_at(self._start, self._body)
        end = self._offset + self.size
        if whole[end:].strip(bytes([_CANARY])):
            return "writes behind the end of"
        if whole[: self._offset].strip(bytes([_CANARY])):
            return "writes before the beginning of"
        if self._content is not None and not self.read().startswith(self._content):
            return "writes to"
        if self._content is None and self.size and not self.read().strip(bytes([self._poison])):
            return "answers ARMNN_OK, but writes nothing to"
        return ""

    def unwritten(self, element: int) -> set[int]:
        """Return the elements of an output that have its poison.

        Args:
            element: Bytes of each.
        """
        poisoned = bytes([self._poison]) * element
        content = self.read()
        return {
            start // element
            for start in range(0, len(content) - element + 1, element)
            if content[start : start + element] == poisoned
        }

    def read(self) -> bytes:
        """Return the elements."""
        return ctypes.string_at(self.address, self.size)


def _protect(start: int, size: int, protection: int) -> None:
    if _libc.mprotect(start, size, protection):
        raise OSError(ctypes.get_errno(), "mprotect failed")
