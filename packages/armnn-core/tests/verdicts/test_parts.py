# SPDX-License-Identifier: MIT
"""The costs of parts: texts, fits, answers of children."""

from __future__ import annotations

import pytest

from armnn.verdicts.parts import CopyCost, MeasuredPart, PartCost, parts_from


def test_the_text_has_each_backend_and_its_border() -> None:
    costs = PartCost("CpuAcc", 17.2), PartCost("Npu", 24.9, 3.1), PartCost("X", fault="no")
    assert str(MeasuredPart("relu", 1, costs)) == (
        "'relu' (1 layer): 17 us on CpuAcc, 25 us on Npu + 3 us for the border"
    )
    assert str(MeasuredPart("a" * 60, 2, costs[:1])) == (
        f"'{'a' * 48}...' (2 layers): 17 us on CpuAcc"
    )


def test_the_fit_finds_a_line() -> None:
    fitted = CopyCost.fitted({size: 2.0 + size / 1000 for size in (100, 10_000, 1_000_000)})
    assert fitted.of(0) == pytest.approx(2.0)
    assert fitted.of(50_000) == pytest.approx(52.0)


@pytest.mark.parametrize("times", [{10: 5.0, 1000: 1.0}, {10: 0.001, 1000: 5.0}, {10: 3.0}])
def test_no_copy_takes_negative_time(times: dict[int, float]) -> None:
    fitted = CopyCost.fitted(times)
    assert fitted.microseconds >= 0
    assert fitted.microseconds_per_byte >= 0


def test_answers_become_parts_also_where_the_last_one_is_cut() -> None:
    rows = [
        {"name": "a", "layers": 3},
        {"backend": "A", "seconds": 2e-6, "border_microseconds": 0.5, "fault": ""},
        {"backend": "B", "fault": "does not run all of it"},
        {"name": "b", "layers": 1},
        {"backend": "B", "seconds": 1e-6},
        {"name": "c", "layers": 9},
    ]
    assert list(parts_from(rows)) == [
        MeasuredPart(
            "a", 3, (PartCost("A", 2.0, 0.5), PartCost("B", fault="does not run all of it"))
        ),
        MeasuredPart("b", 1, (PartCost("B", 1.0),)),
    ]
    assert list(parts_from([])) == []
