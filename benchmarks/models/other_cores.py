# SPDX-License-Identifier: MIT
"""The cores that other processes keep busy meanwhile (Linux).

Of those that this process may run on: what others do on the rest of a large machine does not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
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
    """Return the seconds for which this process's CPUs were busy."""
    allowed = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = map(str.split, Path("/proc/stat").read_text(encoding="utf-8").splitlines())
    return sum(_busy_ticks(fields) for name, *fields in lines if name in allowed) / TICKS


def _busy_ticks(fields: Sequence[str]) -> int:
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields[:7])
    return user + nice + system + sum(interrupts)


def _of_process(process: int) -> float:
    """Return the seconds for which a process kept CPUs busy."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
