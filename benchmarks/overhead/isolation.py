# SPDX-License-Identifier: MIT
"""The time of a call, in process and isolated.

A network of one Activation is run with the same arrays, in process and isolated: by ``run``, which
copies inputs and outputs, and by a bound call on arrays that it made, which copies nothing::

    python -m benchmarks.overhead.isolation [--backend CpuAcc] [--json]

What both share grows with the size: the layer itself, and the processor's transport of data from
one core's cache to another's. One thread computes in both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from armnn import CreationOptions, Network, Runtime, TensorInfo

ELEMENTS = (4, 1 << 10, 1 << 14, 1 << 17)
CALLS = 4_000
THREADS = {"CpuAcc": {"NumberOfThreads": 1}}


def network_of(elements: int) -> Network:
    """Return a network of one layer."""
    network = Network(f"activation of {elements}")
    x = network.add_input("x", TensorInfo((elements,)))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    return network


def times(backend: str, elements: int, *, is_isolated: bool, is_bound: bool) -> dict[str, float]:
    """Return a call's least, tenth and median microseconds."""
    options = CreationOptions(isolate=[backend] if is_isolated else [])
    given = {"x": np.ones(elements, np.float32)}
    wanted = {name: each for name, each in THREADS.items() if name == backend}
    with Runtime(options) as runtime:
        model = runtime.load_model(network_of(elements), [backend], model_options=wanted)
        call: Callable[[], object] = partial(model.run, given)
        if is_bound:
            bound = model.bind({"x": (elements,)})
            assert not bound.copied, "an array is copied"
            bound.inputs["x"][...] = given["x"]
            call = bound
        found = []
        for _ in range(CALLS):
            start = time.perf_counter_ns()
            call()
            found.append((time.perf_counter_ns() - start) / 1e3)
    found.sort()
    return {"least": found[0], "p10": found[CALLS // 10], "median": statistics.median(found)}


def main() -> None:
    """Print a row per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="CpuAcc")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = [
        {
            "elements": elements,
            "call": "bound" if is_bound else "run",
            "in process": times(arguments.backend, elements, is_isolated=False, is_bound=is_bound),
            "isolated": times(arguments.backend, elements, is_isolated=True, is_bound=is_bound),
        }
        for is_bound in (False, True)
        for elements in ELEMENTS
    ]
    if arguments.json:
        print(json.dumps({"load": os.getloadavg()[0], "rows": rows}))
        return
    print(f"us per call on {arguments.backend}, load {os.getloadavg()[0]:.1f}")
    print(f"{'call':6}{'elements':>9} {'in process: least, p10, median':>32} {'isolated':>27}")
    for row in rows:
        here, there = row["in process"], row["isolated"]
        cells = [f"{value:9.1f}" for each in (here, there) for value in each.values()]
        print(f"{row['call']:6}{row['elements']:9} {' ' * 4}{''.join(cells)}")


if __name__ == "__main__":
    main()
