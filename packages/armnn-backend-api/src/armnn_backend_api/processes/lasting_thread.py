# SPDX-License-Identifier: MIT
"""A thread that lasts as long as its children.

Linux ends a child with the *thread* that started it, if it is to end with its parent. What other
threads than the main one start is thus started from this one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

_Result = TypeVar("_Result")


class LastingThread:
    """Calls functions while it has users."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        os.register_at_fork(after_in_child=self._forget)

    def call(self, function: Callable[[], _Result]) -> _Result:
        """Call a function in the thread, for one more user.

        Raises:
            Exception: What the function raises; there is no further user then.
        """
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._tasks = SimpleQueue()
                threading.Thread(
                    target=_serve, args=(self._tasks,), name="armnn-processes", daemon=True
                ).start()
            tasks = self._tasks
        results: SimpleQueue[tuple[_Result | None, BaseException | None]] = SimpleQueue()

        def task() -> None:
            try:
                results.put((function(), None))
            except BaseException as error:
                results.put((None, error))

        tasks.put(task)
        result, error = results.get()
        if error is not None:
            self.release()
            raise error
        return result  # type: ignore[return-value]  # there is one without an error

    def release(self) -> None:
        """Have one user less; the thread ends with the last."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._tasks.put(None)

    def _forget(self) -> None:
        """Start anew in a forked copy of this process."""
        self._lock = threading.Lock()
        self._users = 0


def _serve(tasks: SimpleQueue[Callable[[], None] | None]) -> None:
    while (task := tasks.get()) is not None:
        task()


LASTING: LastingThread = LastingThread()
