# SPDX-License-Identifier: MIT
"""Compares CpuAcc with its peers on the public models.

They are onnxruntime, OpenVINO and LiteRT; the results are in docs/speed/.

    python -m benchmarks.models.speed [NAME ...] [--cpu "AMD EPYC (Zen 5)"] [--anew] [--rounds 4]
    python -m benchmarks.models.speed --avx2 ...
    python -m benchmarks.models.speed --cpus 2,3 --processes 3 NAME ...

The record of each CPU is a file in docs/speed/; one of the same name is replaced, and the pages of
all of them are written anew. With --avx2 all runtimes see a CPU that ends with AVX2, which has a
record of its own; ``limited_peers.py`` says how.

Each pair of a runtime and a number of threads has a process of its own for each model, so that its
peak memory is its own. These processes live until the model is done and wait without running; they
run one after the other in short bursts, round after round, each round beginning with another one.
So a slow phase of the machine hits all of them, and each burst begins with what its predecessor
left in the caches; the median over all runs of all bursts does not see the first run of each. After
a burst comes a pause in which threads that spin settle.

Each load is of a process of its own: one without anything kept, and two with what a load before
kept, of which the faster counts. Times of a load do not include importing the runtime; the model's
file is in the page cache, and modules have their byte code, as pip leaves them. Libraries
are in the page cache as a system that was started anew reads them.

What is measured is kept per model; a session that was stopped goes on where it was. A model is
measured again if CpuAcc was built anew since, and with ``--anew``. The others of a session of some
NAMEs stay as the CPU's record has them; the page names those that older kernels measured. A model
that cannot be measured is named on the page and does not stop the session. On a machine of many
CPUs several sessions, each with CPUs and NAMEs of its own, may run side by side.

On a virtual machine whose host others use a process may be slow for all of its life, by up to two
times, as its memory is far away, say. ``--processes`` measures each pair so often, in other
processes, and its fastest process counts.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from armnn_backend_neon.backend import LIBRARY, CpuAccBackend
from armnn_backend_neon.tuning import cpu_name
from benchmarks.layers import kernel_speed
from benchmarks.machine import machine
from benchmarks.models.exact_outputs import exact_outputs
from benchmarks.models.generate_speed_pages import write_pages
from benchmarks.models.kernel_sources import digest_of_sources
from benchmarks.models.limited_peers import ARCHITECTURE, limits
from benchmarks.models.other_cores import OtherCores
from benchmarks.models.page_cache import read_libraries_again
from benchmarks.models.processes import PAUSE_SECONDS, RuntimeProcess
from benchmarks.models.runtimes import CACHING, runtimes_for
from benchmarks.models.speed_records import RECORDS, fastest, folder_of_records, slug_of
from tools import ROOT
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

Arrays: TypeAlias = "Sequence[np.ndarray[Any, Any]]"

THREADS = (1, 2)
PEERS = ("openvino", "ai-edge-litert", "armnn-backend-neon")
"""Distributions whose versions are recorded besides those that every benchmark records."""

QUIET = 0.15
"""Cores that others may keep busy before a measurement is repeated."""

MODULES_OF_OURS = (
    "armnn",
    "armnn_backend_api",
    "armnn_backend_neon",
    "armnn_backend_ref",
    "armnn_parser_onnx",
    "armnn_parser_tflite",
)


def commit() -> str:
    """Return the checkout's commit, and whether it is changed."""
    described = ["git", "describe", "--always", "--exclude=*", "--dirty= with changes"]
    asked = subprocess.run(described, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return asked.stdout.strip()


def library_digest() -> str:
    """Return what tells one build of CpuAcc from another."""
    return hashlib.sha256(Path(LIBRARY).read_bytes()).hexdigest()[:16]


def inputs_of(name: str, path: Path, folder: Path) -> Path:
    """Write what the catalogue feeds the model; return the file."""
    import armnn

    loaded = armnn.load_model(path, backends=["CpuRef"])
    wanted = {at: info for at, info in loaded.inputs.items() if at not in loaded.outputs}
    inputs = folder / "inputs.npz"
    arrays: dict[str, Any] = dict(make_feeds(MODELS[name], wanted, 1)[0])
    np.savez(inputs, **arrays)
    return inputs


def measure(name: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Return a model's record, per runtime and threads."""
    path, library = fetch(name, default_cache()), library_digest()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        inputs = inputs_of(name, path, folder)
        pairs = [(runtime, threads) for threads in THREADS for runtime in runtimes_for(path)]
        processes = {pair: RuntimeProcess(pair[0], path, inputs, pair[1]) for pair in pairs}
        ready = [process for process in processes.values() if "error" not in process.facts]
        clock = OtherCores(process.id for process in ready)
        for number in range(rounds):
            at = number % len(ready)
            for process in ready[at:] + ready[:at]:
                if "error" not in process.facts:
                    process.burst(seconds)
                    time.sleep(PAUSE_SECONDS)
        busy = clock.read()
        for process in processes.values():
            if "error" not in process.facts:
                process.read_report()
            process.close()
        rows = [_row(*pair, process) for pair, process in processes.items()]
        outputs = {pair: _outputs(process) for pair, process in processes.items() if process.times}
        _compare(rows, outputs)
        _add_errors(rows, outputs, path, inputs)
        for row in rows:
            if row["threads"] == 1 and "error" not in row and row["runtime"] in CACHING:
                row["cached_load_ms"] = cached_load(row["runtime"], path, inputs, folder)
    built = {"library": library, "sources": digest_of_sources()}
    return {**built, "other_cores": busy, "rows": rows}


def _row(runtime: str, threads: int, process: RuntimeProcess) -> dict[str, Any]:
    row = {"runtime": runtime, "threads": threads, **process.facts}
    if process.times:
        row |= {"median_ms": statistics.median(process.times), "runs": len(process.times)}
        row |= {"peak_mb": process.peak_mb}
    return row


def _compare(rows: list[dict[str, Any]], outputs: Mapping[tuple[str, int], Arrays]) -> None:
    """Add each row's distance from the first peer's outputs.

    It is a share of their range.
    """
    peers = [pair for pair in outputs if pair[0] in ("onnxruntime", "LiteRT")]
    if peers:
        _add_distances(rows, outputs, outputs[peers[0]], "distance")


def _add_errors(
    rows: list[dict[str, Any]],
    outputs: Mapping[tuple[str, int], Arrays],
    path: Path,
    inputs: Path,
) -> None:
    """Add each row's known error against float64."""
    with np.load(inputs) as stored:
        truth = exact_outputs(path, {name: stored[name] for name in stored.files})
    if truth is not None:
        _add_distances(rows, outputs, truth, "error_of_range")


def _add_distances(
    rows: list[dict[str, Any]],
    outputs: Mapping[tuple[str, int], Arrays],
    right: Arrays,
    field: str,
) -> None:
    for row in rows:
        made = outputs.get((row["runtime"], row["threads"]))
        if made is not None:
            pairs = zip(made, right, strict=True)
            row[field] = max((_distance(a, b) for a, b in pairs), default=0.0)


def _outputs(process: RuntimeProcess) -> Arrays:
    with np.load(process.outputs) as stored:
        return [stored[name].astype(np.float64) for name in stored.files]


def _distance(made: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """Return the largest relative difference; infinity for other shapes."""
    if made.shape != right.shape:
        return float("inf")
    scale = max(float(np.abs(right).max(initial=0.0)), 1e-12)
    return float(np.abs(made - right).max(initial=0.0)) / scale


def cached_load(runtime: str, path: Path, inputs: Path, folder: Path) -> float | None:
    """Return the milliseconds of a cached load, None without cache."""
    cache = folder / f"cache of {runtime}"
    cache.mkdir()
    times = []
    for _ in range(3):
        process = RuntimeProcess(runtime, path, inputs, 1, cache)
        process.close()
        times.append(process.facts.get("load_ms"))
    return min((time for time in times[1:] if time is not None), default=None)


def compile_modules() -> None:
    """Compile our modules' byte code, for editable installations."""
    for module in MODULES_OF_OURS:
        folder = Path(str(importlib.import_module(module).__file__)).parent
        compileall.compile_dir(folder, quiet=2)


def record_of(name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return a model's record, measured unless the folder has it.

    It is the quietest of the tries.
    """
    kept = folder / f"{name}.json"
    if kept.exists() and not arguments.anew:
        stored: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        if stored["library"] == library_digest():
            return stored
    given = (name, arguments.rounds, arguments.burst)
    record = fastest([measure(*given) for _ in range(arguments.processes)])
    for _ in range(arguments.retries):
        if record["other_cores"] <= QUIET:
            break
        record = min(record, measure(*given), key=lambda tried: float(tried["other_cores"]))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(record), encoding="utf-8")
    return record


def keep_written(written: Path, folder: Path) -> None:
    """Keep what a CPU's file has of other models."""
    if not written.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, record in json.loads(written.read_text(encoding="utf-8"))["models"].items():
        kept = folder / f"{name}.json"
        if not kept.exists():
            kept.write_text(json.dumps(record), encoding="utf-8")


def main() -> None:
    """Measure the models and write the page of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models; all without one")
    parser.add_argument(
        "--cpu",
        default=cpu_name() or platform.machine(),
        help="the CPU's name; default: %(default)s",
    )
    parser.add_argument(
        "--avx2", action="store_true", help="hide AVX-512 and AMX from all; adds ', AVX2' to --cpu"
    )
    parser.add_argument("--cpus", default="", help="run on these CPUs, as 2,3; default: on all")
    parser.add_argument("--anew", action="store_true", help="measure what was measured before, too")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--burst", type=float, default=0.12, help="seconds that a burst lasts")
    parser.add_argument("--processes", type=int, default=1, help="of which the fastest counts")
    parser.add_argument("--retries", type=int, default=1, help="while other processes are busy")
    arguments = parser.parse_args()
    if arguments.cpus:
        os.sched_setaffinity(0, map(int, arguments.cpus.split(",")))
    possible = [name for name, model in MODELS.items() if not model.refused]
    wanted = arguments.names or possible
    if arguments.avx2:
        arguments.cpu += ", AVX2"
        os.environ.update(limits(default_cache() / "peers-avx2"))
    folder = folder_of_records(arguments.cpu)
    written = RECORDS / f"{slug_of(arguments.cpu)}.json"
    keep_written(written, folder)
    compile_modules()
    read_libraries_again()
    start = time.monotonic()
    for place, name in enumerate(wanted, 1):
        try:
            outcome = f"{record_of(name, arguments, folder)['other_cores']:.2f} other cores"
        except Exception as error:  # of whatever reads the model, or a download
            outcome = f"not measured, {type(error).__name__}: {error}"
        minutes = (time.monotonic() - start) / 60
        print(f"[{place}/{len(wanted)}] {minutes:.1f} min, {name}: {outcome}", flush=True)
    kept = {name: folder / f"{name}.json" for name in possible}
    models = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name, file in kept.items()
        if file.exists()
    }
    about = {
        "cpu": arguments.cpu,
        "is_limited": arguments.avx2,
        "date": time.strftime("%Y-%m-%d"),
        "level": CpuAccBackend().devices()[0].name,
        "commit": commit(),
        "machine": machine() | {name: importlib.metadata.version(name) for name in PEERS},
        "kernels": kernel_speed.measure(ARCHITECTURE if arguments.avx2 else "native"),
        "missing": [name for name in possible if name not in models],
    }
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(record)}" for name, record in models.items()
    )
    written.write_text(
        f'{{"about": {json.dumps(about)},\n"models": {{\n{lines}\n}}}}\n', encoding="utf-8"
    )
    write_pages()


if __name__ == "__main__":
    main()
