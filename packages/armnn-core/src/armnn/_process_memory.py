# SPDX-License-Identifier: MIT
"""Garbage collector and free pages while a model is prepared."""

from __future__ import annotations

import functools
import gc
import sys
import threading
from contextlib import ContextDecorator

_lock = threading.Lock()
_waiting = 0
_was_enabled = False
_modules = 0

_FROZEN_BY_APPLICATIONS = 1000
"""What these have frozen stays so; Python 3.12 begins with 375 frozen objects, others with none."""


def collection_waits() -> _Pause:
    """Suspend the garbage collector; several threads may do so.

    Preparing a model makes tens of thousands of objects that stay, with no large garbage in cycles
    among them: the collector would walk over everything in the process, modules included, again
    and again, and find nothing. Where modules were imported meanwhile, which stay as long as the
    process, the objects made so far count as old afterwards: looking at each of them once would
    take a fifth of a first load from a cache.
    """
    return _pause


class _Pause(ContextDecorator):
    """Makes the collector wait, for all threads together."""

    def __enter__(self) -> None:
        global _waiting, _was_enabled, _modules
        with _lock:
            if not _waiting:
                _was_enabled, _modules = gc.isenabled(), len(sys.modules)
                gc.disable()
            _waiting += 1

    def __exit__(self, *_: object) -> None:
        global _waiting
        with _lock:
            _waiting -= 1
            if not _waiting and _was_enabled:
                if len(sys.modules) > _modules:
                    _count_as_old()
                gc.enable()


_pause = _Pause()


def _count_as_old() -> None:
    """Move all objects to the oldest generation.

    The next full collection looks at them.
    """
    if gc.get_freeze_count() < _FROZEN_BY_APPLICATIONS:
        gc.freeze()
        gc.unfreeze()


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
    import ctypes  # late: it takes longer to import than all else here

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None if trim is None else functools.partial(trim, ctypes.c_size_t(0))
