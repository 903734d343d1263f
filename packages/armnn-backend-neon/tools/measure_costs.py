# SPDX-License-Identifier: MIT
"""Measure this machine at each register width; write ``costs/<name>.json``.

    python packages/armnn-backend-neon/tools/measure_costs.py amd-epyc-zen-4 [--recount]

The best level of each register width is measured in a process of its own; of the others only
layers of bytes are, since their instructions may be other ones. ``--recount`` keeps the times of a
file and counts the work of its layers again, after a change of the units, for any CPU; layers of
bytes only at levels that this one has. ``generate_costs.py`` makes CpuAcc's tables of all files in
``costs/``. CpuAcc must be built for all levels.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from choices import Chooser

from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.costs import UNITS, Costs, file_text
from armnn_backend_neon.measuring import Measured, Shape, kernels_of, measure, random_shapes
from armnn_backend_neon.tuning import (
    caches,
    cpu_name,
    known_ns,
    lanes,
    measured_rows,
    rows_of_bytes,
)

RANDOM = 120
"""Layers beside those of ``armnn tune --machine``."""
RANDOM_OF_BEST = 850
"""The same for this machine's best level, which all processes on such machines use."""
RANDOM_BFLOAT16 = 150
"""Layers of the best level by kernels in bfloat16 only."""
RANDOM_OF_BYTES = 90
"""Layers of bytes; a third are depthwise."""
PASSES = 3
"""Over all layers, minutes apart, each in memory elsewhere and beside other work."""
SLOW = 2.0
"""Kernels that took longer than this times a layer's least in the first pass have no other."""
NEAR = 1.3
"""Kernels that take longer than this times the fastest one of a layer are no choice to learn."""
FOLDER = Path(__file__).resolve().parents[1] / "costs"
LEVEL = "ARMNN_CPUACC_ISA"
WIDTHS = (4, 8, 16)
"""Floats in a register; of each width the best level that this machine has is measured."""


def main() -> int:
    """Write the file; as a child print one level's times."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", help="of the file")
    arguments.add_argument("--rounds", type=int, default=12, help="runs of each layer")
    arguments.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--best", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--bytes", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--recount", action="store_true", help="the work of measured layers")
    options = arguments.parse_args()
    if options.recount and options.here:
        shapes = [_shape(layer) for layer in json.load(sys.stdin)]
        rows = measure(shapes, ("plain",), rounds=1)
        json.dump([_kept(row)["work"] for row in rows], sys.stdout)
        return 0
    if options.recount:
        path = FOLDER / f"{options.name}.json"
        path.write_text(_text(recounted(json.loads(path.read_text()))), encoding="utf-8")
        return 0
    if options.here:
        measured = _of_bytes(options.rounds) if options.bytes else _of_level(options)
        json.dump(measured, sys.stdout)
        return 0
    sections = list(_sections(options.name, options.rounds))
    path = FOLDER / f"{options.name}.json"
    about = {"cpu": cpu_name(), "date": str(datetime.date.today()), "about": ""}
    path.write_text(_text({**about, "sections": sections}), encoding="utf-8")
    print(f"wrote {path}")
    return 0


def _of_bytes(rounds: int) -> dict[str, Any]:
    """Return the level's times for layers of bytes."""
    return {"rows": _kept_of_level([*rows_of_bytes(rounds), *_random_rows_of_bytes(rounds)])}


def _of_level(options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of the level in use."""
    passes = [_fixed(options.rounds)]
    count = RANDOM_OF_BEST if options.best else RANDOM
    has_bfloat16 = any(_belongs(row.kernel, fast_math=True) for row in passes[0][1])
    layers = [(shape, False) for shape in random_shapes(count, seed=1001)]
    if options.best and has_bfloat16:
        layers += [(shape, True) for shape in random_shapes(RANDOM_BFLOAT16, seed=1002)]
    random = [*_random_rows_of_bytes(options.rounds), *_random_rows(layers, options.rounds)]
    passes += [_fixed(options.rounds) for _ in range(PASSES - 1)]
    known = {unit: statistics.median(ns[unit] for ns, _ in passes) for unit in passes[0][0]}
    found = [*map(_median, zip(*(rows for _, rows in passes), strict=True)), *random]
    return {"lanes": lanes(), "known": known, "rows": _kept_of_level(found)}


def _fixed(rounds: int) -> tuple[dict[str, float], list[Measured]]:
    """Return a pass of what ``armnn tune --machine`` measures."""
    return known_ns(), measured_rows(rounds)


def _kept_of_level(rows: Sequence[Measured]) -> list[dict[str, Any]]:
    level = {"level": os.environ[LEVEL]}
    return [{**_kept(row), **(level if row.shape.is_of_bytes else {})} for row in rows]


def recounted(measurement: dict[str, Any]) -> dict[str, Any]:
    """Return a measurement with its work counted again.

    Convolutions in floats are counted for any level, others where this machine has the level.
    """
    with tempfile.TemporaryDirectory() as folder:
        chooser = Chooser(Path(folder))
        for section in measurement["sections"]:
            _recount(section, chooser)
    return measurement


def _recount(section: dict[str, Any], chooser: Chooser) -> None:
    """Count the work of a section's layers again."""
    by_level: dict[str, list[dict[str, Any]]] = {}
    floats = []
    for row in section["rows"]:
        if row["layer"].startswith(("depthwise", "bytes")):
            by_level.setdefault(row.get("level", section["level"]), []).append(row)
        else:
            floats.append(row)
    texts = chooser.answers(
        _text_that_allows_all(section["caches"]), section["level"], [*map(_question, floats)]
    )
    for row, text in zip(floats, texts, strict=True):
        words = text.split()
        counts = dict(zip(words[::2], map(float, words[1::2]), strict=True))
        row["work"] = _rounded({unit: count for unit, count in counts.items() if count})
        if not counts:
            raise ValueError(f"{row['layer']} has no kernel {row['kernel']!r}")
    for level, rows in by_level.items():
        if level not in _levels():
            print(f"{len(rows)} layers of {level} are not counted here", file=sys.stderr)
            continue
        with _costs_that_allow_all(section["caches"]):
            again = _child(
                level, "any", "--recount", "--here", given=[row["layer"] for row in rows]
            )
        for row, work in zip(rows, again, strict=True):
            row["work"] = work


def _question(row: dict[str, Any]) -> str:
    """Return what asks for a row's work."""
    shape = _shape(row["layer"])
    numbers = (*shape.image, shape.channels, shape.outputs, *shape.window, shape.stride)
    return f"work {' '.join(map(str, numbers))} {row['kernel']}"


def _child(level: str, *arguments: str, given: Sequence[dict[str, Any]] = ()) -> Any:
    """Return what this program prints when it uses a level."""
    ended = subprocess.run(
        [sys.executable, __file__, *arguments],
        env={**os.environ, LEVEL: level},
        input=json.dumps(given).encode(),
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(ended.stdout)


def _shape(layer: str) -> Shape:
    """Return the layer that :func:`_kept` named."""
    found = re.fullmatch(r"(bytes )?(depthwise )?(\d+)-(\d+)@(\d+)x(\d+) (\d+)x(\d+)/(\d+)", layer)
    assert found is not None, layer
    channels, outputs, height, width, *window, stride = map(int, found.groups()[2:])
    tall, wide = window
    kinds = {"is_of_bytes": found[1] is not None, "is_depthwise": found[2] is not None}
    return Shape((height, width), channels, outputs, (tall, wide), stride, **kinds)


def _random_rows(layers: Sequence[tuple[Shape, bool]], rounds: int) -> Iterator[Measured]:
    """Yield the good kernels of layers.

    Each is a layer and whether fast math counts.
    """
    found: dict[tuple[Shape, bool], dict[str, list[Measured]]] = {layer: {} for layer in layers}
    for _ in range(PASSES):
        for (shape, fast_math), by_kernel in found.items():
            names = _worth_measuring(shape, by_kernel, fast_math=fast_math)
            rows = measure([shape, shape], names, rounds=rounds, fast_math=fast_math)
            # The second of two equal layers.
            for row in {row.kernel: row for row in rows}.values():
                by_kernel.setdefault(row.kernel, []).append(row)
    for by_kernel in found.values():
        yield from _near_the_fastest([_median(rows) for rows in by_kernel.values()])


def _worth_measuring(
    shape: Shape, by_kernel: Mapping[str, Sequence[Measured]], *, fast_math: bool
) -> list[str]:
    """Return the kernels of a layer's next pass."""
    if not by_kernel:
        names = kernels_of(shape, fast_math=fast_math)
        return [name for name in names if _belongs(name, fast_math=fast_math)]
    least = min(rows[0].ns for rows in by_kernel.values())
    return [name for name, rows in by_kernel.items() if rows[0].ns <= SLOW * least]


def _random_rows_of_bytes(rounds: int) -> Iterator[Measured]:
    """Yield random layers of bytes."""
    shapes = [
        replace(
            shape,
            is_of_bytes=True,
            is_depthwise=place % 3 == 0,
            outputs=shape.channels if place % 3 == 0 else shape.outputs,
        )
        for place, shape in enumerate(random_shapes(RANDOM_OF_BYTES, seed=1003))
    ]
    passes = [
        [measure([shape, shape], rounds=rounds)[-1] for shape in shapes] for _ in range(PASSES)
    ]
    yield from map(_median, zip(*passes, strict=True))


def _belongs(kernel: str, *, fast_math: bool) -> bool:
    return kernel.endswith("bfloat16") == fast_math


def _median(rows: Sequence[Measured]) -> Measured:
    """Return a kernel's time over passes."""
    typical = [statistics.mean(sorted(row.runs)[:2]) for row in rows]
    return replace(rows[0], ns=statistics.median(typical))


def _near_the_fastest(rows: Sequence[Measured]) -> list[Measured]:
    """Return the good ones of a layer's kernels."""
    fastest = min((row.ns for row in rows), default=0.0)
    return [row for row in rows if row.ns <= NEAR * fastest]


def _kept(row: Measured) -> dict[str, Any]:
    shape = row.shape
    height, width = shape.image
    kind = ("bytes " if shape.is_of_bytes else "") + ("depthwise " if shape.is_depthwise else "")
    size = f"{shape.channels}-{shape.outputs}@{height}x{width}"
    window = f"{shape.window[0]}x{shape.window[1]}/{shape.stride}"
    return {
        "layer": f"{kind}{size} {window}",
        "kernel": row.kernel,
        "work": _rounded(row.work),
        "ns": row.ns,
    }


def _rounded(work: Mapping[str, float]) -> dict[str, float]:
    return {unit: float(f"{count:.4g}") for unit, count in work.items()}


def _sections(name: str, rounds: int) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with _costs_that_allow_all(caches()):
        for level in _levels():
            width = _width_of(level)
            print(f"{level}, {width} floats in a register", file=sys.stderr, flush=True)
            asked = [name, "--rounds", str(rounds), "--here"]
            asked += [] if found else ["--best"]
            if width in found:
                found[width]["rows"] += _child(level, *asked, "--bytes")["rows"]
            else:
                found[width] = {"level": level, "caches": caches(), **_child(level, *asked)}
    return list(found.values())


def _levels() -> list[str]:
    """Return the levels of this machine, the best one first."""
    return str(CpuAccBackend().devices()[0].info[f"{LEVEL} may be"]).split(", ")


def _width_of(level: str) -> int:
    """Return the floats in a register, which a process tells."""
    asked = "from armnn_backend_neon.tuning import lanes; print(lanes())"
    return int(
        subprocess.check_output([sys.executable, "-c", asked], env={**os.environ, LEVEL: level})
    )


def _text_that_allows_all(sizes: Mapping[str, int]) -> str:
    ns = {**dict.fromkeys(UNITS, 1.0), "bfloat16_multiply_add": 0.0, "rounded": 0.0}
    return file_text("any", [Costs(floats, sizes, ns) for floats in WIDTHS])


@contextmanager
def _costs_that_allow_all(sizes: Mapping[str, int]) -> Iterator[None]:
    """Let children use costs that choose products in bfloat16.

    The built-in ones may be of other units.
    """
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs"
        costs.write_text(_text_that_allows_all(sizes), encoding="utf-8")
        os.environ["ARMNN_CPUACC_COSTS"] = str(costs)
        yield
        del os.environ["ARMNN_CPUACC_COSTS"]


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
