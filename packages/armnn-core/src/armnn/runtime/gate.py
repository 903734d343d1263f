# SPDX-License-Identifier: MIT
"""Counts the calls that are inside, so that closing can wait for them."""

from __future__ import annotations

import threading

from armnn.errors import ClosedError


class Gate:
    """Lets calls in until it is closed; closing waits until the last one is out."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._condition = threading.Condition(self._lock)
        self._inside = 0
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether nobody gets in any more."""
        return self._closed

    def enter(self) -> None:
        """Go in; each call needs one :meth:`leave`.

        Raises:
            ClosedError: The gate is closed.
        """
        with self._lock:
            if self._closed:
                raise ClosedError(f"{self._what} was closed before this call")
            self._inside += 1

    def leave(self) -> None:
        """Go out."""
        with self._lock:
            self._inside -= 1
            if self._closed and self._inside == 0:
                self._condition.notify_all()

    def close(self) -> bool:
        """Let nobody in any more and wait until everybody is out.

        Returns:
            Whether this call closed it, rather than an earlier one.
        """
        with self._condition:
            first, self._closed = not self._closed, True
            while self._inside:
                self._condition.wait()
            return first

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()
