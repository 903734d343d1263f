# SPDX-License-Identifier: MIT
"""Pictures per second on one and two workers.

    PYTHONPATH=examples/scaling python -m benchmarks.serving.workers MODEL PICTURE

The time from the first batch to the last one counts, so that the start of workers does not.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import pictures
import ray

PICTURES = 320


def rate(model: str, cache: str, folder: Path, workers: int) -> dict[str, float]:
    """Return the seconds until the start and the rate."""
    start = time.perf_counter()
    made = pictures.classified(pictures.loaded(model, cache), folder, workers)
    ends, used = [], set()
    for batch in made.iter_batches(batch_size=8, prefetch_batches=0):
        ends.append(time.perf_counter())
        used.update(batch["worker"].tolist())
    seconds = ends[-1] - ends[0]
    return {
        "workers": len(used),
        "seconds to the first batch": ends[0] - start,
        "pictures per second": 8 * (len(ends) - 1) / seconds,
    }


def main() -> None:
    """Print a line of JSON for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("picture", type=Path)
    given = parser.parse_args()
    ray.init(num_cpus=2, include_dashboard=False)
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
        for index in range(PICTURES):
            (Path(folder) / f"{index:04}.png").symlink_to(given.picture.resolve())
        for workers in (1, 2, 1, 2):
            found = rate(given.model, cache, Path(folder), workers)
            print(json.dumps({**found, "load average": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    main()
