# SPDX-License-Identifier: MIT
"""Processes of run times that wait for bursts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.models.runtime_process import REPORT

PROCESS = "benchmarks.models.runtime_process"
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PAUSE_SECONDS = 0.03
"""After a burst: threads that spin settle."""


class RuntimeProcess:
    """A runtime with a loaded model in its own process.

    Args:
        runtime: Its name in the tables.
        model: The file.
        inputs: The file of the inputs.
        threads: How many it may use.
        cache: A folder for what it keeps from load to load.
        cpus: The CPUs that it may use, as ``taskset`` takes them; "" for all.

    Attributes:
        facts: Of its load; has "error" if there is nothing to run.
        times: All that its bursts took, in milliseconds.
        peak_mb: The peak of its memory.
    """

    def __init__(
        self,
        runtime: str,
        model: Path,
        inputs: Path,
        threads: int,
        cache: Path | None = None,
        cpus: str = "",
    ) -> None:
        command = [sys.executable, "-m", PROCESS, runtime, str(model), str(inputs), str(threads)]
        command += [] if cache is None else ["--cache", str(cache)]
        command = ["taskset", "-c", cpus, *command] if cpus else command
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **dict.fromkeys(POOLS, str(threads))},
        )
        self.facts: dict[str, Any] = self._answer()
        self.outputs = inputs.with_name(f"{self._process.pid}.npz")
        self.times: list[float] = []
        self.peak_mb = 0.0

    @property
    def id(self) -> int:
        """The id of the process."""
        return self._process.pid

    def burst(self, seconds: float) -> None:
        """Run the model for some seconds."""
        self.begin_burst(seconds)
        self.end_burst()

    def begin_burst(self, seconds: float) -> None:
        """Let it run the model for some seconds, without waiting."""
        self._send(str(seconds))

    def end_burst(self) -> list[float]:
        """Wait for a burst; return its times in milliseconds."""
        answer = self._answer()
        if "error" in answer:
            self.facts["error"] = f"it ran {len(self.times)} times, then {answer['error']}"
            return []
        times: list[float] = answer["times"]
        self.times += times
        self.peak_mb = answer["peak_mb"]
        return times

    def read_report(self) -> None:
        """Add our layers, and those refused, to its facts."""
        self._send(REPORT)
        self.facts |= self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer
