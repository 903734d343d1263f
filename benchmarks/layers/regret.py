# SPDX-License-Identifier: MIT
"""Compare CpuAcc's chosen kernels with the best ones.

    python -m benchmarks.layers.regret [--shapes 500] [--rounds 12] [--json]

The regret of a layer is the time of the kernel that its costs choose over the least time of all
kernels that can compute it, less 1. Shapes of convolutions are drawn from those of public models:
image sizes, channels and windows at random. One thread, kernels in turns, least times.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from armnn_backend_neon.measuring import (
    BLOCKED,
    CHOSEN,
    FILTERS,
    Measured,
    Shape,
    measure,
    random_shapes,
)
from armnn_backend_neon.tuning import cpu_name

TOGETHER = 10
"""Layers of a network: their memory stays small."""


def main() -> int:
    """Print the regret; return 1 above the bar.

    The bar is 3 % at the 95th percentile.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--shapes", type=int, default=500, help="how many layers")
    arguments.add_argument("--rounds", type=int, default=12, help="runs of each kernel")
    arguments.add_argument("--worst", type=int, default=10, help="rows to show")
    arguments.add_argument("--json", action="store_true", help="print JSON")
    options = arguments.parse_args()
    rows: list[dict[str, Any]] = []
    shapes = list(random_shapes(options.shapes, seed=0))
    for first in range(0, len(shapes), TOGETHER):
        rows += _regrets(shapes[first : first + TOGETHER], options.rounds)
    regrets = np.array([row["regret"] for row in rows])
    result: dict[str, Any] = {
        "cpu": cpu_name(),
        "shapes": len(rows),
        "mean": float(regrets.mean()),
        "median": float(np.median(regrets)),
        "percentile 95": float(np.quantile(regrets, 0.95)),
        "noise": float(np.quantile([row["noise"] for row in rows], 0.95)),
        "worst": sorted(rows, key=lambda row: -row["regret"])[: options.worst],
        "chosen": dict(Counter(row["chosen"] for row in rows).most_common()),
    }
    print(json.dumps(result, indent=1) if options.json else _text(result))
    return int(result["percentile 95"] > 0.03)


def _regrets(shapes: Sequence[Shape], rounds: int) -> Iterator[dict[str, Any]]:
    rows = measure(shapes, (CHOSEN, "plain", *FILTERS, *BLOCKED), rounds=rounds)
    by_shape: dict[Shape, list[Measured]] = {}
    for row in rows:  # that of CHOSEN is the first one of its shape
        by_shape.setdefault(row.shape, []).append(row)
    for shape, (taken, *others) in by_shape.items():
        same = [row.ns for row in others if row.kernel == taken.kernel]
        best = min((taken, *others), key=lambda row: row.ns)
        yield {
            "shape": asdict(shape),
            "chosen": taken.kernel,
            "best": best.kernel,
            "regret": taken.ns / best.ns - 1 if best.kernel != taken.kernel else 0.0,
            "noise": abs(taken.ns / same[0] - 1) if same else 0.0,
            "us": taken.ns / 1e3,
            "predicted us": taken.predicted_ns / 1e3,
            "best us": best.ns / 1e3,
            "best predicted us": best.predicted_ns / 1e3,
        }


def _text(result: dict[str, Any]) -> str:
    worst = "\n".join(
        f"  {row['regret']:6.1%} {row['chosen']} {row['us']:.1f} us ({row['predicted us']:.1f} "
        f"predicted) instead of {row['best']} {row['best us']:.1f} us "
        f"({row['best predicted us']:.1f}): {row['shape']}"
        for row in result["worst"]
    )
    return (
        f"{result['cpu']}: {result['shapes']} layers, regret {result['mean']:.1%} in the mean, "
        f"{result['median']:.1%} at the median, {result['percentile 95']:.1%} at the 95th "
        f"percentile\nnoise, of two measurements of one kernel: {result['noise']:.1%} at the 95th "
        f"percentile\n{worst}\nchosen: {result['chosen']}"
    )


if __name__ == "__main__":
    sys.exit(main())
