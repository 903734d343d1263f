# SPDX-License-Identifier: MIT
"""The rows of ``armnn run --report``, one per compiled part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn.optimizer import ReportRow

COLUMNS = ("layer", "type", "backend", "why")
TYPES_LIMIT = 3
"""Layer types of a folded row that are named; the others are counted."""
FOLDED_FROM = 3
"""Rows of parts that follow each other, from which on they are one."""


def folded_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return the rows of a report, with what repeats folded.

    A compiled part's layers that follow each other and have the same reasons are one row. So are
    three and more such rows that follow each other, of one part or of several, if rows above them
    have the same backends and reasons. Layers that nothing was compiled from are not folded.
    """
    groups = [list(group) for _, group in groupby(rows, _kind)]
    return [row for run in _runs(groups) for row in _shown(run)]


def all_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return a row for each layer."""
    return [(row.layer, row.type, row.backend, _remarks(row)) for row in rows]


def _kind(row: ReportRow) -> tuple[str, ...]:
    """Return what the layers of a row have in common."""
    return (row.compiled_into, row.backend, row.reason, row.conversion)


def _runs(groups: Sequence[Sequence[ReportRow]]) -> Iterator[list[Sequence[ReportRow]]]:
    """Yield new groups alone, and runs of known ones."""
    seen: set[tuple[str, ...]] = set()
    repeated: list[Sequence[ReportRow]] = []
    for group in groups:
        part, *rest = _kind(group[0])
        if part and tuple(rest) in seen:
            repeated.append(group)
            continue
        yield repeated
        yield [group]
        repeated = []
        if part:
            seen.add(tuple(rest))
    yield repeated


def _shown(run: Sequence[Sequence[ReportRow]]) -> list[tuple[str, ...]]:
    """Return the rows of a run of groups."""
    if len(run) >= FOLDED_FROM:
        return [_many(run)]
    return [
        row
        for members in run
        for row in (
            [_folded(members)]
            if members[0].compiled_into and len(members) > 1
            else all_rows(members)
        )
    ]


def _many(run: Sequence[Sequence[ReportRow]]) -> tuple[str, ...]:
    """Return the row of parts like those above."""
    members = [row for group in run for row in group]
    span = f"{members[0].layer} to {members[-1].layer}"
    backends = ", ".join(dict.fromkeys(row.backend for row in members))
    parts = dict.fromkeys(row.compiled_into for row in members)
    why = f"compiled into {'one part' if len(parts) == 1 else f'{len(parts)} parts'}, as above"
    return (f"{span} ({len(members)} layers)", _types(members), backends, why)


def _folded(members: Sequence[ReportRow]) -> tuple[str, ...]:
    first, last = members[0], members[-1]
    span = f"{first.layer} to {last.layer}"
    # Backends name a part after its ends as a rule; twice would be once too often.
    part = "one part" if first.compiled_into == span else repr(first.compiled_into)
    return (
        f"{span} ({len(members)} layers)",
        _types(members),
        first.backend,
        _remarks(first, part),
    )


def _types(members: Sequence[ReportRow]) -> str:
    """Return how many layers of which types there are."""
    counts = Counter(row.type for row in members).most_common()
    types = [f"{count} {name}" for name, count in counts[:TYPES_LIMIT]]
    others = sum(count for _, count in counts[TYPES_LIMIT:])
    return ", ".join([*types, *([f"{others} more"] if others else [])])


def _remarks(row: ReportRow, part: str = "") -> str:
    parts = [f"compiled into {part or repr(row.compiled_into)}"] if row.compiled_into else []
    return "; ".join([*parts, *(each for each in (row.conversion, row.reason) if each)])
