# SPDX-License-Identifier: MIT
"""The rows of ``armnn run --report``, one per compiled part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn.optimizer import ReportRow

COLUMNS = ("layer", "type", "backend", "why")
TYPES_LIMIT = 3
"""Layer types of a folded row that are named; the others are counted."""


def folded_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return the rows, with a compiled part's layers folded.

    The layers of a row follow each other into the same compiled part. Layers of a part that were
    refused by other backends for different reasons are not folded, nor are layers that nothing was
    compiled from.
    """
    shown: list[tuple[str, ...]] = []
    for (part, *_), group in groupby(
        rows, lambda r: (r.compiled_into, r.backend, r.reason, r.conversion)
    ):
        members = list(group)
        if part and len(members) > 1:
            shown.append(_folded(members))
        else:
            shown += all_rows(members)
    return shown


def all_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return a row for each layer."""
    return [(row.layer, row.type, row.backend, _remarks(row)) for row in rows]


def _folded(members: Sequence[ReportRow]) -> tuple[str, ...]:
    first, last = members[0], members[-1]
    counts = Counter(row.type for row in members).most_common()
    types = [f"{count} {name}" for name, count in counts[:TYPES_LIMIT]]
    others = sum(count for _, count in counts[TYPES_LIMIT:])
    named = ", ".join([*types, *([f"{others} more"] if others else [])])
    span = f"{first.layer} to {last.layer}"
    # Backends name a part after its ends as a rule; twice would be once too often.
    part = "one part" if first.compiled_into == span else repr(first.compiled_into)
    return (f"{span} ({len(members)} layers)", named, first.backend, _remarks(first, part))


def _remarks(row: ReportRow, part: str = "") -> str:
    parts = [f"compiled into {part or repr(row.compiled_into)}"] if row.compiled_into else []
    return "; ".join([*parts, *(each for each in (row.conversion, row.reason) if each)])
