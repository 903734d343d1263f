# SPDX-License-Identifier: MIT
"""A runtime with a model in its own process.

The session on speed starts it and asks for bursts.

    python -m benchmarks.models.runtime_process CpuAcc model.onnx inputs.npz 2 [--cache FOLDER]

The first line on stdout says how the load went. Each line on stdin is a number of seconds; the
answer is a line with the times of that burst in milliseconds. The line "report" is answered with
our layers, those refused and multiply-adds; it comes last, as it takes memory that runs do not
need.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.runtimes import LOADERS, MODULES, OURS, WITH_FAST_MATH, Run, load_armnn

MOST_RUNS = 20_000
REPORT = "report"


def memory_mb(field: str) -> float:
    """Return a field of /proc/self/status in MiB.

    VmHWM is the peak of this process, for example.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields[field].split()[0]) / 1024


def load(arguments: argparse.Namespace) -> tuple[Run, Any, dict[str, Any]]:
    """Load and run the model once.

    It returns the runner, our loaded network and facts. The time counts from the imported runtime
    to the first outputs.
    """
    with np.load(arguments.inputs) as stored:
        feed = {name: stored[name] for name in stored.files}
    importlib.import_module(MODULES.get(arguments.runtime, "openvino"))
    facts: dict[str, Any] = {"imported_mb": memory_mb("VmRSS")}
    network, start = None, time.perf_counter()
    given = (arguments.model, feed, arguments.threads, arguments.cache)
    if arguments.runtime in (OURS, WITH_FAST_MATH):
        run, network = load_armnn(*given, fast_math=arguments.runtime == WITH_FAST_MATH)
    else:
        run = LOADERS[arguments.runtime](*given)
    outputs = run()
    facts["load_ms"] = (time.perf_counter() - start) * 1e3
    np.savez(arguments.inputs.with_name(f"{os.getpid()}.npz"), *map(np.asarray, outputs))
    return run, network, facts


def report(network: Any) -> dict[str, Any]:
    """Return our network's size, and what was refused."""
    if network is None:
        return {}
    rows = network.report
    fallbacks = Counter(f"{row.type}: {row.reason}" for row in rows.fallbacks)
    counts = [row.multiply_adds for row in rows]
    return {
        "fallbacks": dict(fallbacks.most_common()),
        "layers": len(rows),
        "multiply_adds": None if None in counts else sum(counts),
    }


def burst(run: Run, seconds: float) -> dict[str, Any]:
    """Run the model for seconds; return times and memory peak.

    It runs once at least.
    """
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or (time.perf_counter() < end and len(times) < MOST_RUNS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return {"times": times, "peak_mb": memory_mb("VmHWM")}


def main() -> None:
    """Load, then answer until stdin ends."""
    parser = argparse.ArgumentParser(description="One runtime with one model, for models.py.")
    parser.add_argument("runtime", choices=LOADERS)
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("threads", type=int)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a runtime prints must not come between the answers
    try:
        run, network, facts = load(arguments)
    except Exception as error:  # whatever a runtime raises: it cannot run this model
        facts = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    print(json.dumps(facts), file=answers, flush=True)
    if "error" in facts:
        return
    for line in sys.stdin:
        asks_for_report = line.strip() == REPORT
        answer = report(network) if asks_for_report else burst(run, float(line))
        json.dump(answer, answers)  # number by number: all times as one text take 2 MiB
        print(file=answers, flush=True)


if __name__ == "__main__":
    main()
