# SPDX-License-Identifier: MIT
"""Profiling events as a Chrome trace file.

chrome://tracing and Perfetto open this JSON. The format is Google's "Trace Event Format": one
complete event (``"ph": "X"``) per recorded event, with ``ts`` and ``dur`` in microseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from armnn._arguments import file_path, instance, items
from armnn._recorder import Event


def chrome_trace(events: Iterable[Event]) -> dict[str, Any]:
    """Return a trace as JSON can hold it.

    Times count from the start of the earliest event. Threads are numbered in the order of their
    first event.
    """
    recorded = items(events, "the events", "a list of Event, as Recorder.events is")
    for event in recorded:
        instance(event, Event, "one of the events")
    ordered = sorted(recorded, key=lambda event: (event.start_ns, -event.end_ns))
    origin_ns = ordered[0].start_ns if ordered else 0
    threads: dict[int, int] = {}
    process = os.getpid()
    rows: list[dict[str, Any]] = []
    for event in ordered:
        thread = threads.setdefault(event.thread_id, len(threads))
        row = {
            "name": event.name,
            "cat": str(event.details.get("category", "event")),
            "ph": "X",
            "ts": (event.start_ns - origin_ns) / 1000,
            "dur": event.duration_ns / 1000,
            "pid": process,
            "tid": thread,
        }
        args = {key: value for key, value in event.details.items() if key != "category"}
        rows.append({**row, "args": args} if args else row)
    names = [_thread_name(process, thread) for thread in threads.values()]
    return {"traceEvents": [*names, *rows], "displayTimeUnit": "ms"}


def write_chrome_trace(events: Iterable[Event], path: str | os.PathLike[str]) -> None:
    """Write a trace to a file.

    Raises:
        OSError: The file cannot be written.
    """
    file_name = file_path(path, "the path of the trace")
    text = json.dumps(chrome_trace(events), indent=1, default=str)
    with open(file_name, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def _thread_name(process: int, thread: int) -> dict[str, Any]:
    name = f"armnn thread {thread}"
    return {
        "name": "thread_name",
        "ph": "M",
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }
