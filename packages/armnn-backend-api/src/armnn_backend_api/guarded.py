# SPDX-License-Identifier: MIT
"""Guarded calls of a backend's C table.

Functions keep the floating-point environment of the thread, failures are copied before the backend
gets their memory back, and tensors stand where each access outside of them is seen. The core, the
probe and the conformance kit call backends by these.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.floating_point import keeping_floating_point
from armnn_backend_api.structs import new_error, shown_text
from armnn_backend_api.table import functions_of

__all__ = [
    "NODES_LIMIT",
    "Failure",
    "GuardLayout",
    "GuardedTensor",
    "attempt",
    "kept_functions",
]

NODES_LIMIT: Final = 1 << 20
"""More nodes than this no graph has: the count of a stale error."""

_PAGE: Final = mmap.PAGESIZE
_GUARD: Final = 4 * _PAGE
_PROT_NONE: Final = 0
_CANARY: Final = 0xA5
_ALIGNMENT: Final = 64

_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Failure:
    """A failed call, copied; the memory of the callee is released.

    Attributes:
        code: The returned code.
        said: The code that its error says.
        text: The message, with escapes; may be empty.
        detail: JSON for tools; may be empty.
        nodes: The ids of the nodes that it is about.
    """

    def __init__(self, code: int, error: abi.Error) -> None:
        """Copy an error that a function filled."""
        self.code = code
        try:
            self.said = int(error.code)
            self.text = shown_text(error.message)
            self.detail = shown_text(error.detail)
            self.nodes = _nodes_of(error)
        finally:
            if bool(error.release):
                error.release(error)


def attempt(function: Callable[..., int], *args: object) -> Failure | None:
    """Call a function whose last argument is an error; return its failure, if any."""
    error = new_error()
    code = function(*args, error)
    return None if code == abi.OK else Failure(code, error)


def kept_functions(table: ctypes.Structure) -> dict[str, Callable[..., Any] | None]:
    """Return a table's functions by name, None for absent ones.

    Each restores the floating-point environment of the calling thread.
    """
    return {
        name: None if function is None else keeping_floating_point(function)
        for name, function in functions_of(table).items()
    }


def _nodes_of(error: abi.Error) -> tuple[int, ...]:
    if bool(error.nodes) and 0 < error.num_nodes <= NODES_LIMIT:
        return tuple(error.nodes[: error.num_nodes])
    return (error.node_id,) if error.node_id >= 0 else ()


@dataclass(frozen=True, slots=True)
class GuardLayout:
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
        address: The address of the first element.
        size: In bytes.
    """

    def __init__(
        self, size: int, content: bytes | None, layout: GuardLayout, alignment: int
    ) -> None:
        """Allocate the memory.

        Args:
            size: In bytes.
            content: The elements of an input; None for an output.
            layout: Where in the pages the elements are.
            alignment: The alignment of the address, in bytes.
        """
        offset = -(-_ALIGNMENT // alignment) * alignment  # canaries stand before the elements
        body = -(-(offset + size + 1) // _PAGE) * _PAGE
        self._memory = mmap.mmap(-1, _GUARD + body + _GUARD)
        self._whole = ctypes.c_char.from_buffer(self._memory)
        self._start = ctypes.addressof(self._whole) + _GUARD
        if layout.is_at_end:
            offset = (body - size) // alignment * alignment
        self.address, self.size = self._start + offset, size
        self._offset, self._body = offset, body
        self._content, self._poison = content, layout.poison
        ctypes.memset(self._start, _CANARY, body)
        ctypes.memset(self.address, layout.poison, size)
        if content is not None:
            ctypes.memmove(self.address, content, len(content))
        for guard in (self._start - _GUARD, self._start + body):
            _protect(guard, _GUARD, _PROT_NONE)
        if content is not None and layout.is_read_only:
            _protect(self._start, body, mmap.PROT_READ)

    def poison(self, byte: int) -> None:
        """Fill an output with another byte, for the next call."""
        self._poison = byte
        ctypes.memset(self.address, byte, self.size)

    def damage(self) -> str:
        """Return the words for damage to memory that is not to be written; empty without any."""
        if self._content is not None and not self.read().startswith(self._content):
            return self.outside() or "writes to"
        if self._content is None and self.size and not self.read().strip(bytes([self._poison])):
            return self.outside() or "answers ARMNN_OK, but writes nothing to"
        return self.outside()

    def outside(self) -> str:
        """Return where something was written around the tensor; empty if nowhere."""
        whole = ctypes.string_at(self._start, self._body)
        end = self._offset + self.size
        if whole[end:].strip(bytes([_CANARY])):
            return "writes behind the end of"
        if whole[: self._offset].strip(bytes([_CANARY])):
            return "writes before the beginning of"
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
