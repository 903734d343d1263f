# SPDX-License-Identifier: MIT
"""The host's ``parallel_for``: a few threads that run a backend's ranges.

It serves backends that have no threads of their own. A call costs tens of microseconds.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

WORKERS_LIMIT: Final = 8
"""Threads at most: what needs more has a thread pool of its own."""

_in_worker: Final = threading.local()
_lock: Final = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def count_workers(_ctx: int | None = None) -> int:
    """Return how many ranges run at once."""
    return min(len(os.sched_getaffinity(0)), WORKERS_LIMIT)


def run_ranges(_ctx: int | None, count: int, grain: int, body: Any, arg: int | None) -> None:
    """Run ``body(arg, begin, end)`` over [0, count) and return when all ranges are done.

    Called from within a body, it runs in the same thread: the others are busy.
    """
    from concurrent.futures import wait  # imported late: few backends have no threads of their own

    workers = 1 if getattr(_in_worker, "is_one", False) else count_workers()
    step = max(grain, -(-count // workers), 1)
    starts = range(0, count, step)
    ranges = [(start, min(start + step, count)) for start in starts]
    if not ranges:
        return
    (begin, end), *others = ranges
    running = _start(body, arg, others) if others else []
    body(arg, begin, end)
    wait(running)


def _start(body: Any, arg: int | None, ranges: list[tuple[int, int]]) -> list[Future[Any]]:
    pool = _executor()
    running = []
    for begin, end in ranges:
        try:
            running.append(pool.submit(body, arg, begin, end))
        except RuntimeError:  # the interpreter is shutting down and starts nothing any more
            body(arg, begin, end)
    return running


def _executor() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported late, as above

    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(count_workers(), "armnn-parallel", _mark_worker)
        return _pool


def _mark_worker() -> None:
    _in_worker.is_one = True


def _forget_pool() -> None:
    """Threads do not survive a fork: the child makes its own."""
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)
