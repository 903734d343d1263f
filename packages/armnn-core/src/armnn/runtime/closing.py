# SPDX-License-Identifier: MIT
"""Closing objects while calls are running, and collecting errors."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from armnn.backends.calling import explained
from armnn.errors import ClosedError, ClosingError


class Closable(ABC):
    """An object that the end of a ``with`` statement closes."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Closing:
    """Closes the resources of an object, one after the other, and collects the errors.

    Args:
        what: The closed object, for the message.
        done: The words for it.
    """

    def __init__(self, what: str, done: str = "is closed") -> None:
        self._what = f"{what} {done}"
        self._errors: list[Exception] = []
        self._interruption: BaseException | None = None

    def step(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function that closes something; collect its error."""
        try:
            function(*arguments)
        except BaseException as error:
            self.note(error)

    def note(self, error: BaseException) -> None:
        """Collect an error."""
        if isinstance(error, ClosingError):
            self._errors.extend(error.exceptions)
        elif isinstance(error, Exception):
            self._errors.append(error)
        else:  # Ctrl+C waits until everything is closed
            self._interruption = self._interruption or error

    def end(self) -> None:
        """Raise the first error of the steps, if there was one.

        Raises:
            ClosingError: Steps failed.
        """
        if self._interruption is not None:
            raise self._interruption
        if self._errors:
            failed = ", ".join(map(explained, self._errors))
            raise ClosingError(f"{self._what}, but with errors: {failed}", self._errors)


class Gate:
    """Counts running calls; closing refuses new ones and waits."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._condition = threading.Condition(self._lock)
        self._inside = 0
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """Whether no call gets in any more."""
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
        """Refuse new calls and wait for the last running one.

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
