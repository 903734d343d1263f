# SPDX-License-Identifier: MIT
"""Times to load a model in a fresh process.

    python -m benchmarks.models.load_times model.onnx model.tflite [--rounds 7] [--json]

Each round starts a process per runtime: it imports NumPy, then the runtime, loads the model and
runs it once on zeros, at one thread. Times are processor time, and wall time beside it, the least
of all rounds, so that a busy machine matters less; the processes of a round take turns. CpuAcc is
measured cold and from its cache, which two loads filled before. Python's byte code is kept for the
children, as an installer keeps it: without it each process would compile all sources.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.models.runtime_process import memory_mb
from tools import ROOT

PEERS: Final = {".onnx": ("onnxruntime", "OpenVINO"), ".tflite": ("LiteRT", "OpenVINO")}
OURS: Final = ("CpuAcc", "CpuAcc cached")
OPEN_DIMENSION: Final = 1


def child(runtime: str, model: Path, shapes: dict[str, list[Any]], cache: Path | None) -> None:
    """Load and run a model once; print times and memory."""
    import time

    import numpy as np

    from benchmarks.models.runtimes import LOADERS, MODULES, load_armnn

    module = "armnn" if runtime == "CpuAcc" else MODULES.get(runtime, "openvino")
    feed = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()}
    began, begin = time.perf_counter(), time.process_time()
    __import__(module)
    imported = time.process_time()
    if runtime == "CpuAcc":
        run = load_armnn(model, feed, 1, cache, fast_math=False)[0]
    else:
        run = LOADERS[runtime](model, feed, 1, None)
    run()
    end = time.process_time()
    times = {"import_ms": (imported - begin) * 1e3, "load_ms": (end - imported) * 1e3}
    times["wall_ms"] = (time.perf_counter() - began) * 1e3
    print(json.dumps({**times, "peak_mb": memory_mb("VmHWM")}))


def inputs_of(model: Path) -> dict[str, list[Any]]:
    """Return shape and type of each input."""
    import armnn

    found = {}
    with armnn.Runtime() as runtime:
        for name, info in runtime.load_model(model, ["CpuAcc", "CpuRef"]).inputs.items():
            shape = [each if isinstance(each, int) else OPEN_DIMENSION for each in info.shape or ()]
            found[name] = [shape, info.data_type.numpy_dtype.name]
    return found


def measured(model: Path, rounds: int, shapes: dict[str, list[Any]]) -> dict[str, dict[str, float]]:
    """Return the least figures of each runtime for a model."""
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache, code = Path(folder) / "cache", Path(folder) / "code"
        cache.mkdir(mode=0o700)
        for _ in range(2):
            _ask("CpuAcc", model, shapes, cache, code)
        names = [*OURS, *PEERS[model.suffix]]
        for _ in range(rounds):
            for name in tuple(names):
                runtime, _, cached = name.partition(" ")
                try:
                    row = _ask(runtime, model, shapes, cache if cached else None, code)
                except subprocess.CalledProcessError:
                    if name in OURS:
                        raise
                    names.remove(name)  # a peer may refuse a model, as OpenVINO does some
                    continue
                kept = best.setdefault(name, row)
                best[name] = {key: min(kept[key], row[key]) for key in row}
    return best


def _ask(
    runtime: str, model: Path, shapes: dict[str, list[Any]], cache: Path | None, code: Path
) -> dict[str, float]:
    given = json.dumps([runtime, str(model), shapes, None if cache is None else str(cache)])
    command = [sys.executable, "-m", "benchmarks.models.load_times", "--child", given]
    # The threads of NumPy's BLAS wait busily after their start, which counts as processor time.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPYCACHEPREFIX": str(code)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the results as a Markdown table."""
    lines = [
        "| model | runtime | import | load and first run | both | wall | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for model, rows in results.items():
        for runtime, row in rows.items():
            both = row["import_ms"] + row["load_ms"]
            lines.append(
                f"| {model} | {runtime} | {row['import_ms']:.1f} ms | {row['load_ms']:.1f} ms "
                f"| {both:.1f} ms | {row['wall_ms']:.1f} ms | {row['peak_mb']:.0f} MB |"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the models of the command line; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, help="model files")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        runtime, model, shapes, cache = json.loads(options.child)
        child(runtime, Path(model), shapes, None if cache is None else Path(cache))
        return 0
    results = {
        model.name: measured(model.resolve(), options.rounds, inputs_of(model))
        for model in options.models
    }
    print(json.dumps(results) if options.json else table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
