# SPDX-License-Identifier: MIT
"""Measures one runtime on one ONNX model; prints JSON.

It is one line of JSON. ``compare.py`` runs it once per runtime and round, so that no runtime sees
the memory, the threads or the caches of another::

    python -m benchmarks.models.peer armnn:CpuRef model.onnx --seconds 2
    python -m benchmarks.models.peer onnxruntime text.onnx@1x3x48x192
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = "1"
# BLAS libraries read these when NumPy is imported, so they are set before it is.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = THREADS

import numpy as np  # noqa: E402  # see above

Run = Callable[[dict[str, Any]], Any]


def load_armnn(path: str, backend: str) -> tuple[dict[str, tuple[int, ...]], Run]:
    """Return a model's input shapes and runner on armnn."""
    import armnn

    model = armnn.load_model(path, backends=[backend])
    shapes = {name: _sizes(info.shape or ()) for name, info in model.inputs.items()}
    return shapes, model.run


def load_onnxruntime(path: str, _: str) -> tuple[dict[str, tuple[int, ...]], Run]:
    """Return a model's input shapes and runner on onnxruntime.

    It has one thread.
    """
    onnxruntime = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(THREADS)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors: warnings about unused weights would hide progress
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    shapes = {value.name: _sizes(value.shape) for value in session.get_inputs()}
    return shapes, lambda feed: session.run(None, feed)


LOADERS = {"armnn": load_armnn, "onnxruntime": load_onnxruntime}


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Unknown dimensions of an image model are batches."""
    return tuple(dim if isinstance(dim, int) else 1 for dim in shape)


def measure(runtime: str, model: str, seconds: float) -> dict[str, Any]:
    """Return median latency (ms) and peak memory (MB).

    Args:
        runtime: Which one, and on what.
        model: The file; after an @, the shape of its inputs if the file leaves more of it open
            than the batch.
        seconds: How long to measure; three runs are made in any case.
    """
    kind, _, backend = runtime.partition(":")
    path, _, wanted = model.partition("@")
    shapes, run = LOADERS[kind](path, backend)
    if wanted:
        shapes = dict.fromkeys(shapes, tuple(map(int, wanted.split("x"))))
    generator = np.random.default_rng(0)
    feed = {n: generator.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items()}
    run(feed)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run(feed)
        times.append(time.perf_counter() - start)
    return {"runtime": runtime, "median_ms": statistics.median(times) * 1e3, "peak_mb": _peak_mb()}


def _peak_mb() -> float:
    """Return the peak memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says begins, on Linux, with the peak of the process that started this one.
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runtime", help="armnn:<backend id> or onnxruntime")
    parser.add_argument("model", help="an ONNX file, or FILE@1x3x48x192 to say its input's shape")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.runtime, arguments.model, arguments.seconds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
