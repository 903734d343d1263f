# SPDX-License-Identifier: MIT
"""Import times of plug-in modules, each in its own process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn import _metadata

_MEASURE = """\
import sys, time
import armnn
sys.stdout = sys.stderr
begin = time.perf_counter()
__import__(sys.argv[1])
seconds = time.perf_counter() - begin
print(seconds, file=sys.__stdout__)
"""
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
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _MEASURE, entry_point.module],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
        seconds = float(ran.stdout)
    except subprocess.TimeoutExpired:
        problem = f"it took more than {_TIMEOUT_SECONDS:g} s"
    except ValueError:
        lines = ran.stderr.strip().splitlines()
        problem = lines[-1] if lines else f"the process ended with status {ran.returncode}"
    else:
        return ImportTime(entry_point.group, entry_point.name, entry_point.module, seconds)
    return ImportTime(entry_point.group, entry_point.name, entry_point.module, None, problem)
