# SPDX-License-Identifier: MIT
"""Reports as JSON, for stored entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.cache import Footprint, StaleEntryError

if TYPE_CHECKING:
    from armnn.optimizer import Part, Report, ReportRow

_REPORT: Final = {"rows", "parts", "specialisation"}
_ROW: Final = {
    "layer",
    "type",
    "backend",
    "refusals",
    "compiled_into",
    "footprint",
    "conversion",
    "multiply_adds",
}
_REFUSAL: Final = {"backend", "reason"}
_FOOTPRINT: Final = {"arena_bytes", "scratch_bytes", "weight_bytes"}
_PART: Final = {"name", "backend", "layers", "borders"}
_BORDER: Final = {"tensor", "source", "bytes", "copied"}


def encoded_report(report: Report) -> str:
    """Return the report of a plan as a text, which takes less memory than its rows.

    The shapes that the plan is for are in it once.
    """
    rows = [row.as_dict() for row in report]
    parts = [part.as_dict() for part in report.parts]
    (label,) = {each.pop("specialisation") for each in (*rows, *parts)} or {""}
    return json.dumps({"rows": rows, "parts": parts, "specialisation": label})


def check_report(text: str) -> None:
    """Check the names in a report, which is decoded later.

    Raises:
        StaleEntryError: It is not a report.
        ValueError: It is not JSON.
    """
    stored = json.loads(text)
    rows, parts = stored["rows"], stored["parts"]
    described = [(stored, _REPORT), *((row, _ROW) for row in rows)]
    described += [(each, _REFUSAL) for row in rows for each in row["refusals"]]
    described += [(row["footprint"], _FOOTPRINT) for row in rows if row["footprint"] is not None]
    described += [(part, _PART) for part in parts]
    described += [(each, _BORDER) for part in parts for each in part["borders"]]
    for each, expected in described:
        if each.keys() != expected:
            raise StaleEntryError(f"its report has {sorted(each)}, expected {sorted(expected)}")


def decoded_report(text: str) -> Report:
    """Return the report of :func:`encoded_report`."""
    from armnn.optimizer import Report  # late: a prepared load does without

    stored = json.loads(text)
    label = stored["specialisation"]
    rows = tuple(_decoded_row(row, label) for row in stored["rows"])
    return Report(rows, parts=tuple(_decoded_part(part, label) for part in stored["parts"]))


def _decoded_row(row: dict[str, Any], label: str) -> ReportRow:
    from armnn.optimizer import Refusal, ReportRow  # late: a prepared load does without

    refusals = tuple(Refusal(**each) for each in row["refusals"])
    footprint = None if row["footprint"] is None else Footprint(**row["footprint"])
    return ReportRow(**{**row, "refusals": refusals, "footprint": footprint}, specialisation=label)


def _decoded_part(part: dict[str, Any], label: str) -> Part:
    from armnn.optimizer import Border, Part  # late: a prepared load does without

    borders = tuple(Border(**border) for border in part["borders"])
    return Part(**{**part, "borders": borders}, specialisation=label)
