# SPDX-License-Identifier: MIT
"""Measure this machine at each register width; write ``costs/<name>.json``.

    python packages/armnn-backend-neon/tools/measure_costs.py amd-epyc-zen-4

A level is measured in a process of its own. ``generate_costs.py`` makes CpuAcc's tables of all
files in ``costs/``. CpuAcc must be built for all levels.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.costs import UNITS, Costs, file_text
from armnn_backend_neon.measuring import Measured, measure, random_shapes
from armnn_backend_neon.tuning import CACHES, caches, cpu_name, known_ns, lanes, measured_rows

RANDOM = {16: 850, 8: 120, 4: 120}
"""Layers beside those of ``armnn tune --machine``, by the floats in a register."""
NEAR = 1.3
"""Kernels that take longer than this times the fastest one of a layer are no choice to learn."""
FOLDER = Path(__file__).resolve().parents[1] / "costs"
WIDTHS = (4, 8, 16)
"""Floats in a register; of each width the best level that this machine has is measured."""


def main() -> int:
    """Write the file; as a child print one level's times."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", help="of the file")
    arguments.add_argument("--rounds", type=int, default=12, help="runs of each layer")
    arguments.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.here:
        rows = measured_rows(options.rounds)
        for shape in random_shapes(RANDOM[lanes()], seed=1001):
            rows += _near_the_fastest(measure([shape, shape], rounds=options.rounds))
        known = known_ns()
        json.dump({"lanes": lanes(), "known": known, "rows": [*map(_kept, rows)]}, sys.stdout)
        return 0
    sections = list(_sections(options.name, options.rounds))
    path = FOLDER / f"{options.name}.json"
    about = {"cpu": cpu_name(), "date": str(datetime.date.today()), "about": ""}
    path.write_text(_text({**about, "sections": sections}), encoding="utf-8")
    print(f"wrote {path}")
    return 0


def _near_the_fastest(rows: Sequence[Measured]) -> list[Measured]:
    """Return the second of two equal layers per good kernel."""
    seconds = {row.kernel: row for row in rows}
    fastest = min(row.ns for row in seconds.values())
    return [row for row in seconds.values() if row.ns <= NEAR * fastest]


def _kept(row: Measured) -> dict[str, Any]:
    shape = row.shape
    height, width = shape.image
    kind = "depthwise " if shape.is_depthwise else ""
    size = f"{shape.channels}-{shape.outputs}@{height}x{width}"
    window = f"{shape.window[0]}x{shape.window[1]}/{shape.stride}"
    return {
        "layer": f"{kind}{size} {window}",
        "kernel": row.kernel,
        "work": {unit: float(f"{count:.4g}") for unit, count in row.work.items()},
        "ns": row.ns,
    }


def _sections(name: str, rounds: int) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs"
        costs.write_text(_costs_that_allow_all(), encoding="utf-8")
        os.environ["ARMNN_CPUACC_COSTS"] = str(costs)  # the built-in ones may be of other units
        for level in str(CpuAccBackend().devices()[0].info["ARMNN_CPUACC_ISA may be"]).split(", "):
            environment = {**os.environ, "ARMNN_CPUACC_ISA": level}
            child = [sys.executable, __file__, name, "--rounds", str(rounds), "--here"]
            ended = subprocess.run(child, env=environment, check=True, stdout=subprocess.PIPE)
            section = {"level": level, "caches": caches(), **json.loads(ended.stdout)}
            found.setdefault(section["lanes"], section)
    return list(found.values())


def _costs_that_allow_all() -> str:
    """Return costs by which products in bfloat16 are chosen."""
    ns = {**dict.fromkeys(UNITS, 1.0), "bfloat16_multiply_add": 0.0, "rounded": 0.0}
    sizes = dict.fromkeys(CACHES, 1024 * 1024)
    return file_text("any", [Costs(floats, sizes, ns) for floats in WIDTHS])


def _text(measurement: dict[str, Any]) -> str:
    """Return it as JSON with a line for each layer."""
    text = json.dumps(measurement, indent=1)
    for section in measurement["sections"]:
        for row in section["rows"]:
            indented = json.dumps(row, indent=1).replace("\n", "\n    ")
            text = text.replace(indented, json.dumps(row))
    return text + "\n"


if __name__ == "__main__":
    sys.exit(main())
