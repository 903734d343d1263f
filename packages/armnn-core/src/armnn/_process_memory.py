# SPDX-License-Identifier: MIT
"""Free pages of the process while a model is prepared."""

from __future__ import annotations

import ctypes
import functools


def trim_memory() -> None:
    """Return the C library's free pages to the system.

    A model's file and its plain weights are gone once a backend has packed them, but glibc keeps
    their pages for later: tens of megabytes, next to which working memory is then allocated.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim()


@functools.cache
def _malloc_trim() -> functools.partial[object] | None:
    """Return a call of glibc, None of another C library."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None if trim is None else functools.partial(trim, ctypes.c_size_t(0))
