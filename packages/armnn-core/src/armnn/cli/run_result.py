# SPDX-License-Identifier: MIT
"""What ``armnn run`` found out, as JSON and as text."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armnn.cli.output import print_table, printable
from armnn.cli.report_rows import COLUMNS, all_rows, folded_rows
from armnn.cli.results import (
    Labels,
    RankedClass,
    best_classes,
    class_counts,
    real_values,
    summary,
    written,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.cli.inputs import Feed
    from armnn.optimizer import CompiledPart, Report
    from armnn.tensor import TensorInfo

DEFAULT_TOP_K = 5
"""Best classes shown where there are labels and no number is given."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the measured runs took.

    Attributes:
        seconds: One entry per measured run.
        warmup: The runs before, which were not measured.
    """

    seconds: tuple[float, ...]
    warmup: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, times in milliseconds."""
        return {
            "median_ms": statistics.median(self.seconds) * 1e3,
            "min_ms": min(self.seconds) * 1e3,
            "iterations": len(self.seconds),
            "warmup": self.warmup,
        }

    def __str__(self) -> str:
        median, least = statistics.median(self.seconds) * 1e3, min(self.seconds) * 1e3
        runs = f"{len(self.seconds)} run{'s' if len(self.seconds) > 1 else ''}"
        before = f" after {self.warmup} to warm up" if self.warmup else ""
        return f"median {median:.3f} ms, min {least:.3f} ms ({runs}{before})"


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a command line asked to know of a run.

    Attributes:
        model: The path of the model.
        load_seconds: The time to parse, optimise and load it.
        feeds: What it was run on.
        output_infos: Of all outputs.
        outputs: The last run's outputs as stored, None if they are not asked for.
        labels: The names of classes, if there are any.
        top_k: How many of the best classes are asked for, None if that was not said.
        latency: Of the measured runs.
        report: Which layer ran where.
        show_report: Whether the report was asked for.
        all_layers: Whether the report shall have a row for every layer.
        peak_memory_mb: The most memory that the process ever used, in MiB.
        files: What was written, by what it is.
    """

    model: str
    load_seconds: float
    feeds: tuple[Feed, ...]
    output_infos: Mapping[str, TensorInfo]
    outputs: Mapping[str, NDArray[Any]] | None
    labels: Labels | None
    top_k: int | None
    latency: Latency
    report: Report
    show_report: bool
    all_layers: bool
    peak_memory_mb: float
    files: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        found: dict[str, Any] = {
            "model": self.model,
            "load_ms": self.load_seconds * 1e3,
            "inputs": [_input_as_dict(feed) for feed in self.feeds],
        }
        if self.outputs is not None:
            found["outputs"] = [self._output_as_dict(name) for name in self.outputs]
        if self.labels is not None:
            found["labels"] = self.labels.source
        found["latency"] = self.latency.as_dict()
        found["peak_memory_mb"] = self.peak_memory_mb
        found["layers_by_backend"] = dict(self.report.layers_by_backend)
        if self.show_report:
            found["report"] = [row.as_dict() for row in self.report]
            found["compiled_parts"] = [part.as_dict() for part in self.report.compiled_parts]
        found["files"] = dict(self.files)
        return found

    def show(self) -> None:
        """Print all of it."""
        for feed in self.feeds:
            said = "; ".join((feed.source, *feed.notes))
            info = feed.info.with_shape(feed.array.shape)
            print(printable(f"Input {feed.name}: {info} from {said}"))
        if self.show_report:
            self._show_report()
        for name in self.outputs or ():
            self._show_output(name)
        counts = self.report.layers_by_backend.items()
        print(f"Layers: {', '.join(f'{count} on {backend}' for backend, count in counts)}")
        print(f"Latency: {self.latency}; loaded in {self.load_seconds:.2f} s")
        for what, path in self.files.items():
            print(printable(f"Wrote {what} to {path}"))

    def _values(self, name: str) -> NDArray[Any]:
        array = (self.outputs or {})[name]
        return real_values(array, self._info(name))

    def _info(self, name: str) -> TensorInfo:
        return self.output_infos[name].with_shape((self.outputs or {})[name].shape)

    def _best(self, name: str) -> list[RankedClass]:
        """Return an output's best classes, if requested or labelled."""
        values = self._values(name)
        count = class_counts({name: values}).get(name, 0)
        labels = self.labels if self.labels and len(self.labels.names) == count else None
        wanted = self.top_k
        if wanted is None:
            wanted = DEFAULT_TOP_K if labels else 0
        return best_classes(values, wanted, labels) if count and wanted else []

    def _output_as_dict(self, name: str) -> dict[str, Any]:
        info = self._info(name)
        found = {
            "name": name,
            "data_type": info.data_type.arm_name,
            "shape": list(info.static_shape),
            **summary(self._values(name)),
        }
        best = self._best(name)
        return {**found, "top": [one.as_dict() for one in best]} if best else found

    def _show_output(self, name: str) -> None:
        print(printable(f"Output {name}: {self._info(name)}"))
        print(written(self._values(name)))
        best = self._best(name)
        if not best:
            return
        several = best[-1].row > 0
        rows = [
            (*([str(one.row)] if several else []), str(one.index), one.label, f"{one.score:.6f}")
            for one in best
        ]
        title = f"Best classes of {name}"
        if any(one.label for one in best) and self.labels is not None:
            title += f", labels from {self.labels.source}"
        print_table(title, [*(["row"] if several else []), "class", "label", "score"], rows)

    def _show_report(self) -> None:
        specialisations = dict.fromkeys(row.specialisation for row in self.report)
        for specialisation in specialisations:
            rows = [row for row in self.report if row.specialisation == specialisation]
            title = f"Layers for {specialisation}" if specialisation else "Layers"
            print_table(title, COLUMNS, all_rows(rows) if self.all_layers else folded_rows(rows))
        parts = self.report.compiled_parts
        if parts:
            sizes = ["arena", "scratch in it", "weights"]
            header = ["compiled part", "backend", "layers", *(f"{size}, KiB" for size in sizes)]
            print_table("Memory", header, [_memory_of(part) for part in parts])


def _memory_of(part: CompiledPart) -> tuple[str, ...]:
    memory = part.footprint
    sizes = (memory.arena_bytes, memory.scratch_bytes, memory.weight_bytes)
    kibibytes = (f"{size / 1024:.1f}" for size in sizes)
    return (part.name, part.backend, str(part.layers), *kibibytes)


def _input_as_dict(feed: Feed) -> dict[str, Any]:
    return {
        "name": feed.name,
        "data_type": feed.info.data_type.arm_name,
        "shape": list(feed.array.shape),
        "source": feed.source,
        "notes": list(feed.notes),
    }
