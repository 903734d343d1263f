# SPDX-License-Identifier: MIT
"""Reads a backend's memory and shows its texts safely."""

from __future__ import annotations

import ctypes
import os
import unicodedata
from typing import Any, Final

__all__ = ["UnmappedError", "printable", "read_memory"]

_ESCAPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_EFAULT: Final = 14


class UnmappedError(ValueError):
    """A text or table is where no memory is mapped."""


class _Part(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


_libc: Any = ctypes.CDLL(None, use_errno=True)


def read_memory(address: int, size: int) -> bytes:
    """Return bytes of this process; reading others raises.

    The kernel copies them, so that a wild pointer does not end the process.

    Raises:
        UnmappedError: Not all of them are mapped and readable.
    """
    if not size:
        return b""
    buffer = bytearray(size)
    ours = _Part(ctypes.addressof(ctypes.c_char.from_buffer(buffer)), size)
    theirs = _Part(address, size)
    copied = _libc.process_vm_readv(os.getpid(), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    if copied == size:
        return bytes(buffer)
    if copied < 0 and ctypes.get_errno() != _EFAULT:  # a filter of system calls forbids it
        return ctypes.string_at(address, size)
    raise UnmappedError(f"{size} bytes at {address:#x} are not mapped")


def printable(text: str, limit: int | None = None) -> str:
    r"""Return a text with escapes for control characters.

    Control characters, line ends, bidirectional marks, surrogates and other invisible characters
    become escapes such as ``\x1b``.

    Args:
        text: Any text of a plug-in.
        limit: Characters at most; a cut text ends with "...".
    """
    shown = text if limit is None or len(text) <= limit else text[: max(limit - 3, 0)] + "..."
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(map(_shown, shown))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _ESCAPED_CATEGORIES:
        return character.encode("unicode_escape", "backslashreplace").decode("ascii")
    return character
