# SPDX-License-Identifier: MIT
"""Reports as JSON, for stored entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.cache import Footprint, StaleEntryError

if TYPE_CHECKING:
    from armnn.optimizer import Part, Report, ReportRow

_ROW: Final = {
    "layer",
    "type",
    "backend",
    "refusals",
    "compiled_into",
    "specialisation",
    "footprint",
    "conversion",
    "multiply_adds",
}
_REFUSAL: Final = {"backend", "reason"}
_FOOTPRINT: Final = {"arena_bytes", "scratch_bytes", "weight_bytes"}
_PART: Final = {"name", "backend", "layers", "specialisation", "borders"}
_BORDER: Final = {"tensor", "source", "bytes", "copied"}


def check_report(rows: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    """Check the names in a report, which is decoded later.

    Raises:
        StaleEntryError: It is not a report.
    """
    described = [(row, _ROW) for row in rows]
    described += [(each, _REFUSAL) for row in rows for each in row["refusals"]]
    described += [(row["footprint"], _FOOTPRINT) for row in rows if row["footprint"] is not None]
    described += [(part, _PART) for part in parts]
    described += [(each, _BORDER) for part in parts for each in part["borders"]]
    for each, expected in described:
        if each.keys() != expected:
            raise StaleEntryError(f"its report has {sorted(each)}, expected {sorted(expected)}")


def decoded_report(rows: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]) -> Report:
    """Return the report of ``as_dict`` of its rows and parts."""
    from armnn.optimizer import Report  # late: a prepared load does without

    return Report(tuple(map(_decoded_row, rows)), parts=tuple(map(_decoded_part, parts)))


def _decoded_row(row: dict[str, Any]) -> ReportRow:
    from armnn.optimizer import Refusal, ReportRow  # late: a prepared load does without

    refusals = tuple(Refusal(**each) for each in row["refusals"])
    return ReportRow(
        row["layer"],
        row["type"],
        row["backend"],
        refusals,
        row["compiled_into"],
        row["specialisation"],
        None if row["footprint"] is None else Footprint(**row["footprint"]),
        row["conversion"],
        row["multiply_adds"],
    )


def _decoded_part(part: dict[str, Any]) -> Part:
    from armnn.optimizer import Border, Part  # late: a prepared load does without

    borders = tuple(Border(**border) for border in part["borders"])
    return Part(**{**part, "borders": borders})
