# SPDX-License-Identifier: MIT
"""Run all benchmarks and check their budgets.

Their tables are printed. Takes about three minutes for the three models of tools/models/fetch.py.
Exits with 1 when a budget is exceeded::

    python -m benchmarks.budgets --resnet50 resnet50.onnx page.onnx text.onnx@1x3x48x192
    python -m benchmarks.budgets --resnet50 resnet50.onnx --output results.json --rounds 9
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.layers import against_numpy
from benchmarks.machine import machine
from benchmarks.models import compare
from benchmarks.overhead import bound_step, dynamic_loading, per_layer

RUNTIMES = ["armnn:CpuRef", "onnxruntime"]
STARTS = 5
IMPORT = """
import time
import numpy
start = time.process_time()
import armnn
armnn.load_model
print(time.process_time() - start)
"""
VERSION = ["-m", "armnn", "--version"]
BACKENDS = ["-m", "armnn", "backends"]


@dataclass(frozen=True, slots=True)
class Budget:
    """A figure and what it may be at most."""

    what: str
    figure: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the figure is within the limit."""
        return self.figure <= self.limit

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "EXCEEDED"
        return f"{self.what:52s} {self.figure:8.3f}  at most {self.limit:<5g} {verdict}"


def import_seconds() -> float:
    """Return the processor time from NumPy to ``armnn.load_model``.

    ``import armnn`` alone imports next to nothing. It is the best of five.
    """
    return min(float(_start(["-c", IMPORT])) for _ in range(STARTS))


def command_seconds(arguments: list[str]) -> float:
    """Return the processor time of a Python process.

    It is the best of five. On an idle core the user waits as long.
    """
    times = [_children_seconds()]
    for _ in range(STARTS):
        _start(arguments)
        times.append(_children_seconds())
    return min(after - before for before, after in pairwise(times))


def _start(arguments: list[str]) -> str:
    """Return what a Python process prints.

    The first one writes the byte code that is missing, as an installer does.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return run.stdout


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(resnet50: str, models: list[str], rounds: int, seconds: float) -> dict[str, Any]:
    """Run everything; return results by script."""
    return {
        "machine": machine(),
        "import_seconds": import_seconds(),
        "version_seconds": command_seconds(VERSION),
        "backends_seconds": command_seconds(BACKENDS),
        "overhead": per_layer.measure(100),
        "bound_step": bound_step.measure(),
        "dynamic_loading": dynamic_loading.measure(5),
        "layers": against_numpy.table([], 31),
        "compare": {
            model: compare.compare(model, RUNTIMES, rounds, seconds)
            for model in (resnet50, *models)
        },
    }


def budgets(results: dict[str, Any], resnet50: str) -> list[Budget]:
    """Return the figures that must hold."""
    ours = results["compare"][resnet50][RUNTIMES[0]]
    return [
        Budget("armnn.load_model after NumPy, seconds", results["import_seconds"], 0.06),
        Budget("armnn --version, seconds", results["version_seconds"], 0.15),
        Budget("armnn backends, seconds", results["backends_seconds"], 0.15),
        Budget("overhead, microseconds a layer", results["overhead"]["per_layer_us"], 2),
        Budget("bound step in C, microseconds", results["bound_step"]["step_us"], 3),
        Budget("dynamic loading, cold, seconds", results["dynamic_loading"]["cold_seconds"], 3),
        Budget("dynamic loading, warm, seconds", results["dynamic_loading"]["warm_seconds"], 0.2),
        Budget("slowest layer, time of its NumPy expression", results["layers"][0]["ratio"], 3),
        Budget("ResNet-50, time of onnxruntime on one thread", ours["time_ratio"], 8),
        Budget("ResNet-50, peak memory of onnxruntime", ours["memory_ratio"], 2.5),
    ]


def main() -> int:
    """Measure, write the results, print the tables and the budgets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="further models to compare, see compare.py")
    parser.add_argument("--resnet50", required=True, metavar="MODEL", help="the one with a budget")
    parser.add_argument("--rounds", type=int, default=5, help="of compare.py; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=2.0, help="per runtime and round")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there, JSON")
    arguments = parser.parse_args()
    resnet50 = arguments.resnet50
    results = measure(resnet50, arguments.models, arguments.rounds, arguments.seconds)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(results, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in results["machine"].items()))
    print(per_layer.line(results["overhead"]))
    print(bound_step.line(results["bound_step"]))
    print(dynamic_loading.line(results["dynamic_loading"]))
    print(against_numpy.lines(results["layers"]))
    for model, rows in results["compare"].items():
        print(compare.lines(model, rows))
    checked = budgets(results, resnet50)
    print(*checked, sep="\n")
    return 0 if all(budget.holds for budget in checked) else 1


if __name__ == "__main__":
    sys.exit(main())
