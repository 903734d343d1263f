# SPDX-License-Identifier: MIT
"""Compares CpuAcc with its peers on busy machines.

It measures batches, too.

    python -m benchmarks.models.busy [NAME ...] [--cpu "AMD EPYC (Zen 5)"] [--rounds 4] [--json]

Each run time has a process of its own; they take turns in short bursts, as in speed.py. The first
run of a burst meets cold caches and is left out. The tables are part of the CPU's page in
docs/speed/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armnn_backend_neon.tuning import cpu_name
from benchmarks.models.generate_speed_pages import write_pages
from benchmarks.models.kernel_sources import digest_of_sources
from benchmarks.models.processes import PAUSE_SECONDS, RuntimeProcess
from benchmarks.models.runtimes import AT_ITS_DEFAULTS, WITH_FAST_MATH, runtimes_for
from benchmarks.models.speed import commit, compile_modules, inputs_of
from benchmarks.models.speed_records import BUSY, slug_of
from tools.models.fetch import default_cache, fetch

BURST_SECONDS = 0.4
NAMES = (
    "captcha",
    "captcha_dynamic_int8",
    "speech_enhancement",
    "minilm",
    "page_orientation",
    "text_recognition",
    "hand_landmark",
    "kws_dscnn_int8",
)


@dataclass(frozen=True)
class Situation:
    """What a machine does meanwhile.

    Attributes:
        title: For the table.
        threads: Of each process.
        processes: How many of the run time compute at once.
        on_one_cpu: Whether all its threads share one CPU.
        beside_others: Whether another process keeps one CPU busy.
        batch: How often each input is repeated along its first dimension.
    """

    title: str
    threads: int = 2
    processes: int = 1
    on_one_cpu: bool = False
    beside_others: bool = False
    batch: int = 1


SITUATIONS = (
    Situation("quiet, 1 thread", threads=1),
    Situation("quiet, 2 threads"),
    Situation("beside a busy CPU, 2 threads", beside_others=True),
    Situation("on one CPU, 2 threads", on_one_cpu=True),
    Situation("4 processes at once, 1 thread each", threads=1, processes=4),
    Situation("batch of 8, 1 thread", threads=1, batch=8),
    *(Situation(f"quiet, {count} threads", threads=count) for count in (4, 8, 16)),
)


@contextmanager
def busy_cpu() -> Iterator[None]:
    """Keep the last CPU busy."""
    last = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(last), sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()


def batch_of(path: Path, inputs: Path, count: int) -> Path | None:
    """Return inputs repeated along their first dimension.

    Returns:
        None if a first dimension is fixed, or LiteRT would have to be told the shapes.
    """
    import armnn

    if count == 1:
        return inputs
    infos = armnn.load_model(path, backends=["CpuRef"]).inputs
    shapes = [info.shape or (1,) for info in infos.values()]
    if path.suffix != ".onnx" or any(isinstance(shape[0], int) for shape in shapes):
        return None
    repeated = inputs.with_name(f"batch of {count}.npz")
    with np.load(inputs) as stored:
        arrays: dict[str, Any] = {name: np.repeat(stored[name], count, 0) for name in stored.files}
    np.savez(repeated, **arrays)
    return repeated


def measure(path: Path, inputs: Path, situation: Situation, rounds: int) -> dict[str, Any]:
    """Return each run time's median and 99th percentile, in ms."""
    others = (WITH_FAST_MATH, AT_ITS_DEFAULTS)
    runtimes = [name for name in runtimes_for(path) if name not in others]
    cpus = str(min(os.sched_getaffinity(0))) if situation.on_one_cpu else ""
    processes = {
        runtime: [
            RuntimeProcess(runtime, path, inputs, situation.threads, cpus=cpus)
            for _ in range(situation.processes)
        ]
        for runtime in runtimes
    }
    times: dict[str, list[float]] = {runtime: [] for runtime in runtimes}
    for number in range(rounds):
        at = number % len(runtimes)
        for runtime in runtimes[at:] + runtimes[:at]:
            ready = [each for each in processes[runtime] if "error" not in each.facts]
            for each in ready:
                each.begin_burst(BURST_SECONDS)
            for each in ready:
                times[runtime] += each.end_burst()[1:]
            time.sleep(PAUSE_SECONDS)
    for each in (each for group in processes.values() for each in group):
        each.close()
    return {
        runtime: {"median_ms": float(np.median(taken)), "p99_ms": float(np.percentile(taken, 99))}
        for runtime, taken in times.items()
        if taken
    }


def rows_of(name: str, rounds: int) -> Iterator[dict[str, Any]]:
    """Yield what was measured of a model, by situation."""
    path = fetch(name, default_cache())
    with tempfile.TemporaryDirectory() as temporary:
        single = inputs_of(name, path, Path(temporary))
        for situation in SITUATIONS:
            if situation.threads > max(2, len(os.sched_getaffinity(0))):
                continue  # more threads than CPUs are measured by two threads on one CPU
            inputs = batch_of(path, single, situation.batch)
            if inputs is None:
                continue
            if situation.beside_others:
                with busy_cpu():
                    found = measure(path, inputs, situation, rounds)
            else:
                found = measure(path, inputs, situation, rounds)
            yield {"model": name, "situation": situation.title, "runtimes": found}


def shown(row: Mapping[str, Any]) -> str:
    """Return a row for the terminal."""
    found = row["runtimes"].items()
    times = (f"{name} {one['median_ms']:.3g} (p99 {one['p99_ms']:.3g})" for name, one in found)
    return f"{row['model']}, {row['situation']}: {', '.join(times)} ms"


def main() -> None:
    """Measure, print, and write the CPU's page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models; default: eight")
    parser.add_argument(
        "--cpu",
        default=cpu_name() or platform.machine(),
        help="the CPU's name; default: %(default)s",
    )
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print JSON, and write nothing")
    given = parser.parse_args()
    compile_modules()
    rows = []
    for name in given.names or NAMES:
        for row in rows_of(name, given.rounds):
            rows.append(row)
            print(json.dumps(row) if given.json else shown(row), flush=True)
    if given.json:
        return
    about = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "sources": digest_of_sources(),
        "cpus": os.cpu_count(),
    }
    BUSY.mkdir(exist_ok=True)
    text = json.dumps({"about": about, "rows": rows}, indent=1)
    (BUSY / f"{slug_of(given.cpu)}.json").write_text(f"{text}\n", encoding="utf-8")
    write_pages()


if __name__ == "__main__":
    main()
