# SPDX-License-Identifier: MIT
"""The Chrome trace of profiling events."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from armnn.profiling import Event, chrome_trace, write_chrome_trace

LAYER = {"category": "layer", "type": "Addition", "backend": "CpuRef"}
EVENTS = [
    Event("add", 1_001_500, 1_003_000, thread_id=70, details=LAYER),
    Event("run", 1_000_000, 1_004_250, thread_id=70, details={"category": "phase"}),
    Event("elsewhere", 1_002_000, 1_002_000, thread_id=33),
]


def complete_events() -> list[dict[str, object]]:
    return [row for row in chrome_trace(EVENTS)["traceEvents"] if row["ph"] == "X"]


def test_times_are_microseconds_since_the_earliest_event() -> None:
    times = {row["name"]: (row["ts"], row["dur"]) for row in complete_events()}
    assert times == {"run": (0.0, 4.25), "add": (1.5, 1.5), "elsewhere": (2.0, 0.0)}


def test_an_event_that_contains_others_comes_before_them() -> None:
    assert [row["name"] for row in complete_events()] == ["run", "add", "elsewhere"]


def test_categories_and_details_are_kept() -> None:
    run, add, elsewhere = complete_events()
    assert (run["cat"], add["cat"], elsewhere["cat"]) == ("phase", "layer", "event")
    assert add["args"] == {"type": "Addition", "backend": "CpuRef"}
    assert "args" not in run


def test_threads_are_numbered_by_their_first_event_and_named() -> None:
    trace = chrome_trace(EVENTS)
    assert [(row["pid"], row["tid"]) for row in complete_events()] == [
        (os.getpid(), 0),
        (os.getpid(), 0),
        (os.getpid(), 1),
    ]
    names = [row for row in trace["traceEvents"] if row["ph"] == "M"]
    assert [(row["name"], row["tid"], row["args"]) for row in names] == [
        ("thread_name", 0, {"name": "armnn thread 0"}),
        ("thread_name", 1, {"name": "armnn thread 1"}),
    ]


def test_kernels_of_a_device_have_a_row_for_each_thread() -> None:
    kernels = [
        Event("add", 1_002_000, 1_003_500, thread, {"category": "device", "backend": "Gpu"})
        for thread in (70, 33, 70)
    ]
    rows = chrome_trace([*EVENTS, *kernels])["traceEvents"]
    assert [row["tid"] for row in rows if row.get("cat") == "device"] == [1, 2, 1]
    names = [row["args"]["name"] for row in rows if row["ph"] == "M"]
    assert names == ["armnn thread 0", "device of Gpu, 1", "device of Gpu, 2", "armnn thread 3"]


def test_a_trace_without_events_is_still_a_trace() -> None:
    assert chrome_trace([]) == {"traceEvents": [], "displayTimeUnit": "ms"}


def test_the_file_holds_the_trace_as_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write_chrome_trace(EVENTS, path)
    assert json.loads(path.read_text(encoding="utf-8")) == chrome_trace(EVENTS)


def test_a_file_that_cannot_be_written_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_chrome_trace(EVENTS, tmp_path / "missing" / "trace.json")
