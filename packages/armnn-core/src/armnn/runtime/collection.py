# SPDX-License-Identifier: MIT
"""Lets Python's cyclic garbage collector wait while a model is prepared."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0
_was_enabled = False


@contextmanager
def collection_waits() -> Iterator[None]:
    """Let the collector of the process wait; the last of several threads lets it go on.

    Preparing a model makes tens of thousands of objects that stay, with no large garbage in cycles
    among them: the collector would walk over everything in the process, modules included, again
    and again, and find nothing.
    """
    global _waiting, _was_enabled
    with _lock:
        if not _waiting:
            _was_enabled = gc.isenabled()
            gc.disable()
        _waiting += 1
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1
            if not _waiting and _was_enabled:
                gc.enable()
