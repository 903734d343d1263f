# SPDX-License-Identifier: MIT
"""Runs that were submitted, to be waited for, and runs that coroutines await."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.backends import Task
from armnn.backends.contract import CancelToken
from armnn.errors import CancelledError, DeadlineExceededError
from armnn.runtime.calls.control import check_token, deadline_of, seconds_of, seconds_until
from armnn.runtime.closing import Closable

Outputs = dict[str, "NDArray[Any]"]


class Underway(Protocol):
    """A run in progress, by thread or by backend."""

    def wait(self, timeout: float | None) -> bool:
        """Return whether it has ended; raise its error."""
        ...

    def stop(self) -> None:
        """End it, as far as that is possible."""
        ...


class RunTask(Closable):
    """A submitted run (``submit``), for one thread at a time.

    Until it has ended, its inputs and outputs are its own. ``await task`` gives the outputs, too.
    """

    def __init__(self, underway: Underway, outputs: Callable[[], Outputs]) -> None:
        """Watch a run.

        Args:
            underway: The run.
            outputs: Returns its outputs once it has ended.
        """
        self._underway: Underway | None = underway
        self._outputs = outputs
        self._made: Outputs | None = None
        self._error: BaseException | None = None
        self._lock = threading.RLock()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether the run has ended.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.
        """
        seconds = seconds_of(timeout)
        if seconds is not None:
            seconds = max(seconds, 0.0)
        with self._lock:
            if self._underway is None:
                return True
            try:
                if not self._underway.wait(seconds):
                    return False
                self._made = self._outputs()
            except Exception as error:
                self._error = error
            self._underway = None
            return True

    def result(self, timeout: float | None = None) -> Outputs:
        """Return the outputs, after the end.

        Raises:
            DeadlineExceededError: It has not ended in time, or ran out of its own.
            ExecutionError: It failed.
        """
        if not self.wait(timeout):
            raise DeadlineExceededError(f"the submitted run has not ended after {timeout} s")
        if self._error is not None:
            raise self._error
        return {} if self._made is None else self._made

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.wait(0)

    def close(self) -> None:
        """Stop it if it has not ended, and forget it."""
        with self._lock:
            underway, self._underway = self._underway, None
            if underway is not None:
                self._error = CancelledError("the submitted run was closed before its end")
                underway.stop()

    def __await__(self) -> Generator[Any, None, Outputs]:
        import asyncio  # late: heavy, and whoever awaits has it

        underway = self._underway
        if isinstance(underway, ThreadRun):
            # A thread that waits for another one could leave none to run.
            ended = asyncio.wrap_future(underway.ended())
        else:
            ended = asyncio.get_running_loop().run_in_executor(executor(), self.wait)
        # The awaiting task may be cancelled; the run and its arrays are still in use then.
        yield from asyncio.shield(ended).__await__()
        return self.result()

    def __del__(self) -> None:
        self.close()


class ThreadRun:
    """A run by a thread of the process's pool.

    Args:
        run: Runs the network.
        skipped: Called if it never begins, if there is anything to call.
    """

    def __init__(
        self, run: Callable[[], Outputs], skipped: Callable[[], object] | None = None
    ) -> None:
        self._skipped = skipped
        self._future: Future[Outputs] = executor().submit(run)

    def ended(self) -> Future[Any]:
        """Return a future of the end, which never fails."""
        made: Future[Any] = Future()
        self._future.add_done_callback(lambda _: made.set_result(True))
        return made

    def wait(self, timeout: float | None) -> bool:
        """Return whether it has ended; raise its error."""
        try:
            self._future.result(timeout)
        except TimeoutError:
            if self._future.done():
                raise
            return False
        return True

    def outputs(self) -> Outputs:
        """Return the outputs of the run."""
        return self._future.result()

    def stop(self) -> None:
        """Keep the task from starting, if it has not begun."""
        if self._future.cancel() and self._skipped is not None:
            self._skipped()


class BackendRun:
    """A run by a backend with ``armnn.async/1``.

    Args:
        task: The task.
        end: Called once, at the end, with whether the run succeeded.
    """

    def __init__(self, task: Task, end: Callable[[bool], None]) -> None:
        self._task = task
        self._end: Callable[[bool], None] | None = end

    def wait(self, timeout: float | None) -> bool:
        """Return whether it has ended; raise its error."""
        try:
            if not self._task.wait(timeout):
                return False
        except BaseException:
            self._finish(success=False)
            raise
        self._finish(success=True)
        return True

    def stop(self) -> None:
        """End it, and wait for its end."""
        try:
            self._task.close()
        finally:
            self._finish(success=False)

    def _finish(self, *, success: bool) -> None:
        end, self._end = self._end, None
        if end is not None:
            end(success)


_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def executor() -> ThreadPoolExecutor:
    """Return the threads of submitted runs, made when first needed."""
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 4, "armnn-run")
        return _executor


def _forget_executor() -> None:
    """Forget the threads, which no fork survives."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_executor)


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
        import asyncio  # late: heavy, and whoever awaits has it

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
