# SPDX-License-Identifier: MIT
"""A runtime with a loaded model in a process of its own, which runs it in bursts.

    python -m benchmarks.models.runtime_process CpuAcc model.onnx inputs.npz 2

is what :class:`RuntimeProcess` starts. The first line on stdout says how the load went. Each line
on stdin is a number of seconds; the answer is a line with the times of that burst in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.runtimes import GPU_LOADERS, LOADERS, Run

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST_RUNS = 20_000


class RuntimeProcess:
    """The side that asks for bursts.

    Args:
        runtime: Its name in the table of runtimes.
        model: The file.
        inputs: The file of the inputs.
        threads: How many it may use.

    Attributes:
        error: Why there is nothing to run, "" where there is something.
        outputs: The file of the outputs of the first run.
        times: All that its bursts took, in milliseconds.
    """

    def __init__(self, runtime: str, model: Path, inputs: Path, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, runtime, model, inputs, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **dict.fromkeys(POOLS, str(threads))},
        )
        self.id = self._process.pid
        self.outputs = inputs.with_name(f"{self.id}.npz")
        self.times: list[float] = []
        self.error = ""
        self._take_answer()

    def burst(self, seconds: float) -> None:
        """Run the model for some seconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        self._take_answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _take_answer(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        self.error = answer.get("error", "")
        self.times += answer.get("times", [])


def burst(run: Run, seconds: float) -> list[float]:
    """Run the model for some seconds, once at least; return the milliseconds of each run."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or (time.perf_counter() < end and len(times) < MOST_RUNS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def main() -> None:
    """Load the model, then answer until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runtime", choices={**LOADERS, **GPU_LOADERS})
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("threads", type=int)
    given = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a runtime prints must not come between the answers
    with np.load(given.inputs) as stored:
        feed = {name: stored[name] for name in stored.files}
    try:
        run = {**LOADERS, **GPU_LOADERS}[given.runtime](given.model, feed, given.threads, None)
        np.savez(given.inputs.with_name(f"{os.getpid()}.npz"), *map(np.asarray, run()))
    except Exception as error:  # whatever a runtime raises: it cannot run this model
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print(json.dumps({"error": reason}), file=answers, flush=True)
        return
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        json.dump({"times": burst(run, float(line))}, answers)
        print(file=answers, flush=True)


if __name__ == "__main__":
    main()
