# SPDX-License-Identifier: MIT
"""The runtime's own cost per layer, with idle workloads.

::

    python -m benchmarks.overhead.per_layer [--layers 100] [--json]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from armnn import Network, Runtime, TensorInfo
from benchmarks.overhead import command
from fakes import backend_plugin, installed

ROUNDS = 2000


def chain(layers: int) -> Network:
    """Return a network of consecutive layers on a small tensor."""
    network = Network("chain")
    value = network.add_input("x", TensorInfo((1, 16)))
    for _ in range(layers):
        value = network.add_activation(value)
    network.add_output("y", value)
    return network


def measure(layers: int) -> dict[str, Any]:
    """Return median and fastest run in microseconds, also per layer."""
    with (
        tempfile.TemporaryDirectory() as folder,
        installed(Path(folder), backend_plugin("Null")),
        Runtime() as runtime,
    ):
        model = runtime.load_model(chain(layers), backends=["Null"])
        feed = {"x": np.zeros((1, 16), np.float32)}
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter_ns()
            model.run(feed)
            times.append((time.perf_counter_ns() - start) / 1e3)
    median = statistics.median(times)
    return {
        "layers": layers,
        "run_us": median,
        "fastest_run_us": min(times),
        "per_layer_us": median / layers,
    }


def line(row: dict[str, Any]) -> str:
    """Return the results as a sentence."""
    return (
        f"{row['layers']} layers that do nothing: {row['run_us']:.1f} us a run "
        f"(fastest {row['fastest_run_us']:.1f}), {row['per_layer_us']:.3f} us a layer"
    )


if __name__ == "__main__":
    sys.exit(command.run(__doc__, measure, line, "--layers", 100))
