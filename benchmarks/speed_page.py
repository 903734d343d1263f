# SPDX-License-Identifier: MIT
"""Draws docs/speed.md and docs/speed.svg from docs/speed.json, which models.py measured.

python benchmarks/speed_page.py
"""

from __future__ import annotations

import importlib
import json
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from runtimes import AT_ITS_DEFAULTS, OURS, WITH_FAST_MATH

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECORDS = DOCS / "speed.json"
OVERHEAD_MS = 0.05
"""Models whose fastest peer is quicker measure the overhead of a run."""

INTRODUCTION = """\
# Speed of CpuAcc

Written by `python benchmarks/models.py` (`nox -s speed`), which says in its docstring how it
measures; not edited by hand.

Latency is the median of a run, setting inputs and reading outputs included, float32 kept float32
in all runtimes and int8 as int8. **Ratio** is the time of CpuAcc over that of the fastest peer:
below 1 CpuAcc is faster. The ratio at defaults lets OpenVINO choose its precision, bfloat16 where
the processor has it; onnxruntime and LiteRT keep float32 by default. The ratio with fast math is
that of CpuAcc with `FastMathEnabled`, so in bfloat16 as well, over the fastest of these. Layers
that CpuAcc refuses run on CpuRef; their number is in the table. Peak memory is that of the process,
Python and the imported runtime included. A dash: the runtime does not read the format, or cannot
run the model.

The speed on Arm is unmeasured until a board has run this.
"""

DIFFERENCES = """\
Outputs are compared with those of onnxruntime or, for TFLite, of LiteRT with XNNPACK, from 1 % on.
Of quantised models LiteRT's own kernels differ as well: [Public models](models.md) has the
distances from its reference kernels.
"""


def _cell(row: dict[str, Any] | None, field: str, form: str = ".3g") -> str:
    """Return a figure, a dash where there is none."""
    value = None if row is None else row.get(field)
    return "-" if value is None else format(value, form)


class Figures:
    """The rows of one model at one number of threads, by runtime."""

    def __init__(self, record: dict[str, Any], threads: int) -> None:
        self.rows = {row["runtime"]: row for row in record["rows"] if row["threads"] == threads}

    def fastest(self, *, at_defaults: bool = False) -> dict[str, Any] | None:
        """Return the row of the fastest peer."""
        exact = "OpenVINO" if at_defaults else AT_ITS_DEFAULTS
        peers = [
            row
            for name, row in self.rows.items()
            if name not in (OURS, WITH_FAST_MATH, exact) and "median_ms" in row
        ]
        return min(peers, key=lambda row: float(row["median_ms"]), default=None)

    def ratio(self, *, at_defaults: bool = False, fast_math: bool = False) -> float | None:
        """Return the time of CpuAcc over that of the fastest peer; None if one of them has none."""
        peer = self.fastest(at_defaults=at_defaults)
        ours = self.rows.get(WITH_FAST_MATH if fast_math else OURS, {})
        if peer is None or "median_ms" not in ours:
            return None
        return float(ours["median_ms"]) / float(peer["median_ms"])


def is_overhead(record: dict[str, Any]) -> bool:
    """Return whether a run of the model takes hardly longer than calling the runtime."""
    peer = Figures(record, 1).fastest()
    return peer is not None and bool(peer["median_ms"] < OVERHEAD_MS)


def latencies(models: dict[str, Any], threads: int) -> Iterator[str]:
    """Yield the lines of a table of latencies."""
    runtimes = (OURS, "onnxruntime", "OpenVINO", "LiteRT", AT_ITS_DEFAULTS, WITH_FAST_MATH)
    heads = [*runtimes, "ratio", "at defaults", "with fast math", "on CpuRef", "others"]
    yield "| model | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for name, record in models.items():
        figures = Figures(record, threads)
        ours = figures.rows[OURS]
        cells = [_cell(figures.rows.get(at), "median_ms") for at in runtimes]
        for at_defaults, fast_math in ((False, False), (True, False), (True, True)):
            ratio = figures.ratio(at_defaults=at_defaults, fast_math=fast_math)
            cells.append("-" if ratio is None else f"{ratio:.2f}")
        refused = sum(ours.get("fallbacks", {}).values())
        cells += [f"{refused} of {ours.get('layers', '-')}", f"{record['other_cores']:.2f}"]
        yield f"| {name} | " + " | ".join(cells) + " |"


def memory_and_loads(models: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of what a model costs beside its runs, at one thread."""
    names = (OURS, "onnxruntime", "OpenVINO", "LiteRT")
    fields = {"peak_mb": "MiB", "load_ms": "cold", "cached_load_ms": "cached"}
    heads = [f"{name}, {unit}" for unit in fields.values() for name in names]
    yield "| model | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for name, record in models.items():
        rows = Figures(record, 1).rows
        cells = [_cell(rows.get(at), field, ".0f") for field in fields for at in names]
        yield f"| {name} | " + " | ".join(cells) + " |"


def refusals(models: dict[str, Any]) -> Iterator[str]:
    """Yield which layers CpuAcc refused and why, the most frequent first."""
    counts: dict[str, int] = {}
    places: dict[str, list[str]] = {}
    for name, record in models.items():
        for why, count in Figures(record, 1).rows[OURS].get("fallbacks", {}).items():
            counts[why] = counts.get(why, 0) + count
            places.setdefault(why, []).append(name)
    yield "| layers | models | what, and why |"
    yield "|---:|---:|---|"
    for why in sorted(counts, key=lambda key: -counts[key]):
        yield f"| {counts[why]} | {len(places[why])} | {why} |"


def kernels(said: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of single layers."""
    yield "| layer | GFLOP/s | of the peak | of the roof |"
    yield "|---|---:|---:|---:|"
    for row in said["layers"]:
        share, of_roof = (
            row["gflops"] / most for most in (said["peak_gflops"], row["roof_gflops"])
        )
        yield f"| {row['layer']} | {row['gflops']:.0f} | {share:.0%} | {of_roof:.0%} |"


def faults(models: dict[str, Any]) -> Iterator[str]:
    """Yield which runtimes cannot run which models, and whose outputs differ by 1 % or more."""
    for name, record in models.items():
        for row in record["rows"]:
            if row["threads"] == 1 and "error" in row:
                yield f"- {name}, {row['runtime']}: {row['error']}"
            if row["threads"] == 1 and row.get("distance", 0.0) >= 0.01:
                share = f"{row['distance']:.2g} of their range"
                yield f"- {name}, {row['runtime']}: outputs differ by {share}"


def summary(models: dict[str, Any]) -> Iterator[str]:
    """Yield a paragraph per number of threads, and how exact fast math is."""
    for threads in (1, 2):
        figures = [Figures(record, threads) for record in models.values()]
        head = f"{threads} {'thread' if threads == 1 else 'threads'}"
        yield f"{head}: {_spread(each.ratio() for each in figures)}."
        plain = _spread(each.ratio(at_defaults=True) for each in figures)
        fast = _spread(each.ratio(at_defaults=True, fast_math=True) for each in figures)
        yield f"Peers at their defaults: {plain}; with fast math {fast}.\n"
    distances = {
        name: float(row["distance"])
        for name, record in models.items()
        if "distance" in (row := Figures(record, 1).rows.get(WITH_FAST_MATH, {}))
    }
    if distances:
        worst = max(distances, key=lambda name: distances[name])
        yield (
            f"Outputs with fast math are off by {statistics.median(distances.values()):.1e} of "
            f"their range at the median, at most by {distances[worst]:.1e} ({worst}).\n"
        )


def _spread(ratios: Iterable[float | None]) -> str:
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return "not measured"
    return (
        f"geometric mean {statistics.geometric_mean(known):.2f}, worst {max(known):.2f}, "
        f"{sum(ratio <= 1 for ratio in known)} of {len(known)} models at most 1.0"
    )


def page(said: dict[str, Any]) -> str:
    """Return the page."""
    about, models = said["about"], said["models"]
    small = {name: record for name, record in models.items() if is_overhead(record)}
    large = {name: record for name, record in models.items() if name not in small}
    busiest = max(record["other_cores"] for record in models.values())
    where = ", ".join(f"{name} {value}" for name, value in about["machine"].items())
    state = (
        f"Measured on: {where}. **Others** are the cores that other processes kept busy, at most "
        f"{busiest:.2f}; a figure beside more than 0.15 is provisional, above all at two "
        "threads."
    )
    gflops = about["kernels"]["peak_gflops"]
    gigabytes = about["kernels"]["gigabytes_per_second"]
    peak = (
        f"One thread, float32; the measured multiply-add peak is {gflops:.0f} GFLOP/s, and 4 MiB "
        f"are read at {gigabytes:.0f} GB/s. The roof of a layer is the less of the peak and what "
        "that bandwidth allows, each of its numbers read or written once. 3 x 3 convolutions "
        "multiply less than the count says."
    )
    stale, missing = (", ".join(about[key]) or "None." for key in ("stale", "missing"))
    sections: list[Iterable[str]] = [
        [INTRODUCTION, state, ""],
        summary(large),
        ["![ratios](speed.svg)", ""],
        ["## Latency, one thread, ms", "", *latencies(large, 1), ""],
        ["## Latency, two threads, ms", "", *latencies(large, 2), ""],
        ["## Overhead: models under 50 µs, one thread, ms", "", *latencies(small, 1), ""],
        ["## Peak memory in MiB, load times in ms", "", *memory_and_loads(models), ""],
        ["## Single layers", "", peak, "", *kernels(about["kernels"]), ""],
        ["## What CpuAcc refuses", "", *refusals(models), ""],
        ["## What does not run, or differs", "", DIFFERENCES, *faults(models), ""],
        ["## Measured with an earlier build of CpuAcc", "", stale, ""],
        ["## Not measured", "", missing],
    ]
    return "\n".join(line for section in sections for line in section) + "\n"


def draw(models: dict[str, Any], path: Path) -> None:
    """Draw the ratios of all models, a bar per number of threads; the same file each time."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "speed"
    plots = importlib.import_module("matplotlib.pyplot")
    names = [name for name, record in models.items() if Figures(record, 1).ratio() is not None]
    names.sort(key=lambda name: Figures(models[name], 1).ratio() or 0.0)
    figure, axes = plots.subplots(figsize=(8, 1 + 0.3 * len(names)), layout="constrained")
    for threads, shift in ((1, 0.2), (2, -0.2)):
        ratios = [Figures(models[name], threads).ratio() or 0.0 for name in names]
        places = [place + shift for place in range(len(names))]
        label = f"{threads} thread" if threads == 1 else f"{threads} threads"
        axes.barh(places, ratios, 0.4, label=label)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_xscale("log")
    axes.set_xlabel(
        "time of CpuAcc over that of the fastest peer (left of the line: CpuAcc is faster)"
    )
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    plots.close(figure)


def write_page() -> None:
    """Write the page and the plot."""
    said = json.loads(RECORDS.read_text(encoding="utf-8"))
    RECORDS.with_suffix(".md").write_text(page(said), encoding="utf-8")
    draw(said["models"], RECORDS.with_suffix(".svg"))


if __name__ == "__main__":
    write_page()
