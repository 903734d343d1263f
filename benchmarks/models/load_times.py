# SPDX-License-Identifier: MIT
"""Times to load and run a model once in a fresh process, beside other runtimes.

    python -m benchmarks.models.load_times model.onnx squeezenet face_mesh [--rounds 7] [--json]

A model is a file, or the name of a public one, which is fetched and gets the shapes and constants
that the catalog has for its inputs; open dimensions of files are 1 at first, else 64. Each round
starts a process per runtime in turns: it imports NumPy, then the runtime, loads the model and runs
it once on constants, with one thread. CpuAcc is measured cold and from a cache that two loads
filled. Import and load are processor time, the least of all rounds, so that a busy machine matters
less; the stages of CpuAcc's load are wall time, those of the process that took least.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tools import ROOT

COLD, CACHED = "CpuAcc", "CpuAcc cached"
PEERS: Final = {".onnx": ("onnxruntime", "OpenVINO"), ".tflite": ("LiteRT", "OpenVINO")}
OPEN_DIMENSION: Final = 64

Inputs = Mapping[str, tuple[Sequence[int], str, float]]
"""Shape, NumPy's type and the number of each input."""


def child(runtime: str, path: Path, inputs: Inputs, cache: Path | None) -> dict[str, Any]:
    """Load and run a model once; return times in milliseconds and the peak memory in MiB."""
    import numpy as np

    from benchmarks.models.runtimes import LOADERS, MODULES, load_armnn

    feed = {name: np.full(shape, value, dtype) for name, (shape, dtype, value) in inputs.items()}
    ours, network = runtime in (COLD, CACHED), None
    began, begin = time.perf_counter(), time.process_time()
    __import__("armnn" if ours else MODULES.get(runtime, "openvino"))
    imported = time.process_time()
    if ours:
        run, network = load_armnn(path, feed, 1, cache, fast_math=False)
    else:
        run = LOADERS[runtime](path, feed, 1, None)
    run()
    row: dict[str, Any] = {
        "import_ms": (imported - begin) * 1e3,
        "load_ms": (time.process_time() - imported) * 1e3,
        "wall_ms": (time.perf_counter() - began) * 1e3,
        "peak_mb": _peak_mb(),
    }
    if network is not None:
        row["stages"] = {name: each * 1e3 for name, each in network.load_times.items()}
    return row


def _peak_mb() -> float:
    """Return the peak memory; getrusage begins with that of the process that started this one."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(dict(line.split(":", 1) for line in status.splitlines())["VmHWM"].split()[0]) / 1024


def model_of(named: str) -> tuple[Path, Inputs]:
    """Return a file, or a public model, with its inputs."""
    # Not in the processes that are measured, which import what they need.
    import armnn
    from tools.models.catalog import Feed
    from tools.models.fetch import MODELS, default_cache, fetch

    public = MODELS.get(named)
    path = Path(named) if public is None else fetch(named, default_cache())
    found = {}
    with armnn.Runtime() as runtime:
        for name, info in runtime.load_model(path, ["CpuAcc", "CpuRef"]).inputs.items():
            feed = Feed() if public is None else public.feed(name)
            shape = feed.shape or tuple(
                each if isinstance(each, int) else OPEN_DIMENSION if place else 1
                for place, each in enumerate(info.shape or ())
            )
            found[name] = (shape, info.data_type.numpy_dtype.name, feed.value or 0.0)
    return path.resolve(), found


def measured(path: Path, inputs: Inputs, rounds: int) -> dict[str, dict[str, Any]]:
    """Return the least figures of each runtime; a peer that refuses the model is left out."""
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache, code = Path(folder) / "cache", Path(folder) / "code"
        cache.mkdir(mode=0o700)
        for _ in range(2):
            _ask((CACHED, path, inputs, cache), code)
        names = [COLD, CACHED, *PEERS[path.suffix]]
        for _ in range(rounds):
            for name in tuple(names):
                try:
                    row = _ask((name, path, inputs, cache if name == CACHED else None), code)
                except subprocess.CalledProcessError:
                    if name in (COLD, CACHED):
                        raise
                    names.remove(name)
                    continue
                best[name] = least(best.get(name, row), row)
    return best


def least(kept: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lesser figures; stages are those of the faster process."""
    faster = min(kept, row, key=lambda each: float(each["wall_ms"]))
    return {name: faster[name] if name == "stages" else min(kept[name], row[name]) for name in row}


def _ask(task: Sequence[Any], code: Path) -> dict[str, Any]:
    """Return the times of a fresh process; its byte code is kept, as an installer keeps it."""
    # The threads of NumPy's BLAS wait busily after their start, which counts as processor time.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPYCACHEPREFIX": str(code)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", __spec__.name, "--child", json.dumps(task, default=str)]
    options: dict[str, Any] = {"cwd": ROOT, "env": environment, "capture_output": True}
    done = subprocess.run(command, **options, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the results as a Markdown table, and the stages of our loads."""
    lines = [
        "| model | runtime | import, ms | load and first run, ms | wall, ms | peak memory, MiB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for model, rows in results.items():
        for runtime, row in rows.items():
            times = (f"{row[name]:.1f}" for name in ("import_ms", "load_ms", "wall_ms"))
            lines.append(f"| {model} | {runtime} | {' | '.join(times)} | {row['peak_mb']:.0f} |")
    for model, rows in results.items():
        for runtime, row in rows.items():
            if "stages" in row:
                stages = (f"{name} {each:.1f}" for name, each in row["stages"].items())
                lines += ["", f"{model}, {runtime}, ms: {', '.join(stages)}"]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the models named and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="files, or names of public models")
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        runtime, path, inputs, cache = json.loads(options.child)
        print(json.dumps(child(runtime, Path(path), inputs, cache and Path(cache))))
        return 0
    results = {}
    for name in options.models:
        path, inputs = model_of(name)
        results[path.name] = measured(path, inputs, options.rounds)
    print(json.dumps(results) if options.json else table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
