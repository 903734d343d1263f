# SPDX-License-Identifier: MIT
"""The page with all figures of one CPU."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from benchmarks.models.kernel_sources import digest_of_sources
from benchmarks.models.runtimes import AT_ITS_DEFAULTS, OURS, WITH_FAST_MATH
from benchmarks.models.speed_records import Figures, Measured

Models: TypeAlias = "Mapping[str, Mapping[str, Any]]"

INTRODUCTION = """\
Not affiliated with Arm.

After reading this page you can compare every model on this CPU with every runtime.
[Speed of CpuAcc](../speed.md) has the overview, the versions of all runtimes, and the method.

**Ratio** is the time of CpuAcc over that of the fastest peer: below 1 CpuAcc is faster. The ratio
at defaults lets OpenVINO choose its precision, bfloat16 where the processor has it. The ratio with
fast math is that of CpuAcc with `FastMathEnabled`, so in bfloat16 as well, over the fastest of
these. Layers that CpuAcc refuses run on CpuRef; their number is in the table. **Others** are the
cores that other processes kept busy; a figure beside more than 0.15 is provisional, above all at
two threads. In parentheses is the **error** of the outputs against float64, as a share of their
range; quantised models and those whose layers data decides about have none. Peak memory is that of
the process, Python and the imported runtime included. A dash: the runtime does not read the format,
or cannot run the model. **Of the peak** is the share of CpuAcc's time in which one thread at its
measured peak would do the model's multiply-adds; Winograd's convolutions do fewer than counted.
"""

CALLS = """\
CpuAcc is called by `run`, or by a prepared call where the model keeps states.
[Prepared calls](../memory.md#calls-that-are-prepared) save half a microsecond or more of each run.
"""

BUSY_METHOD = """\
The busy CPU is one of these, kept so by another process. Of four processes at once the median over
all their runs counts. A batch repeats the inputs of models whose first dimension is open.
"""

LOADS = """\
A load does not include importing the runtime. What a runtime imports when it loads its first model
is included: `armnn` imports most of its modules then, its peers few. [Prepared
models](../prepared-models.md) compares loads with all imports and without any.
"""

DIFFERENCES = """\
Outputs are compared with those of onnxruntime or, for TFLite, of LiteRT with XNNPACK, from 1 % on.
Of quantised models LiteRT's own kernels differ as well: [Public models](../models.md) has the
distances from its reference kernels.
"""


def _cell(row: Mapping[str, Any] | None, field: str, form: str = ".3g") -> str:
    """Return a figure, a dash where there is none."""
    value = None if row is None else row.get(field)
    return "-" if value is None else format(value, form)


def _timed(row: Mapping[str, Any] | None) -> str:
    """Return a time, beside it the known error."""
    error = _cell(row, "error_of_range", ".0e")
    return _cell(row, "median_ms") + ("" if error == "-" else f" ({error})")


def latencies(
    models: Models, threads: int, at_peak: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Yield the lines of a table of latencies.

    Args:
        models: A record per model.
        threads: Of all runtimes.
        at_peak: The milliseconds that a model's multiply-adds would take at the peak of this many
            threads, where it is known; without it the table has no such column.
    """
    runtimes = (OURS, "onnxruntime", "OpenVINO", "LiteRT", AT_ITS_DEFAULTS, WITH_FAST_MATH)
    heads = [*runtimes, "ratio", "at defaults", "with fast math", "on CpuRef", "others"]
    heads += [] if at_peak is None else ["of the peak"]
    yield "| model | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for name, record in models.items():
        figures = Figures(record, threads)
        ours = figures.rows[OURS]
        cells = [_timed(figures.rows.get(at)) for at in runtimes]
        for at_defaults, fast_math in ((False, False), (True, False), (True, True)):
            ratio = figures.ratio(at_defaults=at_defaults, fast_math=fast_math)
            cells.append("-" if ratio is None else f"{ratio:.2f}")
        refused = sum(ours.get("fallbacks", {}).values())
        cells += [f"{refused} of {ours.get('layers', '-')}", f"{record['other_cores']:.2f}"]
        if at_peak is not None:
            has_both = name in at_peak and "median_ms" in ours
            cells.append(f"{at_peak[name] / ours['median_ms']:.0%}" if has_both else "-")
        yield f"| {name} | " + " | ".join(cells) + " |"


def memory_and_loads(models: Models) -> Iterator[str]:
    """Yield the table of memory and loads, one thread."""
    names = (OURS, "onnxruntime", "OpenVINO", "LiteRT")
    fields = {"peak_mb": "MiB", "load_ms": "cold", "cached_load_ms": "cached"}
    heads = [f"{name}, {unit}" for unit in fields.values() for name in names]
    yield "| model | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for name, record in models.items():
        rows = Figures(record, 1).rows
        cells = [_cell(rows.get(at), field, ".0f") for field in fields for at in names]
        yield f"| {name} | " + " | ".join(cells) + " |"


def refusals(models: Models) -> Iterator[str]:
    """Yield the layers CpuAcc refused, most frequent reason first."""
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


def kernels(speeds: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of single layers."""
    yield "| layer | GFLOP/s | of the peak | of the roof |"
    yield "|---|---:|---:|---:|"
    for row in speeds["layers"]:
        share, of_roof = (
            row["gflops"] / most for most in (speeds["peak_gflops"], row["roof_gflops"])
        )
        yield f"| {row['layer']} | {row['gflops']:.0f} | {share:.0%} | {of_roof:.0%} |"


def faults(models: Models) -> Iterator[str]:
    """Yield runtimes' failures, and outputs off by 1 %."""
    for name, record in models.items():
        for row in record["rows"]:
            if row["threads"] == 1 and "error" in row:
                yield f"- {name}, {row['runtime']}: {row['error']}"
            if row["threads"] == 1 and row.get("distance", 0.0) >= 0.01:
                share = f"{row['distance']:.2g} of their range"
                yield f"- {name}, {row['runtime']}: outputs differ by {share}"


def age(measured: Measured) -> Iterator[str]:
    """Yield a sentence if figures are older than the kernels."""
    old, about = measured.outdated, measured.about
    if not old:
        return
    is_all = len(old) == len(measured.models)
    which = f"all {len(old)}" if is_all else f"{len(old)} of {len(measured.models)}"
    names = "" if is_all else f": {', '.join(old)}"
    yield (
        f"**Older than the kernels.** CpuAcc's sources have changed since the measurement of "
        f"{which} models ({about['date']} at the latest, commit "
        f"{about['commit'] or 'not recorded'}){names}.\n"
    )


def exactness(models: Models) -> Iterator[str]:
    """Yield how exact fast math is."""
    errors = {
        name: float(row["error_of_range"])
        for name, record in models.items()
        if "error_of_range" in (row := Figures(record, 1).rows.get(WITH_FAST_MATH, {}))
    }
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        median = statistics.median(errors.values())
        yield (
            f"Outputs with fast math are off from float64 by {median:.1e} of their range at the "
            f"median, at most by {errors[worst]:.1e} ({worst}).\n"
        )


def busy_machine(record: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the table of busy machines and batches."""
    if record is None:
        yield "Not measured; `python -m benchmarks.models.busy` does it."
        return
    about = record["about"]
    yield f"{about['date']}, commit {about['commit']}, {about['cpus']} CPUs. {BUSY_METHOD}"
    if about.get("sources") != digest_of_sources():
        yield "**Older than the kernels.** CpuAcc's sources have changed since.\n"
    yield "| model | situation | CpuAcc, ms | fastest peer | ratio | p99/median | peers' least |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for row in record["rows"]:
        ours = row["runtimes"].get(OURS)
        peers = [each for name, each in row["runtimes"].items() if name != OURS]
        if ours is None or not peers:
            continue
        least = min(each["median_ms"] for each in peers)
        spread, steadiest = (
            min(each["p99_ms"] / each["median_ms"] for each in group) for group in ([ours], peers)
        )
        cells = [f"{ours['median_ms']:.3g}", f"{least:.3g}", f"{ours['median_ms'] / least:.2f}"]
        cells += [f"{spread:.2f}", f"{steadiest:.2f}"]
        yield f"| {row['model']} | {row['situation']} | " + " | ".join(cells) + " |"


def page(measured: Measured, overhead: Collection[str], multiply_adds: Mapping[str, int]) -> str:
    """Return the page of a CPU.

    Args:
        measured: What was measured there.
        overhead: The models whose time is that of a call; they have a table of their own.
        multiply_adds: Of models in float32.
    """
    about, models = measured.about, measured.models
    small = {name: record for name, record in models.items() if name in overhead}
    large = {name: record for name, record in models.items() if name not in small}
    gflops = about["kernels"]["peak_gflops"]
    gigabytes = about["kernels"]["gigabytes_per_second"]
    at_peak = measured.milliseconds_at_peak(multiply_adds)
    peak = (
        f"One thread, float32; the measured multiply-add peak is {gflops:.0f} GFLOP/s, and 4 MiB "
        f"are read at {gigabytes:.0f} GB/s. The roof of a layer is the less of the peak and what "
        "that bandwidth allows, each of its numbers read or written once. 3 x 3 convolutions "
        "multiply less than the count says."
    )
    sections: list[Iterable[str]] = [
        [f"# Speed of CpuAcc on {measured.cpu}", "", INTRODUCTION],
        [about["note"], ""] if "note" in about else [],
        age(measured),
        exactness(large),
        ["## Latency, one thread, ms", "", *latencies(large, 1, at_peak), ""],
        ["## Latency, two threads, ms", "", *latencies(large, 2), ""],
        ["## Overhead: models under 50 µs, one thread, ms", "", CALLS, *latencies(small, 1), ""],
        ["## Busy machines, and batches", "", *busy_machine(measured.busy), ""],
        ["## Peak memory in MiB, load times in ms", "", LOADS, *memory_and_loads(models), ""],
        ["## Single layers", "", peak, "", *kernels(about["kernels"]), ""],
        ["## What CpuAcc refuses", "", *refusals(models), ""],
        ["## What does not run, or differs", "", DIFFERENCES, *faults(models), ""],
        ["## Not measured", "", ", ".join(about["missing"]) or "None."],
    ]
    return "\n".join(line for section in sections for line in section) + "\n"
