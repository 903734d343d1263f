# SPDX-License-Identifier: MIT
"""Decoding of the report of a prepared network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armnn.backends.footprint import Footprint
from armnn.optimizer import Border, Part, Refusal, Report, ReportRow


def decoded_report(rows: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]) -> Report:
    """Return the report of ``as_dict`` of its rows and parts."""
    return Report(tuple(map(_decoded_row, rows)), parts=tuple(map(_decoded_part, parts)))


def _decoded_row(row: dict[str, Any]) -> ReportRow:
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
    borders = tuple(Border(**border) for border in part["borders"])
    return Part(**{**part, "borders": borders})
