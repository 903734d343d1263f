# SPDX-License-Identifier: MIT
"""The programs of a model that is prepared or loaded.

Backends see a cache of programs; the programs go into the file of the prepared model, not into
files of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn._logging import Logger
from armnn.backends.cache import ProgramCache, StaleEntryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from armnn.backends.cache import Block, Entry

_log = Logger("armnn.backends.cache")  # the name that applications know


class ModelPrograms(ProgramCache):
    """The programs that backends find for one model."""

    def __init__(self, beside: ProgramCache | None = None) -> None:
        """Begin without programs.

        Args:
            beside: The cache that has the programs of models that cannot be stored.
        """
        self._beside = beside
        self._found: dict[tuple[str, ...], Entry] = {}
        self._made: dict[tuple[str, ...], tuple[dict[str, Any], Sequence[Block]]] = {}
        self._used: dict[tuple[str, ...], None] = {}

    def read(self, *key: str) -> Entry | None:
        """Return a program; see :meth:`ProgramCache.read`."""
        entry = self._found.get(key)
        if entry is None and key in self._made:
            header, blocks = self._made[key]
            entry = header, [memoryview(b"".join(block)) for block in blocks]
        if entry is None and self._beside is not None:
            entry = self._beside.read(*key)
        if entry is not None:
            self._used[key] = None
        return entry

    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Keep a program until it is stored with its model."""
        self._made[key] = dict(header), blocks
        self._found.pop(key, None)
        self._used[key] = None

    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record an outcome; see :meth:`ProgramCache.note`."""
        if self._beside is not None:
            self._beside.note(backend_id, layers, outcome, start_ns)
        else:
            _log.info("%s: %s: %s", backend_id, layers, outcome)

    def encoded(self) -> tuple[list[dict[str, Any]], list[Block]]:
        """Return what was used since :meth:`begin`, as JSON and blocks."""
        rows: list[dict[str, Any]] = []
        blocks: list[Block] = []
        for key in self._used:
            if key in self._made:
                header, made = self._made[key]
            else:
                header, found = self._found.get(key) or self._read_beside(key)
                made = [[block] for block in found]
            rows.append({"key": list(key), "header": header, "blocks": len(made)})
            blocks += made
        return rows, blocks

    def begin(self) -> None:
        """Begin with a further file; the programs of others go."""
        self._found.clear()
        self._made.clear()
        self._used.clear()

    def offer(self, rows: Sequence[dict[str, Any]], blocks: Sequence[memoryview]) -> None:
        """Take the programs of :meth:`encoded` from a file.

        Raises:
            StaleEntryError: They are something else.
        """
        left = iter(blocks)
        try:
            for row in rows:
                key = tuple(str(each) for each in row["key"])
                own = [next(left) for _ in range(row["blocks"])]
                self._found[key] = dict(row["header"]), own
        except (LookupError, TypeError, ValueError, StopIteration) as error:
            raise StaleEntryError(f"its programs cannot be read: {error!r}") from error

    def put_beside(self) -> None:
        """Store new programs in files of their own."""
        for key, (header, blocks) in self._made.items():
            if self._beside is not None:
                self._beside.write(header, blocks, *key)
        self.begin()

    def _read_beside(self, key: tuple[str, ...]) -> Entry:
        entry = None if self._beside is None else self._beside.read(*key)
        if entry is None:
            raise StaleEntryError("a program is not there any more")
        return entry
