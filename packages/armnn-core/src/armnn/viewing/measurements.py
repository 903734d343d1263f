# SPDX-License-Identifier: MIT
"""Times and verdicts from files of other commands."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from armnn._recorder import Event
from armnn.errors import InvalidArgumentError
from armnn.graph.text import printable
from armnn.profiling import layer_times

if TYPE_CHECKING:
    from armnn.optimizer import Report
    from armnn.profiling import LayerTime

MOST_TRACE_BYTES: Final = 1 << 20
"""Of a trace inside a page, so that the page stays below twice that without its graph."""


def times_in_trace(path: str | os.PathLike[str], report: Report) -> list[LayerTime]:
    """Return the layers' times in a Chrome trace, slowest first.

    Args:
        path: A file of ``armnn run --profile FILE.json``.
        report: The report of the same network.

    Raises:
        InvalidArgumentError: It cannot be read, is no such file or has no run of a layer.
    """
    try:
        rows = _document(path)["traceEvents"]
        events = [_event(row) for row in rows if row["ph"] == "X"]
        times = layer_times(events, report)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, "armnn run --profile FILE.json", error) from error
    if not times:
        raise InvalidArgumentError(f"{str(path)!r} has no times of layers: no run is in it")
    return times


def trace_for_page(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a Chrome trace for the page's link to Perfetto.

    Args:
        path: A file that :func:`times_in_trace` has read.

    Returns:
        The name of the file and its content, None instead of more than :data:`MOST_TRACE_BYTES`.
    """
    size = Path(path).stat().st_size
    content = _document(path) if size <= MOST_TRACE_BYTES else None
    return {"file": printable(Path(path).name), "content": content}


def verdicts_in_comparison(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return what a comparison says of layers, by their names.

    Args:
        path: The output of ``armnn compare --json``.

    Raises:
        InvalidArgumentError: It cannot be read, or is no such file.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        for row in _document(path)["verdicts"]:
            verdict = {
                "is_wrong": bool(row["wrong"]),
                "kind": printable(str(row["kind"])),
                "ratio": _finite(row["ratio"]),
                "largest": _finite(row["largest"]),
                "unit": printable(str(row["unit"])),
                "note": printable(str(row["note"])),
                "together": [printable(str(name)) for name in row["layers"]],
            }
            found.update({str(name): verdict for name in row["layers"]})
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, "armnn compare --json > FILE.json", error) from error
    return found


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        raise TypeError(f"it holds {type(document).__name__}, expected an object")
    return document


def _finite(number: object) -> float | None:
    """Return a JSON file's number, None unless finite."""
    value = float(str(number))
    return value if math.isfinite(value) else None


def _event(row: Mapping[str, Any]) -> Event:
    """Return the event behind a row of a trace."""
    start = round(float(row["ts"]) * 1000)
    details = {"category": str(row["cat"]), **row.get("args", {})}
    end = start + round(float(row["dur"]) * 1000)
    return Event(str(row["name"]), start, end, int(row["tid"]), details)


def _unreadable(
    path: str | os.PathLike[str], command: str, error: Exception
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{str(path)!r} cannot be read ({type(error).__name__}: {error}); expected a file that "
        f"'{command}' wrote"
    )
