# SPDX-License-Identifier: MIT
"""What ``armnn run`` found out, as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armnn.cli.comparing import show_comparison
from armnn.cli.output import print_table, printable
from armnn.cli.part_tables import show_memory, show_parts
from armnn.cli.profiles import show_slowest
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
    from armnn.cli.measuring import Latency
    from armnn.debugging import Comparison
    from armnn.optimizer import Report
    from armnn.profiling import LayerTime
    from armnn.tensor import TensorInfo

DEFAULT_TOP_K = 5
"""Best classes shown where there are labels and no number is given."""


@dataclass(frozen=True, slots=True, eq=False)
class SetResult:
    """The results of one set of inputs.

    Attributes:
        feeds: The inputs.
        outputs: The last run's outputs as stored, None if they are not asked for.
        comparisons: What they were compared with.
    """

    feeds: tuple[Feed, ...]
    outputs: Mapping[str, NDArray[Any]] | None
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a command line asked to know of a run.

    Attributes:
        model: The path of the model.
        load_seconds: The time to parse, optimise and load it.
        sets: One entry per set of inputs.
        output_infos: Of all outputs.
        labels: The names of classes, if there are any.
        top_k: How many of the best classes are asked for, None if that is not given.
        latency: Of the measured runs.
        profiled: Of the profiled ones, if there were others.
        report: Which backend ran each layer in the last run.
        planned: Which backend each layer was planned on.
        show_report: Whether the report was asked for.
        all_layers: Whether the report shall have a row for every layer.
        peak_memory_mb: The most memory that the process ever used, in MiB.
        files: What was written, by what it is.
        layer_times: The time of each layer, None if not asked for.
        times: The seconds of each stage up to the first run, None if not asked for.
        faults: How worker processes ended.
    """

    model: str
    load_seconds: float
    sets: tuple[SetResult, ...]
    output_infos: Mapping[str, TensorInfo]
    labels: Labels | None
    top_k: int | None
    latency: Latency
    report: Report
    planned: Report
    show_report: bool
    all_layers: bool
    peak_memory_mb: float
    files: Mapping[str, str]
    layer_times: Sequence[LayerTime] | None = None
    times: Mapping[str, float] | None = None
    faults: Sequence[str] = ()
    profiled: Latency | None = None

    @property
    def is_good(self) -> bool:
        """Whether all comparisons agree, within the threshold of time."""
        compared = (one for each in self.sets for one in each.comparisons)
        return all(one.agrees for one in compared) and not self.latency.is_too_long

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        found: dict[str, Any] = {
            "model": self.model,
            "load_ms": self.load_seconds * 1e3,
        }
        sets = [self._set_as_dict(each) for each in self.sets]
        found |= sets[0] if len(sets) == 1 else {"sets": sets}
        if self.labels is not None:
            found["labels"] = self.labels.source
        found["latency"] = self.latency.as_dict()
        found["peak_memory_mb"] = self.peak_memory_mb
        found["layers_by_backend"] = dict(self.report.layers_by_backend)
        found["planned_layers_by_backend"] = dict(self.planned.layers_by_backend)
        found["choice_of_backends"] = self.report.choice
        found["skipped_backends"] = [each.as_dict() for each in self.report.skipped]
        found["faults"] = list(self.faults)
        if self.show_report:
            found["report"] = [row.as_dict() for row in self.report]
            found["compiled_parts"] = [part.as_dict() for part in self.report.compiled_parts]
            found["parts"] = [part.as_dict() for part in self.report.parts]
            found["planned_report"] = [row.as_dict() for row in self.planned]
        if self.layer_times is not None:
            found["layer_times"] = [time.as_dict() for time in self.layer_times]
        if self.profiled is not None:
            found["profiled_latency"] = self.profiled.as_dict()
        if self.times is not None:
            found["times_ms"] = {name: each * 1e3 for name, each in self.times.items()}
        found["files"] = dict(self.files)
        return found

    def show(self) -> None:
        """Print all of it."""
        several = len(self.sets) > 1
        if not several:
            _show_inputs(self.sets[0])
        if self.show_report:
            self._show_report()
        for number, each in enumerate(self.sets):
            if several:
                print(f"Set {number}:")
                _show_inputs(each)
            self._show_outputs(each)
        if self.layer_times is not None:
            show_slowest(self.layer_times)
        print(f"Layers: {_counts(self.report)}")
        if self.report.layers_by_backend != self.planned.layers_by_backend:
            print(f"Planned: {_counts(self.planned)}")
        if self.report.choice:
            print(printable(f"Backends: {self.report.choice}"))
        for skipped in self.report.skipped:
            print(printable(f"Skipped {skipped}"))
        for fault in self.faults:
            print(printable(f"Survived: {fault}; the next backend answered"))
        if self.times is not None:
            rows = [(name, f"{each * 1e3:.2f}") for name, each in self.times.items()]
            print_table("Times", ("stage", "ms"), rows)
        print(f"Latency: {self.latency}; loaded in {self.load_seconds:.2f} s")
        if self.profiled is not None:
            median = self.profiled.median_ms
            more = max(median - self.latency.median_ms, 0)
            print(f"Profiled: median {median:.3f} ms; recording took {more:.3f} ms of it")
        if self.latency.imports:
            print(printable(f"Memory: {self.latency.imports}"))
        if self.latency.is_too_long:
            slowest = max(self.latency.seconds) * 1e3
            print(f"Too slow: a run took {slowest:.3f} ms, expected {self.latency.limit_ms:g} ms")
        for what, path in self.files.items():
            print(printable(f"Wrote {what} to {path}"))

    def _set_as_dict(self, one: SetResult) -> dict[str, Any]:
        found: dict[str, Any] = {"inputs": [_input_as_dict(feed) for feed in one.feeds]}
        if one.outputs is not None:
            found["outputs"] = [self._output_as_dict(*item) for item in one.outputs.items()]
        if one.comparisons:
            found["comparisons"] = [comparison.as_dict() for comparison in one.comparisons]
        return found

    def _show_outputs(self, one: SetResult) -> None:
        for name, array in (one.outputs or {}).items():
            self._show_output(name, array)
        for comparison in one.comparisons:
            show_comparison(comparison)

    def _info(self, name: str, array: NDArray[Any]) -> TensorInfo:
        return self.output_infos[name].with_shape(array.shape)

    def _best(self, name: str, values: NDArray[Any]) -> list[RankedClass]:
        """Return an output's best classes, if requested or labelled."""
        count = class_counts({name: values}).get(name, 0)
        labels = self.labels if self.labels and len(self.labels.names) == count else None
        wanted = self.top_k
        if wanted is None:
            wanted = DEFAULT_TOP_K if labels else 0
        return best_classes(values, wanted, labels) if count and wanted else []

    def _output_as_dict(self, name: str, array: NDArray[Any]) -> dict[str, Any]:
        info = self._info(name, array)
        values = real_values(array, info)
        found = {
            "name": name,
            "data_type": info.data_type.arm_name,
            "shape": list(info.static_shape),
            **summary(values),
        }
        best = self._best(name, values)
        return {**found, "top": [one.as_dict() for one in best]} if best else found

    def _show_output(self, name: str, array: NDArray[Any]) -> None:
        info = self._info(name, array)
        values = real_values(array, info)
        print(printable(f"Output {name}: {info}"))
        print(written(values))
        best = self._best(name, values)
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
        is_folded = False
        specialisations = dict.fromkeys(row.specialisation for row in self.report)
        for specialisation in specialisations:
            rows = [row for row in self.report if row.specialisation == specialisation]
            title = f"Layers for {specialisation}" if specialisation else "Layers"
            shown = all_rows(rows) if self.all_layers else folded_rows(rows)
            print_table(title, COLUMNS, shown)
            is_folded |= len(shown) < len(rows)
        if len(self.report.parts) > len(specialisations):
            show_parts(self.report.parts, each=self.all_layers)
        if self.report.compiled_parts:
            show_memory(self.report.compiled_parts, each=self.all_layers)
        if is_folded:
            print("All rows: --report-all\n")


def _counts(report: Report) -> str:
    counts = report.layers_by_backend.items()
    return ", ".join(f"{count} on {backend}" for backend, count in counts)


def _show_inputs(one: SetResult) -> None:
    for feed in one.feeds:
        origin = "; ".join((feed.source, *feed.notes))
        info = feed.info.with_shape(feed.array.shape)
        print(printable(f"Input {feed.name}: {info} from {origin}"))


def _input_as_dict(feed: Feed) -> dict[str, Any]:
    return {
        "name": feed.name,
        "data_type": feed.info.data_type.arm_name,
        "shape": list(feed.array.shape),
        "source": feed.source,
        "notes": list(feed.notes),
    }
