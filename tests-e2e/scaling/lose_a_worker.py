# SPDX-License-Identifier: MIT
"""Kill a worker in the middle of a folder.

python lose_a_worker.py MODEL FOLDER OUTPUT
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pandas
import pictures
import ray


def main() -> None:
    """Kill the worker that answers first; write the classes."""
    model, folder, output = sys.argv[1:]
    ray.init(num_cpus=2, include_dashboard=False)
    made = pictures.classified(pictures.loaded(model, None), Path(folder), workers=2, batch=2)
    parts = []
    for part in made.iter_batches(batch_size=2, batch_format="pandas", prefetch_batches=0):
        if not parts:
            os.kill(worker := int(part["worker"].iloc[0]), signal.SIGKILL)
            print(f"killed {worker} after {len(part)} pictures")
        parts.append(part)
    pandas.concat(parts).sort_values("path").to_csv(output, index=False)


if __name__ == "__main__":
    main()
