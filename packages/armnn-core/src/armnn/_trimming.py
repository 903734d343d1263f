# SPDX-License-Identifier: MIT
"""Gives memory that preparing a model freed back to the operating system."""

from __future__ import annotations

import ctypes

_libc = ctypes.CDLL(None)


def trim_memory() -> None:
    """Let the C library keep no free pages; does nothing where it cannot be asked.

    A model's file and its plain weights are gone once a backend has packed them, but glibc keeps
    their pages for later: tens of megabytes, next to which working memory is then allocated.
    """
    trim = getattr(_libc, "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(ctypes.c_size_t(0))
