# SPDX-License-Identifier: MIT
"""The cache of compiled programs, as a backend sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ProgramCache(ABC):
    """Keeps programs from one process to the next; the caller of ``load_model`` names the place.

    It only stores bytes: what they are and whether they still fit is the business of the backend.
    An entry that cannot be read or written costs a compilation, never an error.
    """

    @abstractmethod
    def read(self, *key: str) -> memoryview | None:
        """Return what was stored under a key, None if there is nothing or it cannot be read."""

    @abstractmethod
    def write(self, pieces: Iterable[bytes | memoryview], *key: str) -> None:
        """Store bytes, given in pieces, under a key: all of them or none."""

    @abstractmethod
    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record the outcome for a program: for people, for logging and for the profile."""
