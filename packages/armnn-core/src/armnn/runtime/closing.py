# SPDX-License-Identifier: MIT
"""Closing of several parts of which some may fail: each is closed, then all failures are raised."""

from __future__ import annotations

from collections.abc import Callable

from armnn.errors import ClosingError


class Closing:
    """Calls what closes the parts of something, and keeps what they raise.

    Args:
        what: What is closed, for the message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._errors: list[Exception] = []
        self._interruption: BaseException | None = None

    def step(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function that closes one part; what it raises waits for :meth:`end`."""
        try:
            function(*arguments)
        except ClosingError as group:
            self._errors.extend(group.exceptions)
        except Exception as error:
            self._errors.append(error)
        except BaseException as error:  # Ctrl+C waits until everything is closed
            self._interruption = self._interruption or error

    def end(self) -> None:
        """Raise what the steps raised, if anything.

        Raises:
            ClosingError: Steps failed.
        """
        if self._interruption is not None:
            raise self._interruption
        if self._errors:
            failed = ", ".join(map(str, self._errors))
            raise ClosingError(
                f"{self._what} is closed, but parts of it failed: {failed}", self._errors
            )
