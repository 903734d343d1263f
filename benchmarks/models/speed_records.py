# SPDX-License-Identifier: MIT
"""The speed records per CPU in docs/speed/, and their ratios."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.models.kernel_sources import digest_of_sources
from benchmarks.models.runtimes import AT_ITS_DEFAULTS, OURS, WITH_FAST_MATH
from tools import ROOT
from tools.models.fetch import default_cache

DOCS = ROOT / "docs"
RECORDS = DOCS / "speed"
BUSY = RECORDS / "busy"

OVERHEAD_MS = 0.05
"""Models whose fastest peer is quicker measure the overhead of a run."""

LARGE_MS = 1.0
"""From here on the fastest peer counts as busy with layers alone."""

LARGE = "float32, 1 ms and more"
SMALL = "float32, 50 µs to 1 ms"
QUANTISED = "quantised"
OVERHEAD = "below 50 µs"
GROUPS = (LARGE, SMALL, QUANTISED, OVERHEAD)
_QUANTISED = re.compile(r"_(int8|int16|qdq|qlinear|dynamic)")


class Figures:
    """One model's rows at one number of threads, by runtime."""

    def __init__(self, record: Mapping[str, Any], threads: int) -> None:
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
        """Return CpuAcc's time over the fastest peer's, None if unknown."""
        peer = self.fastest(at_defaults=at_defaults)
        ours = self.rows.get(WITH_FAST_MATH if fast_math else OURS, {})
        if peer is None or "median_ms" not in ours:
            return None
        return float(ours["median_ms"]) / float(peer["median_ms"])


@dataclass(frozen=True)
class Measured:
    """What was measured on one CPU.

    Attributes:
        slug: The name of its files.
        about: The machine, versions, what single layers reach, a note on the circumstances if any.
        models: A record per model.
        busy: What was measured on a busy machine and in batches, if it was.
    """

    slug: str
    about: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    busy: Mapping[str, Any] | None = None

    @property
    def cpu(self) -> str:
        """The name of the CPU."""
        return str(self.about["cpu"])

    @property
    def is_limited(self) -> bool:
        """Whether instructions were hidden from all runtimes."""
        return bool(self.about.get("is_limited"))

    @property
    def has_bfloat16(self) -> bool:
        """Whether CpuAcc's level multiplies bfloat16."""
        return str(self.about["level"]).endswith(("_bf16", "_amx"))

    @property
    def outdated(self) -> list[str]:
        """The models measured with other sources of CpuAcc than today's."""
        today = digest_of_sources()
        return [name for name, record in self.models.items() if record.get("sources") != today]

    def ratios(self, names: Iterable[str], threads: int, **how: bool) -> dict[str, float]:
        """Return the models' known ratios.

        See :meth:`Figures.ratio`.
        """
        found = {
            name: Figures(self.models[name], threads).ratio(**how)
            for name in names
            if name in self.models
        }
        return {name: ratio for name, ratio in found.items() if ratio is not None}

    def milliseconds_at_peak(self, multiply_adds: Mapping[str, int]) -> dict[str, float]:
        """Return how long the multiply-adds of models would take.

        One thread would do nothing else, at the rate that was measured as its peak.
        """
        peak = float(self.about["kernels"]["peak_gflops"])
        return {name: 2 * count / peak / 1e6 for name, count in multiply_adds.items()}

    def ratios_at_peak(self, multiply_adds: Mapping[str, int]) -> dict[str, float]:
        """Return the same over the time of the fastest peer."""
        found = {}
        for name, milliseconds in self.milliseconds_at_peak(multiply_adds).items():
            peer = Figures(self.models[name], 1).fastest() if name in self.models else None
            if peer is not None:
                found[name] = milliseconds / float(peer["median_ms"])
        return found


def fastest(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a model's record of each pair's fastest process.

    Args:
        records: Of the same pairs of a runtime and a number of threads, by other processes.
    """
    rows = [
        min(row, key=lambda one: float(one.get("median_ms", "inf")))
        for row in zip(*(record["rows"] for record in records), strict=True)
    ]
    busiest = max(float(record["other_cores"]) for record in records)
    return {**records[0], "other_cores": busiest, "rows": rows}


def multiply_adds_of(records: Sequence[Measured], names: Iterable[str]) -> dict[str, int]:
    """Return models' multiply-adds of a run, from any CPU's record."""
    found = {}
    for name in names:
        rows = [Figures(each.models[name], 1).rows for each in records if name in each.models]
        counts = [row[OURS].get("multiply_adds") for row in rows]
        count = next((each for each in counts if each is not None), None)
        if count is not None:
            found[name] = int(count)
    return found


def slug_of(cpu: str) -> str:
    """Return the name of a CPU's files."""
    return re.sub(r"[^a-z0-9]+", "-", cpu.lower()).strip("-")


def folder_of_records(cpu: str) -> Path:
    """Return where a CPU's records wait for its page.

    A cache may have been filled on another machine.
    """
    return default_cache() / "speed" / slug_of(cpu)


def read_records(folder: Path = RECORDS) -> list[Measured]:
    """Return all records, CpuAcc's worst CPU first."""
    found = []
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        beside = folder / BUSY.name / path.name
        busy = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else None
        found.append(Measured(path.stem, record["about"], record["models"], busy))
    large = groups_of(found)[LARGE]
    means = {each.slug: _mean(each.ratios(large, 1)) for each in found}
    return sorted(found, key=lambda each: -means[each.slug])


def _mean(ratios: Mapping[str, float]) -> float:
    """Return the geometric mean; 0 where nothing was measured."""
    return statistics.geometric_mean(ratios.values()) if ratios else 0.0


def groups_of(records: Sequence[Measured]) -> dict[str, list[str]]:
    """Return the groups of models, by the fastest peer's CPU.

    Quantised models are those that the catalogue names so.
    """
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in dict.fromkeys(name for each in records for name in each.models):
        peers = [Figures(each.models[name], 1).fastest() for each in records if name in each.models]
        least = min((float(peer["median_ms"]) for peer in peers if peer), default=LARGE_MS)
        groups[_group(name, least)].append(name)
    return groups


def _group(name: str, milliseconds: float) -> str:
    if milliseconds < OVERHEAD_MS:
        return OVERHEAD
    if _QUANTISED.search(name):
        return QUANTISED
    return LARGE if milliseconds >= LARGE_MS else SMALL
