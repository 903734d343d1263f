# SPDX-License-Identifier: MIT
"""What one worker costs, from which docs/scaling.md calculates.

python -m benchmarks.serving.scaling_inputs MODEL PICTURE
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

import armnn

BATCH = 8
LOADS = 5
RUNS = 20


def loaded(model: str, cache: str) -> armnn.LoadedNetwork:
    """Return the model as a worker of examples/scaling/ loads it."""
    return armnn.load_model(
        model,
        ["CpuAcc", "CpuRef"],
        backend_options={"CpuAcc": {"NumberOfThreads": 1}},
        shapes=[{"x": (BATCH, 3, 224, 224)}],
        cache_dir=cache,
    )


def memory() -> dict[str, int]:
    """Return this process's written and mapped kilobytes."""
    found = {"written": 0, "mapped": 0}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, size, *_ = line.split()
        if name == "Private_Dirty:":
            found["written"] += int(size)
        elif name in ("Private_Clean:", "Shared_Clean:"):
            found["mapped"] += int(size)
    return found


def worker(model: str, cache: str) -> dict[str, float]:
    """Return what a worker costs in this process."""
    before, start = memory(), time.process_time()
    network = loaded(model, cache)
    load = time.process_time() - start
    network.run({"x": np.zeros((BATCH, 3, 224, 224), np.float32)})
    after = memory()
    return {
        "load": load,
        "pickle": len(pickle.dumps(network)),
        **{name: after[name] - before[name] for name in after},
    }


def in_new_process(model: str, cache: str) -> dict[str, float]:
    """Return the same of a fresh process."""
    command = [sys.executable, "-m", __spec__.name, model, "--worker", cache]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def per_picture(model: str, cache: str, picture: str) -> dict[str, float]:
    """Return the least processor seconds to decode and to run."""
    network, given = loaded(model, cache), np.zeros((BATCH, 3, 224, 224), np.float32)
    least = {"decode": float("inf"), "run": float("inf")}
    for _ in range(RUNS):
        start = time.process_time()
        with Image.open(picture) as image:
            np.asarray(image.convert("RGB").resize((224, 224)), np.float32)
        least["decode"] = min(least["decode"], time.process_time() - start)
        start = time.process_time()
        network.run({"x": given})
        least["run"] = min(least["run"], (time.process_time() - start) / BATCH)
    return least


def main() -> None:
    """Print the measured inputs as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--worker", metavar="CACHE", help="measure in this process")
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(worker(given.model, given.worker)))
        return
    with tempfile.TemporaryDirectory() as cache:
        cold = in_new_process(given.model, cache)
        cached = [in_new_process(given.model, cache) for _ in range(LOADS)]
        prepared = sum(each.stat().st_size for each in Path(cache).iterdir())
        found = {
            "load average": os.getloadavg()[0],
            "bytes": {
                "model": Path(given.model).stat().st_size,
                "prepared": prepared,
                "pickle": cold["pickle"],
                "picture": Path(given.picture).stat().st_size,
                "tensor": 4 * 3 * 224 * 224,
            },
            "load": {"cold": cold["load"], "cached": min(each["load"] for each in cached)},
            "memory in kB": {name: cached[-1][name] for name in ("written", "mapped")},
            "per picture": per_picture(given.model, cache, given.picture),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
