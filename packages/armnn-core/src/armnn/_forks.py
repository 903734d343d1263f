# SPDX-License-Identifier: MIT
"""Locks that are free in a forked child."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakSet


class ForkedLock:
    """A lock that no thread of the parent process holds in a forked child.

    It is for what takes long, such as compiling: a fork is likely to come meanwhile, and the thread
    that would release the lock is not in the child. What it guards is made anew by whoever takes it
    next, so that half of it may be there.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _living.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()


_living: WeakSet[ForkedLock] = WeakSet()


def _renew() -> None:
    for each in _living:
        each._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)
