# SPDX-License-Identifier: MIT
"""Compare CpuAcc's chosen kernels with the best ones.

    python -m benchmarks.layers.regret [--shapes 500] [--seed 4] [--record FILE] [--json]

The regret of a layer is the time of the kernel that its costs choose over the least time of all
kernels that can compute it, less 1. Shapes of convolutions are drawn from those of public models:
image sizes, channels and windows at random. One thread, all kernels of a layer in turns.

A kernel's time depends on the place of its memory, by up to 40 %, and on what else runs. So all
layers are measured in several passes, minutes apart, each in memory elsewhere. A pass has the least
times of some runs, and a kernel's time is the median over the passes.

The noise is the regret of kernels that every other pass chooses, judged by the others: no choice
can be shown to be better than that. The fair regret is that over the same kernels, by the same
judges: the best kernel of all passes is one that was lucky in them.

``--record`` keeps the times of each layer and pass as a line of JSON; a run with the same file adds
the passes that are missing, and then asks only what is chosen. Kernels that took more than ``SLOW``
times the least in a layer's first pass have no other. Costs were fitted to layers of seeds 1 and
1001, seeds 2, 3, 5 to 9 and 11 to 17 were looked at: take others.

At real-time priority on one CPU (``taskset -c 1 chrt -f 10``) a pass has a tenth of the noise,
unless a host of virtual machines gives the CPU to others, too.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from armnn_backend_neon.measuring import Shape, chosen, kernels_of, measure, random_shapes
from armnn_backend_neon.tuning import cpu_name

BAR = 0.03
SLOW = 2.0
LARGEST_HOLE = 256 * 1024
"""Bytes of memory that a pass leaves out before its networks, to move them."""

Times = Mapping[str, Sequence[float]]
"""Of each kernel of a layer, by passes."""


def main() -> int:
    """Print the regret; return 1 above the bar.

    The bar is 3 % at the 95th percentile.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--shapes", type=int, default=500, help="how many layers")
    arguments.add_argument("--seed", type=int, default=4, help="of the layers")
    arguments.add_argument("--passes", type=int, default=8, help="over all layers")
    arguments.add_argument("--rounds", type=int, default=12, help="runs of each kernel in a pass")
    arguments.add_argument("--record", type=Path, help="keeps the times and goes on behind them")
    arguments.add_argument("--worst", type=int, default=10, help="rows to show")
    arguments.add_argument("--json", action="store_true", help="print JSON")
    options = arguments.parse_args()
    shapes = list(random_shapes(options.shapes, seed=options.seed))
    times = recorded(shapes, options.passes, options.rounds, options.record)
    # Beside the constants of another layer, as it was measured.
    choices = [chosen([shape, shape])[-1] for shape in shapes]
    result = summary([regret(*layer) for layer in zip(shapes, times, choices, strict=True)])
    result["worst"] = result["worst"][: options.worst]
    result = {"cpu": cpu_name(), "shapes": len(shapes), "seed": options.seed, **result}
    print(json.dumps(result, indent=1) if options.json else text(result))
    return int(result["percentile 95"] > BAR)


def recorded(
    shapes: Sequence[Shape], passes: int, rounds: int, record: Path | None
) -> list[dict[str, list[float]]]:
    """Return the times of each layer, kept or measured."""
    kept = record.read_text(encoding="utf-8").splitlines() if record and record.exists() else []
    found: list[dict[str, list[float]]] = [{} for _ in shapes]
    for number in range(max(len(kept), passes * len(shapes))):
        place = number % len(shapes)
        expected = json.loads(json.dumps(asdict(shapes[place])))
        if number < len(kept):
            line = json.loads(kept[number])
            if line["shape"] != expected:
                raise SystemExit(
                    f"{record}: line {number + 1} is of another layer; name a new file"
                )
        else:
            line = {"shape": expected, "kernels": measured(shapes[place], rounds, found[place])}
            if record:
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
        for kernel, ns in line["kernels"].items():
            found[place].setdefault(kernel, []).append(ns)
    return found


def measured(shape: Shape, rounds: int, before: Times) -> dict[str, float]:
    """Return the nanoseconds of each kernel in a pass.

    A layer of the same shape comes before: the memory of what is between is in the caches.

    Args:
        shape: The layer.
        rounds: How often each kernel runs.
        before: What earlier passes found: after the first one, only the good kernels run.
    """
    names = kernels_of(shape)
    if before:
        least = min(times[0] for times in before.values())
        names = [name for name in names if name in before and before[name][0] <= SLOW * least]
        if len(names) == 1:
            return {}
    random.shuffle(names)
    hole = np.empty(random.randrange(LARGEST_HOLE), np.uint8)
    rows = measure([shape, shape], names, rounds=rounds)
    del hole
    return {row.kernel: typical(row.runs) for row in rows}


def typical(runs: Sequence[float]) -> float:
    """Return the mean of the two least times, in nanoseconds."""
    return float(np.mean(sorted(runs)[:2]))


def regret(shape: Shape, times: Times, taken: str) -> dict[str, Any]:
    """Return what the choice of a layer costs.

    Args:
        shape: The layer.
        times: Of its kernels.
        taken: The chosen kernel.
    """
    whole = {kernel: median(own) for kernel, own in times.items()}
    best = min(whole, key=lambda kernel: whole[kernel])
    noise, fair = halves(times, taken)
    return {
        "shape": asdict(shape),
        "chosen": taken,
        "best": best,
        "regret": whole[taken] / whole[best] - 1,
        "noise": noise,
        "fair regret": fair,
        "us": whole[taken] / 1e3,
        "best us": whole[best] / 1e3,
    }


def halves(times: Times, taken: str) -> tuple[float, float]:
    """Return the noise and the fair regret of a layer.

    Every other pass chooses the best kernel, and the rest judges it.
    """
    most = max(map(len, times.values()))
    if most == 1 or len(times[taken]) < most:
        least = min(median(own) for own in times.values())
        return 0.0, median(times[taken]) / least - 1
    judges = [
        {kernel: median(own[half::2]) for kernel, own in times.items() if len(own) == most}
        for half in (0, 1)
    ]
    best = [min(judge, key=lambda kernel: judge[kernel]) for judge in judges]
    pairs = [(judges[k], best[1 - k], best[k]) for k in (0, 1)]
    noise = [judge[other] / judge[own] - 1 for judge, other, own in pairs]
    fair = [judge[taken] / judge[other] - 1 for judge, other, _ in pairs]
    return float(np.mean(noise)), float(np.mean(fair))


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the statistics of layers; the worst ones come first."""
    regrets = np.array([row["regret"] for row in rows])
    return {
        "mean": float(regrets.mean()),
        "median": float(np.median(regrets)),
        "percentile 95": float(np.quantile(regrets, 0.95)),
        "noise": float(np.quantile([row["noise"] for row in rows], 0.95)),
        "fair mean": float(np.mean([row["fair regret"] for row in rows])),
        "fair percentile 95": float(np.quantile([row["fair regret"] for row in rows], 0.95)),
        "worst": sorted(rows, key=lambda row: -row["regret"]),
        "chosen": dict(Counter(row["chosen"] for row in rows).most_common()),
    }


def text(result: Mapping[str, Any]) -> str:
    """Return a summary in words."""
    worst = "\n".join(
        f"  {row['regret']:6.1%} {row['chosen']} {row['us']:.1f} us instead of {row['best']} "
        f"{row['best us']:.1f} us: {row['shape']}"
        for row in result["worst"]
    )
    return (
        f"{result['cpu']}: {result['shapes']} layers, regret {result['mean']:.1%} in the mean, "
        f"{result['median']:.1%} at the median, {result['percentile 95']:.1%} at the 95th "
        f"percentile\nnoise, half of the passes judged by the others: {result['noise']:.1%} at the "
        f"95th percentile\nfair regret: {result['fair mean']:.1%} in the mean, "
        f"{result['fair percentile 95']:.1%} at the 95th percentile\n{worst}\n"
        f"chosen: {result['chosen']}"
    )


if __name__ == "__main__":
    sys.exit(main())
