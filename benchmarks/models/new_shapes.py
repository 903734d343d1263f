# SPDX-License-Identifier: MIT
"""First runs of new input shapes, beside onnxruntime.

    python -m benchmarks.models.new_shapes              # all models, 20 lengths each
    python -m benchmarks.models.new_shapes minilm --shapes 100
    python -m benchmarks.models.new_shapes --memory     # 12 batch sizes, and the largest alone

Each runtime has one thread. Times are the processor time of the process, which other processes
disturb least, in milliseconds: medians of the first run of a shape and of the runs after it, the
first two shapes left out, and the sum of one run of each shape.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import armnn
from tools.models.fetch import default_cache, fetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

Feed = dict[str, "NDArray[Any]"]
Run = Callable[[Feed], object]

RANDOM = np.random.default_rng(0)


def _floats(name: str, *shape: int) -> Feed:
    return {name: RANDOM.uniform(-1, 1, shape).astype(np.float32)}


def _text(batch: int, length: int) -> Feed:
    return {
        "input_ids": RANDOM.integers(1000, 29000, (batch, length)),
        "attention_mask": np.ones((batch, length), np.int64),
    }


def _sequence(length: int) -> Feed:
    states = {**_floats("h", 1, 1, 128), **_floats("c", 1, 1, 128)}
    return {**_floats("input", length, 576), **states}


def _sound(length: int) -> Feed:
    bounds = {"fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}
    return {**_floats("audio", 1, length), **bounds}


FEEDS: dict[str, Callable[[int], Feed]] = {
    "minilm": lambda n: _text(1, n),
    "minilm_dynamic_int8": lambda n: _text(1, n),
    "text_detection": lambda n: _floats("x", 1, 3, 32 * (2 + n % 12), 32 * (2 + n // 12)),
    "text_recognition": lambda n: _floats("x", 1, 3, 48, 8 * n),
    "text_direction": lambda n: _floats("x", n, 3, 48, 192),
    "silero_vad_sequence": _sequence,
    "captcha": lambda n: _floats("input1", 1, 1, 64, 8 * n),
    "captcha_dynamic_int8": lambda n: _floats("input1", 1, 1, 64, 8 * n),
    "speech_enhancement": lambda n: _floats("input", 1, n, 161),
    "swift_f0": lambda n: _sound(1000 + 256 * n),
    "file_type": lambda n: {"bytes": RANDOM.integers(0, 257, (n, 2048)).astype(np.int32)},
}
"""Inputs of a model, by a length that a user may come with."""

BATCHES: dict[str, Callable[[int], Feed]] = {
    "page_orientation": lambda n: _floats("x", n, 3, 224, 224),
    "minilm": lambda n: _text(n, 128),
    "text_recognition": lambda n: _floats("x", n, 3, 48, 320),
}


def our_run(name: str) -> Run:
    """Load a model with CpuAcc."""
    model = armnn.load_model(
        fetch(name, default_cache()),
        backends=["CpuAcc", "CpuRef"],
        backend_options={"CpuAcc": {"NumberOfThreads": 1}},
    )
    return model.run


def peer_run(name: str) -> Run:
    """Load a model with onnxruntime."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    path = fetch(name, default_cache())
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)


def timed(run: Run, feed: Feed) -> float:
    """Return the processor time of a run in milliseconds."""
    start = time.process_time()
    run(feed)
    return (time.process_time() - start) * 1e3


def measure(run: Run, feeds: list[Feed]) -> tuple[list[float], list[float]]:
    """Return each shape's first run and later median."""
    first = [timed(run, feed) for feed in feeds]
    return first, [median(timed(run, feed) for _ in range(3)) for feed in feeds[-12:]]


def compare(name: str, shapes: int) -> str:
    """Return a row of the table."""
    lengths = RANDOM.permutation(np.arange(4, 4 + shapes)).tolist()
    feeds = [FEEDS[name](int(length)) for length in lengths]
    rows = [measure(make(name), feeds) for make in (our_run, peer_run)]
    (first, later), (their_first, their_later) = rows
    last = first[-len(later) :]
    excess = max(made - 3 * warm for made, warm in zip(last, later, strict=True))
    return (
        f"{name:24}{first[0]:9.1f}{median(last):9.1f}{median(later):9.1f}{excess:12.1f}"
        f"{median(their_first[2:]):11.1f}{median(their_later):9.1f}"
        f"{sum(first) / sum(their_first):9.2f}{sum(first[1:]) / sum(their_first[1:]):9.2f}"
    )


def peak_mb(name: str, batches: str) -> int:
    """Return a process's peak memory for some batch sizes."""
    command = [sys.executable, "-m", __spec__.name, name, "--peak", batches]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The first run of new input shapes.")
    parser.add_argument("models", nargs="*", metavar="model", help="of this list; else all")
    parser.add_argument("--shapes", type=int, default=20, help="how many lengths (default: 20)")
    parser.add_argument("--memory", action="store_true", help="memory of 12 batch sizes instead")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak is not None:
        (name,) = arguments.models
        run = our_run(name)
        for batch in arguments.peak.split(","):
            run(BATCHES[name](int(batch)))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return
    if arguments.memory:
        print(f"{'':24}{'largest MB':>12}{'12 sizes MB':>12}{'ratio':>8}")
        for name in arguments.models or BATCHES:
            alone = peak_mb(name, "12")
            every = peak_mb(name, ",".join(map(str, range(1, 13))))
            print(f"{name:24}{alone:12}{every:12}{every / alone:8.2f}", flush=True)
        return
    print(
        f"{'':24}{'1st shape':>9}{'new':>9}{'later':>9}{'new-3later':>12}{'ort new':>11}"
        f"{'later':>9}{'sum':>9}{'but 1st':>9}"
    )
    for name in arguments.models or FEEDS:
        print(compare(name, arguments.shapes), flush=True)


if __name__ == "__main__":
    main()
