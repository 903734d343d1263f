# SPDX-License-Identifier: MIT
"""Print what a model's way to a worker costs.

python sent.py MODEL CACHE
"""

from __future__ import annotations

import json
import pickle
import sys
from typing import TYPE_CHECKING

import pictures
import ray

if TYPE_CHECKING:
    import armnn


@ray.remote
def arrived(model: armnn.LoadedNetwork) -> dict[str, float]:
    """Return the load times in a worker."""
    return dict(model.load_times)


def main() -> None:
    """Load a model twice; send it to a worker."""
    file, cache = sys.argv[1:]
    first = pictures.loaded(file, cache)
    ray.init(num_cpus=1, include_dashboard=False)
    times = ray.get(arrived.remote(pictures.loaded(file, cache)))
    print(
        json.dumps(
            {"bytes": len(pickle.dumps(first)), "cold": dict(first.load_times), "worker": times}
        )
    )


if __name__ == "__main__":
    main()
