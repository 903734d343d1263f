# SPDX-License-Identifier: MIT
"""The cores that other processes keep busy meanwhile (Linux)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class OtherCores:
    """Measures the busy cores since its creation.

    Args:
        processes: The ids of those that take part, beside this one. They must live until `read`.
    """

    def __init__(self, processes: Iterable[int]) -> None:
        self._own = [os.getpid(), *processes]
        self._start = self._now()

    def read(self) -> float:
        """Return the average number of cores that others used."""
        seconds, busy, own = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return max(0.0, busy - own) / seconds

    def _now(self) -> tuple[float, float, float]:
        own = sum(map(_of_process, self._own))
        return time.monotonic(), _of_machine(), own


def _of_machine() -> float:
    """Return the seconds for which CPUs were busy."""
    first = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
    user, nice, system, _idle, _waiting, *interrupts = map(int, first.split()[1:8])
    return (user + nice + system + sum(interrupts)) / TICKS


def _of_process(process: int) -> float:
    """Return the seconds for which a process kept CPUs busy."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
