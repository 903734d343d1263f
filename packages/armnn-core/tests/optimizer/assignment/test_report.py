# SPDX-License-Identifier: MIT
"""The report counts each compiled part's memory once."""

from __future__ import annotations

from armnn.backends.cache import Footprint
from armnn.optimizer import CompiledPart, Report, ReportRow

SMALL, LARGE = Footprint(64, 0, 8), Footprint(640, 64, 80)


def row(layer: str, part: str, footprint: Footprint | None, shapes: str = "") -> ReportRow:
    return ReportRow(layer, "Activation", "Acme", (), part, shapes, footprint)


def test_layers_of_one_part_are_counted_and_those_without_memory_left_out() -> None:
    report = Report(
        (
            row("a", "a to b", SMALL),
            row("b", "a to b", SMALL),
            row("c", "", None),
            row("d", "d", LARGE),
        )
    )
    assert report.compiled_parts == (
        CompiledPart("a to b", "Acme", 2, "", SMALL),
        CompiledPart("d", "Acme", 1, "", LARGE),
    )


def test_each_set_of_input_shapes_has_parts_of_its_own() -> None:
    report = Report((row("a", "a", SMALL, "x=[1]"),)) + Report((row("a", "a", LARGE, "x=[9]"),))
    assert [part.as_dict() for part in report.compiled_parts] == [
        {"name": "a", "backend": "Acme", "layers": 1, "specialisation": shapes, **memory.as_dict()}
        for shapes, memory in (("x=[1]", SMALL), ("x=[9]", LARGE))
    ]
