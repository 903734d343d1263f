# SPDX-License-Identifier: MIT
"""The cache of compiled programs, as a backend sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Block: TypeAlias = "Sequence[bytes | memoryview]"
"""Bytes that are stored in one piece, given in several."""

Entry: TypeAlias = "tuple[dict[str, Any], list[memoryview]]"
"""A header, as JSON holds it, and blocks of bytes."""


class StaleEntryError(ValueError):
    """An entry of a cache cannot be used; the text says why."""


class ProgramCache(ABC):
    """Keeps entries from one process to the next; the caller of ``load_model`` names the place.

    What an entry is and whether it still fits is the business of whoever stored it.
    """

    @abstractmethod
    def read(self, *key: str) -> Entry | None:
        """Return the entry under a key, None if there is none or its file cannot be read.

        The blocks are in memory only where they are read.

        Raises:
            StaleEntryError: It is damaged, or of another version of the core.
        """

    @abstractmethod
    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Store an entry under a key, all of it or nothing; a folder that fails is only logged."""

    @abstractmethod
    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record the outcome for an entry: for people, for logging and for the profile."""
