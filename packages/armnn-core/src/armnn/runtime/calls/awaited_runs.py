# SPDX-License-Identifier: MIT
"""Runs that coroutines await."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from armnn.backends.control import CancelToken
from armnn.runtime.calls.deadlines import deadline_of, seconds_until
from armnn.runtime.calls.tasks import Outputs
from armnn.runtime.calls.watched_runs import check_token

QUICK_NS = 300_000
"""A run that took less once is not worth a thread: the way there and back takes 200 us."""

_LATE_NS = 10 * QUICK_NS
_MOST_SHAPES = 100


class AwaitedRuns:
    """The runs of one network that coroutines await.

    Args:
        may_wait: Whether it may wait for another process.
    """

    def __init__(self, *, may_wait: bool) -> None:
        self._may_wait = may_wait
        self._least_ns: dict[Hashable, int] = {}  # by the shapes of the inputs
        # More runs than CPUs take each other's caches; what waits for a process takes no CPU.
        at_once = sys.maxsize if may_wait else len(os.sched_getaffinity(0))
        self._turns = threading.Semaphore(at_once)

    async def run(
        self,
        run: Callable[..., Outputs],
        inputs: Mapping[str, ArrayLike],
        timeout: float | None,
        cancel: CancelToken | None,
    ) -> Outputs:
        """Run the network, in another thread unless it is quick.

        Args:
            run: Runs it, with inputs, a timeout and what can cancel it.
            inputs: See :meth:`LoadedNetwork.run`; so for what follows.
            timeout: Seconds.
            cancel: Asked before each layer.

        Raises:
            InvalidArgumentError: An argument is of another kind.
        """
        check_token(cancel)
        deadline = deadline_of(timeout)
        shapes = tuple((name, np.shape(array)) for name, array in inputs.items())
        if not self._may_wait and self._least_ns.get(shapes, QUICK_NS) < QUICK_NS:
            start = time.perf_counter_ns()
            outputs = run(inputs, timeout=timeout, cancel=cancel)
            if time.perf_counter_ns() - start > _LATE_NS:
                self._least_ns.pop(shapes, None)
            return outputs
        stop = _Stop(cancel)

        def measured() -> Outputs:
            has_turn = self._turns.acquire(timeout=seconds_until(deadline))
            try:
                start = time.perf_counter_ns()
                outputs = run(inputs, timeout=seconds_until(deadline), cancel=stop)
            finally:
                if has_turn:
                    self._turns.release()
            self._record(shapes, time.perf_counter_ns() - start)
            return outputs

        try:
            # The loop's own threads: asyncio.run waits for them before it ends.
            return await asyncio.get_running_loop().run_in_executor(None, measured)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _record(self, shapes: Hashable, took_ns: int) -> None:
        if len(self._least_ns) >= _MOST_SHAPES:
            self._least_ns.clear()
        self._least_ns[shapes] = min(took_ns, self._least_ns.get(shapes, took_ns))


class _Stop(threading.Event):
    """Set by a cancelled task or by another token."""

    def __init__(self, cancel: CancelToken | None) -> None:
        super().__init__()
        self._cancel = cancel

    def is_set(self) -> bool:
        return super().is_set() or (self._cancel is not None and self._cancel.is_set())
