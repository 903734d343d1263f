# SPDX-License-Identifier: MIT
"""Import times of plug-in modules, each in its own process."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armnn_backend_api.processes import Bounds, PythonCall, run

if TYPE_CHECKING:
    from armnn import _metadata

_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ImportTime:
    """What importing the module of one entry point took.

    Attributes:
        group: The entry point's group.
        name: Its name.
        module: The module.
        seconds: On top of armnn itself; None if it cannot be imported.
        problem: Why not; empty if it can.
    """

    group: str
    name: str
    module: str
    seconds: float | None
    problem: str = ""


def measure(entry_points: Iterable[_metadata.EntryPoint]) -> tuple[ImportTime, ...]:
    """Import each entry point's module in its own fresh interpreter."""
    return tuple(_measured(entry_point) for entry_point in entry_points)


def _measured(entry_point: _metadata.EntryPoint) -> ImportTime:
    call = PythonCall(f"{__name__}:print_seconds", [entry_point.module])
    ending = run(call, Bounds(seconds=_TIMEOUT_SECONDS, output=None))
    try:
        seconds = float(ending.output)
    except ValueError:
        lines = ending.errors.decode(errors="replace").strip().splitlines()
        problem = lines[-1] if lines else f"the process ended with {ending}"
        if ending.cause == "deadline":
            problem = f"it took more than {_TIMEOUT_SECONDS:g} s"
        return ImportTime(entry_point.group, entry_point.name, entry_point.module, None, problem)
    return ImportTime(entry_point.group, entry_point.name, entry_point.module, seconds)


def print_seconds(module: str) -> None:
    """Print a module's import time on top of armnn."""
    output, sys.stdout = sys.stdout, sys.stderr
    begin = time.perf_counter()
    __import__(module)
    print(time.perf_counter() - begin, file=output)
