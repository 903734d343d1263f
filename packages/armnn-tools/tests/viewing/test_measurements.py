# SPDX-License-Identifier: MIT
"""Times and findings read from files of the other commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from armnn.errors import InvalidArgumentError
from armnn.optimizer import Report, ReportRow
from armnn.profiling import Event, layer_times, write_chrome_trace
from armnn_tools.viewing import findings_in_comparison, times_in_trace

EVENTS = [
    Event("run", 0, 4_000_000, 1, {"category": "run"}),
    Event("a", 0, 1_000_000, 1, {"category": "layer", "type": "Addition", "backend": "Acme"}),
    Event("b", 1_000_000, 4_000_000, 1, {"category": "layer", "type": "Mean", "backend": "Acme"}),
]
REPORT = Report(
    (ReportRow("a", "Addition", "Acme", multiply_adds=7), ReportRow("b", "Mean", "Acme"))
)
VERDICT = {
    "layers": ["a", "b"], "wrong": True, "kind": "wrong values", "ratio": 9.0,
    "largest": "Infinity", "unit": "steps", "note": "x\x1b[2J",
}  # fmt: skip


def test_a_trace_gives_the_times_that_its_recorder_had(tmp_path: Path) -> None:
    write_chrome_trace(EVENTS, tmp_path / "trace.json")
    times = times_in_trace(tmp_path / "trace.json", REPORT)
    assert times == layer_times(EVENTS, REPORT)
    assert [(time.layer, time.milliseconds, time.share) for time in times] == [
        ("b", 3.0, 0.75),
        ("a", 1.0, 0.25),
    ]


def test_a_comparison_gives_each_of_its_layers_the_finding(tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text(json.dumps({"verdicts": [VERDICT]}))
    found = findings_in_comparison(tmp_path / "found.json")
    assert found["a"] == found["b"]
    assert found["a"]["together"] == ["a", "b"]
    assert found["a"]["note"] == r"x\x1b[2J"
    assert (found["a"]["is_wrong"], found["a"]["largest"]) == (True, None)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"traceEvents": 1, "verdicts": 1}', '{"traceEvents": [1], "verdicts": [1]}',
     '{"traceEvents": [{"ph": "X"}], "verdicts": [{"layers": []}]}', "[" * 100_000],
)  # fmt: skip
def test_another_file_is_told_with_the_command_that_writes_one(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(InvalidArgumentError, match=r"odd.json' cannot be read .*'armnn run --prof"):
        times_in_trace(path, REPORT)
    with pytest.raises(
        InvalidArgumentError, match=r"odd.json' cannot be read .*'armnn compare --j"
    ):
        findings_in_comparison(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="No such file"):
        findings_in_comparison(tmp_path / "none.json")


@pytest.mark.parametrize("rows", [[], EVENTS[:1]])
def test_a_trace_without_runs_of_layers_is_told(tmp_path: Path, rows: list[Any]) -> None:
    write_chrome_trace(rows, tmp_path / "trace.json")
    with pytest.raises(
        InvalidArgumentError, match="has no times of layers: expected the trace of a run"
    ):
        times_in_trace(tmp_path / "trace.json", REPORT)
