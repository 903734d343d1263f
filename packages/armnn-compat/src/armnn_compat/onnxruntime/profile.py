# SPDX-License-Identifier: MIT
"""Profiles in onnxruntime's format: a JSON list of events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from armnn.profiling import Event
from armnn_compat.onnxruntime.errors import Fail
from armnn_compat.onnxruntime.model import Operator

SESSION = "Session"
"""The category of what a session does as a whole."""

_RUN, _KERNEL, _LAYER = "run", "kernel", "layer"
"""The categories of our events that become rows; others have no counterpart."""


def write_profile(
    events: Iterable[Event], operators: Mapping[str, Operator], start_ns: int, path: str
) -> None:
    """Write a profile to a file, one event per line.

    Args:
        events: What was recorded.
        operators: The operators of the model, by the names of their layers.
        start_ns: When the session began, on the clock of the events.
        path: Where it goes.

    Raises:
        Fail: The file cannot be written.
    """
    rows = ",\n".join(json.dumps(row) for row in _rows(events, operators, start_ns))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"[\n{rows}\n]\n")
    except OSError as error:
        raise Fail(f"the profile cannot be written to {path!r}: {error}") from error


def _rows(
    events: Iterable[Event], operators: Mapping[str, Operator], start_ns: int
) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    kernels: dict[int, int] = {}  # when the last kernel of each thread began
    for event in events:
        if event.details.get("category") == _KERNEL:
            kernels[event.thread_id] = event.start_ns
        # A compiled layer is the sum of its kernels: rows of both would count their time twice.
        elif event.details.get("category") == _LAYER:
            last = kernels.get(event.thread_id)
            if last is not None and last >= event.start_ns:
                continue
        for category, name, args in _meanings(event, operators):
            yield {
                "cat": category,
                "pid": process,
                "tid": event.thread_id,
                "dur": event.duration_ns // 1000,
                "ts": (event.start_ns - start_ns) // 1000,
                "ph": "X",
                "name": name,
                "args": args,
            }


def _meanings(
    event: Event, operators: Mapping[str, Operator]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield category, name and arguments of onnxruntime's events."""
    kind = event.details.get("category")
    if kind == SESSION:
        yield SESSION, event.name, {}
    elif kind == _RUN:
        yield SESSION, "SequentialExecutor::Execute", {}
        yield SESSION, "model_run", {}
    elif kind in (_KERNEL, _LAYER):
        operator = operators.get(event.name)
        args = {
            "op_name": str(event.details.get("type", "")) if operator is None else operator.type,
            "provider": f"{event.details.get('backend', '')}ExecutionProvider",
        }
        if operator is not None:
            args["node_index"] = str(operator.index)
        yield "Node", f"{event.name if operator is None else operator.name}_kernel_time", args
