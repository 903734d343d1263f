# SPDX-License-Identifier: MIT
"""Compare CpuAcc with onnxruntime, OpenVINO and LiteRT on the public models.

    python -m benchmarks.models.speed --cpu "AMD EPYC (Zen 5)" [NAME ...] [--rounds 4]

Without NAMEs all are measured, the CPU's record in docs/speed/ is replaced, and docs/speed.md is
written anew; with NAMEs the times are printed only.

Each pair of a runtime and a number of threads has a process of its own for each model. They take
turns in short bursts, round after round, each round beginning with another one. So a slow phase of
the machine hits all of them, and each burst begins with what its predecessor left in the caches;
the median over all runs of all bursts does not see the first run of each. After a burst comes a
pause in which threads that spin settle. A model is measured again while other processes keep cores
busy, and the quietest try counts. Outputs that differ from those of onnxruntime or LiteRT by more
than 1 % of their range are named.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.tuning import cpu_name
from benchmarks.machine import machine
from benchmarks.models import generate_speed_page
from benchmarks.models.other_cores import OtherCores
from benchmarks.models.runtime_process import RuntimeProcess
from benchmarks.models.runtimes import runtimes_for
from tools import ROOT
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

THREADS = (1, 2)
PEERS = ("openvino", "ai-edge-litert", "armnn-backend-neon")
"""Distributions whose versions are recorded besides those that every benchmark records."""

PAUSE_SECONDS = 0.03
QUIET = 0.15
"""Cores that others may keep busy before a measurement is repeated."""


def measure(name: str, rounds: int, seconds: float) -> tuple[float, dict[str, list[float | None]]]:
    """Return the cores that others kept busy, and the median times by runtime."""
    import armnn

    path = fetch(name, default_cache())
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        loaded = armnn.load_model(path, backends=["CpuRef"])
        wanted = {at: info for at, info in loaded.inputs.items() if at not in loaded.outputs}
        feed: dict[str, Any] = dict(make_feeds(MODELS[name], wanted, 1)[0])
        np.savez(inputs, **feed)
        pairs = [(runtime, threads) for threads in THREADS for runtime in runtimes_for(path)]
        processes = {pair: RuntimeProcess(pair[0], path, inputs, pair[1]) for pair in pairs}
        ready = [process for process in processes.values() if not process.error]
        clock = OtherCores(process.id for process in ready)
        for number in range(rounds):
            at = number % len(ready)
            for process in ready[at:] + ready[:at]:
                if not process.error:
                    process.burst(seconds)
                    time.sleep(PAUSE_SECONDS)
        busy = clock.read()
        times: dict[str, list[float | None]] = {}
        for (runtime, threads), process in processes.items():
            process.close()
            if process.error and threads == 1:
                print(f"{name}, {runtime}: {process.error}")
            median = None if process.error else float(f"{statistics.median(process.times):.4g}")
            times.setdefault(runtime, []).append(median)
        for line in differences({pair[0]: process for pair, process in processes.items()}):
            print(f"{name}, {line}")
    return busy, {runtime: row for runtime, row in times.items() if any(row)}


def differences(processes: dict[str, RuntimeProcess]) -> list[str]:
    """Return who differs from the format's own runtime, and by how much of the range."""
    made = {name: _outputs(each) for name, each in processes.items() if not each.error}
    right = next((made[name] for name in ("onnxruntime", "LiteRT") if name in made), [])
    found = []
    for name, outputs in made.items():
        ranges = (max(float(np.abs(each).max(initial=0.0)), 1e-12) for each in right)
        off = (np.abs(a - b).max(initial=0.0) for a, b in zip(outputs, right, strict=False))
        worst = max((float(a) / b for a, b in zip(off, ranges, strict=False)), default=0.0)
        if worst > 0.01:
            found.append(f"{name}: outputs differ by {worst:.2g} of their range")
    return found


def _outputs(process: RuntimeProcess) -> list[np.ndarray[Any, Any]]:
    with np.load(process.outputs) as stored:
        return [stored[name].astype(np.float64) for name in stored.files]


def commit() -> str:
    """Return the checkout's commit, and whether it is changed."""
    described = ["git", "describe", "--always", "--exclude=*", "--dirty= with changes"]
    asked = subprocess.run(described, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return asked.stdout.strip()


def main() -> None:
    """Measure the models; write the record and the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    possible = [name for name, model in MODELS.items() if not model.refused]
    usual = cpu_name() or platform.machine()
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models; all without one")
    parser.add_argument("--cpu", default=usual, help="the CPU's name; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--burst", type=float, default=0.12, help="seconds that a burst lasts")
    parser.add_argument("--retries", type=int, default=1, help="while other processes are busy")
    given = parser.parse_args()
    models, busiest, names = {}, 0.0, given.names or possible
    for place, name in enumerate(names, 1):
        busy, times = measure(name, given.rounds, given.burst)
        for _ in range(given.retries):
            if busy > QUIET:
                tried = measure(name, given.rounds, given.burst)
                busy, times = min(tried, (busy, times), key=lambda each: each[0])
        models[name], busiest = times, max(busy, busiest)
        print(f"[{place}/{len(names)}] {name}, {busy:.2f} other cores: {times}", flush=True)
    if given.names:
        return
    about = {
        "cpu": given.cpu,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "level": CpuAccBackend().devices()[0].name,
        "other_cores": round(busiest, 2),
        **machine(),
        **{name: importlib.metadata.version(name) for name in PEERS},
    }
    slug = re.sub(r"[^a-z0-9]+", "-", given.cpu.lower()).strip("-")
    path = generate_speed_page.RECORDS / f"{slug}.json"
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(models[name])}" for name in models)
    text = f'{{"about": {json.dumps(about, indent=1)},\n"models": {{\n{rows}\n}}}}\n'
    path.write_text(text, encoding="utf-8")
    generate_speed_page.main([])


if __name__ == "__main__":
    main()
