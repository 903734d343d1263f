# SPDX-License-Identifier: MIT
"""Starts the worker of a backend, and starts it again."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Final

from armnn.backends.worker.connection import (
    SETTLING_SECONDS,
    Fault,
    Recipe,
    Remote,
    WorkerConnection,
)
from armnn.errors import WorkerLostError

MOST_FAILURES: Final = 5
"""Workers in succession that end before they have answered a call; then no more are started."""
FIRST_DELAY_SECONDS: Final = 0.1
LONGEST_DELAY_SECONDS: Final = 5.0
_MOST_FAULTS: Final = 100

_log = logging.getLogger(__name__)


class Supervisor:
    """Keeps a worker running.

    Attributes:
        recipe: How workers are started.
        starts: How many were started.
        opened: The first object of each worker: the context of a runtime.
    """

    def __init__(self, recipe: Recipe, tell: Callable[[Fault], object] | None = None) -> None:
        """Start no worker yet.

        Args:
            recipe: How workers are started.
            tell: Is called with each fault of the backend, in a thread of its own.
        """
        self.recipe = recipe
        self._faults: list[Fault] = []
        self._is_settled = threading.Event()
        self._is_settled.set()
        self.starts = 0
        self.opened: Remote | None = None
        self._tell = tell
        self._link: WorkerConnection | None = None
        self._last: WorkerLostError | None = None
        self._failures = 0
        self._is_closed = False
        self._owner = os.getpid()
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """How the last workers ended; waits until that is known."""
        self._is_settled.wait(2 * SETTLING_SECONDS)
        return tuple(self._faults)

    @property
    def is_starting(self) -> bool:
        """Whether a lost worker is being replaced."""
        return self._thread is not None

    def link(self, *, wait: bool = True) -> WorkerConnection:
        """Return the connection to the worker, started on demand.

        Args:
            wait: Whether to wait for a worker that is being started anew.

        Raises:
            WorkerLostError: There is no worker.
            ArmnnError: The backend cannot be loaded.
        """
        link = self._link
        if link is not None and not link.is_lost and self._owner == os.getpid():
            return link
        if self._owner != os.getpid():  # first: another thread of that process may have the lock
            raise WorkerLostError(
                f"the worker of backend {self.recipe.name!r} belongs to the process that this one "
                "was forked from: load the model after the fork",
                self.recipe.name,
            )
        with self._state:
            link = self._noted(wait=wait)
            if link is not None and not link.is_lost:
                return link
            if self._last is not None:
                raise WorkerLostError(
                    str(self._last), self.recipe.name, is_starting=self._thread is not None
                )
            if link is not None:  # lost while another thread closes this, and will close it
                raise link.error()
            self._link = link = self._started()
            return link

    def wait(self, seconds: float) -> bool:
        """Wait for a starting worker; return whether it runs."""
        with self._state:
            self._state.wait_for(lambda: self._thread is None, seconds)
            return self._link is not None and not self._link.is_lost

    def close(self) -> None:
        """End the worker; a later call starts one again."""
        with self._state:
            self._is_closed = True
            self._state.notify_all()
            thread = self._thread
            if thread is threading.current_thread():  # the backend was collected there
                self._thread = None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._state:
            link, self._link = self._link, None
        if link is not None and self._owner == os.getpid():
            link.close()
        with self._state:
            self._is_closed = False

    # -- inside -----------------------------------------------------------------------------------

    def _noted(self, *, wait: bool) -> WorkerConnection | None:
        """Return the worker of now, its loss noted."""
        while True:
            link = self._link
            if link is not None and link.is_lost:
                self._replace(link)  # the thread that lost it has not come to that yet
            if self._thread is None or not wait:
                return link
            self._state.wait()

    def _started(self) -> WorkerConnection:
        self.starts += 1
        link = WorkerConnection(self.recipe, self._replace)
        if self.opened is not None:
            try:
                link.number_of(self.opened)
            except BaseException:
                link.close()
                raise
        return link

    def _replace(self, lost: WorkerConnection) -> None:
        """Take note of a lost worker, and start another one."""
        assert lost.fault is not None
        with self._state:
            if self._link is not lost or self._is_closed or self._thread is not None:
                return
            self._faults[:] = [*self._faults, lost.fault][-_MOST_FAULTS:]
            self._is_settled.clear()
            self._last = lost.error()
            self._thread = threading.Thread(
                target=self._start_again, args=(lost,), name="armnn-isolation", daemon=True
            )
            self._thread.start()

    def _start_again(self, lost: WorkerConnection) -> None:
        fault = lost.wait_exit()
        self._count(lost)
        lost.close()
        self._faults[-1:] = [fault]
        self._is_settled.set()
        _log.warning("%s.", fault)
        if self._tell is not None and not lost.was_killed:
            self._tell(fault)
        link: WorkerConnection | None = None
        last: WorkerLostError | None = None
        while link is None and self._may_start():
            try:
                link = self._started()
            except Exception as error:  # a backend may fail in any way
                self._failures += 1
                last = WorkerLostError(
                    f"the worker of backend {self.recipe.name!r} cannot be started again: {error}",
                    self.recipe.name,
                )
        with self._state:
            if self._is_wanted():
                self._link, link = link, None
                self._last = None if self._link is not None else last or self._last
                self._thread = None
                self._state.notify_all()
        if link is not None:
            link.close()

    def _count(self, lost: WorkerConnection) -> None:
        """Count failures in succession; kills by others end nothing."""
        self._failures = 1 if lost.has_worked else self._failures + 1
        if lost.was_killed:
            self._failures = min(self._failures, MOST_FAILURES)

    def _may_start(self) -> bool:
        """Wait until another worker may be started; return whether."""
        with self._state:
            if self._failures > MOST_FAILURES:
                _log.warning(
                    "The worker of backend %r ended %d times in succession before it answered a "
                    "call; no more are started.",
                    self.recipe.name,
                    self._failures,
                )
                return False
            if self._failures > 1:
                delay = FIRST_DELAY_SECONDS * 2 ** (self._failures - 2)
                self._pause(min(delay, LONGEST_DELAY_SECONDS))
            return self._is_wanted() and not self._is_closed

    def _is_wanted(self) -> bool:
        """Return whether this thread is to start a worker."""
        return self._thread is threading.current_thread()

    def _pause(self, seconds: float) -> None:
        """Wait until it is closed, or so long."""
        self._state.wait_for(lambda: self._is_closed, seconds)
