# SPDX-License-Identifier: MIT
"""Compares runtimes on ONNX models as ratios.

Figures are medians over interleaved rounds. Each round runs every runtime once, in the same order,
each in a process of its own on one thread::

    python -m benchmarks.models.compare resnet50.onnx --runtimes armnn:CpuRef onnxruntime
    python -m benchmarks.models.compare page.onnx text.onnx@1x3x48x192 --rounds 9 --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

PEER = "benchmarks.models.peer"


def compare(
    model: str, runtimes: list[str], rounds: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """Return each runtime's medians and ratios to the last."""
    results: dict[str, list[dict[str, Any]]] = {runtime: [] for runtime in runtimes}
    for number in range(rounds):
        for runtime in runtimes:
            print(f"round {number + 1} of {rounds}: {runtime}", file=sys.stderr)
            command = [sys.executable, "-m", PEER, runtime, model, "--seconds", str(seconds)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            results[runtime].append(json.loads(done.stdout))
    base = results[runtimes[-1]]
    return {
        runtime: {
            "median_ms": statistics.median(row["median_ms"] for row in rows),
            "peak_mb": statistics.median(row["peak_mb"] for row in rows),
            "time_ratio": _ratio(rows, base, "median_ms"),
            "memory_ratio": _ratio(rows, base, "peak_mb"),
        }
        for runtime, rows in results.items()
    }


def lines(model: str, rows: dict[str, dict[str, Any]]) -> str:
    """Return a model's results as a table.

    The last runtime is the one compared with.
    """
    *_, base = rows
    text = [f"{Path(model).name}, ratios to {base}"]
    text += [
        f"  {runtime:16s} {row['median_ms']:9.2f} ms  x{row['time_ratio']:.2f}   "
        f"{row['peak_mb']:7.0f} MB  x{row['memory_ratio']:.2f}"
        for runtime, row in rows.items()
    ]
    return "\n".join(text)


def _ratio(rows: list[dict[str, Any]], base: list[dict[str, Any]], figure: str) -> float:
    ratios: list[float] = [a[figure] / b[figure] for a, b in zip(rows, base, strict=True)]
    return statistics.median(ratios)


def main() -> int:
    """Compare and print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models", nargs="+", help="ONNX files, or FILE@1x3x48x192 to say their input's shape"
    )
    parser.add_argument("--runtimes", nargs="+", default=["armnn:CpuRef", "onnxruntime"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="per runtime and round")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    table = {
        model: compare(model, arguments.runtimes, arguments.rounds, arguments.seconds)
        for model in arguments.models
    }
    if arguments.json:
        print(json.dumps(table, indent=2))
        return 0
    for model, rows in table.items():
        print(lines(model, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
