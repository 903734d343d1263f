# SPDX-License-Identifier: MIT
"""The results of ``armnn run``, as JSON and as text.

Outputs with their best classes, comparisons, times, and the report on backends with its tables.
"""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.optimizer import CompiledPart, Part, Report, ReportRow
from armnn.profiling import LayerTime
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn_tools.blocks import repeated_blocks, without_numbers
from armnn_tools.cli.inputs import Feed
from armnn_tools.cli.output import print_table, printable, told_apart
from armnn_tools.debugging import Comparison, OutputDifference

_DEFAULT_TOP_K = 5
"""Best classes shown where there are labels and no number is given."""

_FULL_LIMIT = 64
"""Elements up to which an output is shown in full."""
_FIRST_COUNT = 6
"""Elements of a larger output that are shown."""
ROW_LIMIT = 8
"""Rows of an output whose best classes are shown."""
LABELS_BYTES_LIMIT = 1 << 24

_REPORT_COLUMNS = ("layer", "type", "backend", "why")
_TYPES_LIMIT = 3
"""Layer types of a folded row that are named; the others are counted."""
_FOLDED_FROM = 3
"""Rows of parts that follow each other, from which on they are one."""

_MOST_ROWS = 12
"""With more parts there is a row for each backend, unless every part is asked for."""

_AnyPart = TypeVar("_AnyPart", Part, CompiledPart)

_SLOWEST_COUNT = 10
"""Layers that the table shows one by one."""

_SLOWEST_COLUMNS = ("layer", "type", "backend", "ms", "share", "multiply-adds", "GFLOP/s")

_COMPARED_COLUMNS = (
    "output",
    "verdict",
    "largest difference",
    "RMS error",
    "beyond",
    "first",
    "got, expected",
)


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of classes.

    Attributes:
        names: One name per class.
        source: The path of their file, or a phrase that says where else they are from.
    """

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class RankedClass:
    """One of the best classes in a row of output.

    Attributes:
        row: The row, 0 unless the output has several.
        rank: 1 for the best.
        index: The index of the class.
        label: The name of the class, "" if there are no labels.
        score: The value of the output.
    """

    row: int
    rank: int
    index: int
    label: str
    score: float

    def as_dict(self) -> dict[str, Any]:
        """Return the class as data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the measured runs took.

    Attributes:
        seconds: The seconds of each measured run.
        warmup: The number of runs before them, which were not measured.
        threads: The number of threads that ran at once.
        total_seconds: The time from the start of the first to the end of the last run.
        limit_ms: The milliseconds that no run may exceed, None without limit.
        imports: A sentence on whether the runs read the inputs where they are, "" if that was not
            asked for.
    """

    seconds: tuple[float, ...]
    warmup: int
    threads: int = 1
    total_seconds: float = 0.0
    limit_ms: float | None = None
    imports: str = ""

    @property
    def is_too_long(self) -> bool:
        """Whether a run took longer than the limit."""
        return self.limit_ms is not None and max(self.seconds) * 1e3 > self.limit_ms

    @property
    def median_ms(self) -> float:
        """The median of the runs, in milliseconds."""
        return statistics.median(self.seconds) * 1e3

    def as_dict(self) -> dict[str, Any]:
        """Return the times in milliseconds as data for JSON."""
        found: dict[str, Any] = {
            "median_ms": self.median_ms,
            "min_ms": min(self.seconds) * 1e3,
            "max_ms": max(self.seconds) * 1e3,
            "iterations": len(self.seconds),
            "warmup": self.warmup,
        }
        if self.threads > 1:
            found |= {"concurrent": self.threads, "runs_per_second": self._rate}
        if self.limit_ms is not None:
            found |= {"threshold_ms": self.limit_ms, "exceeds_threshold": self.is_too_long}
        return {**found, "imports": self.imports} if self.imports else found

    @property
    def _rate(self) -> float:
        return len(self.seconds) / self.total_seconds

    def __str__(self) -> str:
        median, least = self.median_ms, min(self.seconds) * 1e3
        runs = f"{len(self.seconds)} run{'s' if len(self.seconds) > 1 else ''}"
        if self.threads > 1:
            runs += f", {self.threads} at once, {self._rate:.1f} per second"
        before = f" after {self.warmup} to warm up" if self.warmup else ""
        return f"median {median:.3f} ms, min {least:.3f} ms ({runs}{before})"


@dataclass(frozen=True, slots=True, eq=False)
class SetResult:
    """The results of one set of inputs.

    Attributes:
        feeds: The data of the inputs.
        outputs: The outputs of the last run as stored, None if they are not asked for.
        comparisons: The comparisons with other outputs.
    """

    feeds: tuple[Feed, ...]
    outputs: Mapping[str, NDArray[Any]] | None
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """The results of a run that the command line asks for.

    Attributes:
        model: The path of the model.
        load_seconds: The time to parse, optimize and load it.
        sets: The results of each set of inputs.
        output_infos: The types and shapes of all outputs.
        labels: The names of classes, if there are any.
        top_k: How many of the best classes are asked for, None if that is not given.
        latency: The times of the measured runs.
        profiled: The times of the profiled runs, if these were others.
        report: Which backend ran each layer in the last run.
        planned: Which backend each layer was planned on.
        show_report: Whether the report was asked for.
        all_layers: Whether the report shall have a row for every layer.
        peak_memory_mb: The most memory that the process ever used, in MiB.
        files: The path of each written file, by what it holds.
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
        """Return the results as data for JSON."""
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
        """Print the results as text."""
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
        for copied in self.report.copied:
            print(printable(f"Copied {copied}"))
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
            _show_comparison(comparison)
        if not all(each.agrees for each in one.comparisons):
            print(
                printable(
                    f"'armnn compare {shlex.quote(self.model)}' says whether a layer is wrong, or "
                    "rounding grows from layer to layer."
                )
            )

    def _info(self, name: str, array: NDArray[Any]) -> TensorInfo:
        return self.output_infos[name].with_shape(array.shape)

    def _best(self, name: str, values: NDArray[Any]) -> list[RankedClass]:
        """Return an output's best classes, if requested or labeled."""
        count = class_counts({name: values}).get(name, 0)
        labels = self.labels if self.labels and len(self.labels.names) == count else None
        wanted = self.top_k
        if wanted is None:
            wanted = _DEFAULT_TOP_K if labels else 0
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
        specializations = dict.fromkeys(row.specialisation for row in self.report)
        for specialization in specializations:
            rows = [row for row in self.report if row.specialisation == specialization]
            title = f"Layers for {specialization}" if specialization else "Layers"
            shown = all_rows(rows) if self.all_layers else folded_rows(rows)
            print_table(title, _REPORT_COLUMNS, shown)
            is_folded |= len(shown) < len(rows)
        if len(self.report.parts) > len(specializations):
            _show_parts(self.report.parts, each=self.all_layers)
        if self.report.compiled_parts:
            _show_memory(self.report.compiled_parts, each=self.all_layers)
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


def real_values(array: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Return the real values of an output: quantized data as float32, other data unchanged."""
    return dequantize(array, info) if info.is_quantized and info.scales else array


def best_classes(values: NDArray[Any], count: int, labels: Labels | None) -> list[RankedClass]:
    """Return the classes with the highest values along the last axis, for each of the first rows.

    NaN comes last; of equal values the one with the lower index is first.

    Args:
        values: Real numbers, of rank 1 or more.
        count: The number of classes per row; there are fewer if the output has fewer.
        labels: The names of the classes; None for none.
    """
    rows = values.reshape(-1, values.shape[-1])[:ROW_LIMIT].astype(np.float64)
    # NaN sorts to the end, which is where it belongs.
    order = np.argsort(-rows, axis=1, kind="stable")[:, :count]
    names = labels.names if labels is not None else ("",) * values.shape[-1]
    return [
        RankedClass(row, rank, int(index), names[index], float(rows[row, index]))
        for row, indices in enumerate(order)
        for rank, index in enumerate(indices, 1)
    ]


def read_labels(path: Path) -> Labels:
    """Return the labels in a text file, one a line.

    Raises:
        InvalidArgumentError: The file cannot be read, is not text or is empty.
    """
    try:
        if path.stat().st_size > LABELS_BYTES_LIMIT:
            raise InvalidArgumentError(
                f"the labels {str(path)!r} are {path.stat().st_size} bytes, expected at most "
                f"{LABELS_BYTES_LIMIT}"
            )
        names = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot read the labels {str(path)!r}: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"the labels {str(path)!r} are not UTF-8 text: expected one label per line"
        ) from error
    if not names:
        raise InvalidArgumentError(f"the labels {str(path)!r} are empty, expected one a line")
    return Labels(tuple(names), str(path))


def labels_in_metadata(metadata: Mapping[str, str], class_counts: Sequence[int]) -> Labels | None:
    """Return the first entry of a model's metadata that has one line per class of an output.

    Args:
        metadata: The metadata of the model.
        class_counts: The sizes of the last axes of its outputs.
    """
    for key, text in metadata.items():
        names = tuple(text.splitlines())
        if len(names) > 1 and len(names) in class_counts:
            return Labels(names, f"the model's metadata entry {key!r}")
    return None


def check_labels(labels: Labels, class_counts: Mapping[str, int]) -> None:
    """Raise InvalidArgumentError unless an output has as many classes as there are labels."""
    if len(labels.names) not in class_counts.values():
        counts = ", ".join(f"{count} of {name!r}" for name, count in class_counts.items())
        raise InvalidArgumentError(
            f"{labels.source!r} has {len(labels.names)} labels, expected as many as an output has "
            f"classes: {counts or 'no output has any'}"
        )


def class_counts(outputs: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the size of the last axis of each output that has one, by name."""
    return {name: array.shape[-1] for name, array in outputs.items() if array.ndim and array.size}


def summary(values: NDArray[Any]) -> dict[str, Any]:
    """Return the values of an output as data for JSON, or figures about a large one."""
    plain = _plain(values)
    if plain.size <= _FULL_LIMIT:
        return {"values": plain.tolist()}
    found: dict[str, Any] = {}
    finite = plain[np.isfinite(plain)]
    if finite.size:
        found["min"] = finite.min().item()
        found["max"] = finite.max().item()
        found["mean"] = float(finite.mean(dtype=np.float64))
    found["not_finite"] = int(plain.size - finite.size)
    found["first"] = plain.ravel()[:_FIRST_COUNT].tolist()
    return found


def written(values: NDArray[Any]) -> str:
    """Return the values of an output as text, or figures about a large one."""
    plain = _plain(values)
    if plain.size <= _FULL_LIMIT:
        return np.array2string(plain, separator=" ", precision=6)
    figures = summary(values)
    parts = [f"{key} {figures[key]:.6g}" for key in ("min", "max", "mean") if key in figures]
    if figures["not_finite"]:
        parts.append(f"{figures['not_finite']} NaN or infinite")
    first = np.array2string(plain.ravel()[:_FIRST_COUNT], separator=" ", precision=6)
    return f"{', '.join(parts)}, begins with {first[1:-1].strip()}"


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in one of NumPy's own types; float32 holds all values of the others."""
    if values.dtype.kind in "biuf":
        return values
    return values.astype(np.float32)


def folded_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return the rows of a report, with repeated ones folded.

    A compiled part's layers that follow each other and have the same reasons are one row. So are
    three and more such rows that follow each other, of one part or of several, if rows above them
    have the same backends and reasons. Layers that nothing was compiled from are not folded, but
    for blocks of them that are there three and more times, as in a decoder: the first one is shown.
    """
    shown: list[tuple[str, ...]] = []
    for block, repeats in _blocks(list(rows)):
        groups = [list(group) for _, group in groupby(block, _kind)]
        shown += [row for run in _runs(groups) for row in _rows_of_run(run)]
        if repeats:
            shown.append(_row_of_blocks(repeats, len(block)))
    return shown


def _blocks(rows: list[ReportRow]) -> Iterator[tuple[list[ReportRow], list[ReportRow]]]:
    """Yield rows in order, each time with those that repeat them, which may be none."""
    # Layers of compiled parts are folded as such.
    kinds: list[object] = [
        row.layer
        if row.compiled_into
        else (without_numbers(row.layer), row.type, row.backend, row.reason, row.conversion)
        for row in rows
    ]
    begun = 0
    for start, size, count in repeated_blocks(kinds):
        end = start + size * count
        yield rows[begun:start], []
        yield rows[start : start + size], rows[start + size : end]
        begun = end
    yield rows[begun:], []


def _row_of_blocks(rows: Sequence[ReportRow], size: int) -> tuple[str, ...]:
    """Return the row for blocks like the one above."""
    span = f"{rows[0].layer} to {rows[-1].layer} ({len(rows)} layers)"
    backends = ", ".join(dict.fromkeys(row.backend for row in rows))
    return (span, _types(rows), backends, f"{len(rows) // size} blocks like the {size} rows above")


def all_rows(rows: Iterable[ReportRow]) -> list[tuple[str, ...]]:
    """Return a row for each layer."""
    return [(row.layer, row.type, row.backend, _remarks(row)) for row in rows]


def _kind(row: ReportRow) -> tuple[str, ...]:
    """Return the part, backend and reasons, which the layers of a row have in common."""
    return (row.compiled_into, row.backend, row.reason, row.conversion)


def _runs(groups: Sequence[Sequence[ReportRow]]) -> Iterator[list[Sequence[ReportRow]]]:
    """Yield groups with new reasons alone, and runs of groups with known ones."""
    seen: set[tuple[str, ...]] = set()
    repeated: list[Sequence[ReportRow]] = []
    for group in groups:
        part, *rest = _kind(group[0])
        if part and tuple(rest) in seen:
            repeated.append(group)
            continue
        yield repeated
        yield [group]
        repeated = []
        if part:
            seen.add(tuple(rest))
    yield repeated


def _rows_of_run(run: Sequence[Sequence[ReportRow]]) -> list[tuple[str, ...]]:
    """Return the rows of groups that follow each other."""
    if len(run) >= _FOLDED_FROM:
        return [_row_of_many(run)]
    return [
        row
        for members in run
        for row in (
            [_row_of_part(members)]
            if members[0].compiled_into and len(members) > 1
            else all_rows(members)
        )
    ]


def _row_of_many(run: Sequence[Sequence[ReportRow]]) -> tuple[str, ...]:
    """Return the row for parts like those above."""
    members = [row for group in run for row in group]
    span = f"{members[0].layer} to {members[-1].layer}"
    backends = ", ".join(dict.fromkeys(row.backend for row in members))
    parts = dict.fromkeys(row.compiled_into for row in members)
    why = f"compiled into {'one part' if len(parts) == 1 else f'{len(parts)} parts'}, as above"
    return (f"{span} ({len(members)} layers)", _types(members), backends, why)


def _row_of_part(members: Sequence[ReportRow]) -> tuple[str, ...]:
    first, last = members[0], members[-1]
    span = f"{first.layer} to {last.layer}"
    # Backends name a part after its ends as a rule; twice would be once too often.
    part = "one part" if first.compiled_into == span else repr(first.compiled_into)
    return (
        f"{span} ({len(members)} layers)",
        _types(members),
        first.backend,
        _remarks(first, part),
    )


def _types(members: Sequence[ReportRow]) -> str:
    """Return the number of layers of each type, as text."""
    counts = Counter(row.type for row in members).most_common()
    types = [f"{count} {name}" for name, count in counts[:_TYPES_LIMIT]]
    others = sum(count for _, count in counts[_TYPES_LIMIT:])
    return ", ".join([*types, *([f"{others} more"] if others else [])])


def _remarks(row: ReportRow, part: str = "") -> str:
    parts = [f"compiled into {part or repr(row.compiled_into)}"] if row.compiled_into else []
    return "; ".join([*parts, *(each for each in (row.conversion, row.reason) if each)])


def _show_parts(parts: Sequence[Part], *, each: bool) -> None:
    """Print the table of the data that crosses the borders between parts.

    Args:
        parts: The parts, in the order in which they run.
        each: Whether there is a row for each, however many they are.
    """
    rows = [
        (
            name,
            members[0].backend,
            str(sum(part.layers for part in members)),
            str(sum(len(part.borders) for part in members)),
            _kibibytes(part.border_bytes for part in members),
            _kibibytes(part.copied_bytes for part in members),
        )
        for name, members in _grouped(parts, each=each)
    ]
    borders = sum(len(part.borders) for part in parts)
    crossing = _kibibytes(part.border_bytes for part in parts)
    copied = _kibibytes(part.copied_bytes for part in parts)
    title = f"{len(parts)} parts, {borders} borders, {crossing} KiB over them, {copied} KiB copied"
    header = ["part, by its first layer", "backend", "layers", "reads", "KiB", "copied, KiB"]
    print_table(title, header, rows)


def _show_memory(parts: Sequence[CompiledPart], *, each: bool) -> None:
    """Print the table of the memory of compiled parts.

    Args:
        parts: The parts, in the order in which they run.
        each: Whether there is a row for each, however many they are.
    """
    rows = [
        (
            name,
            members[0].backend,
            str(sum(part.layers for part in members)),
            _kibibytes(part.footprint.arena_bytes for part in members),
            _kibibytes(part.footprint.scratch_bytes for part in members),
            _kibibytes(part.footprint.weight_bytes for part in members),
        )
        for name, members in _grouped(parts, each=each)
    ]
    sizes = ["arena", "scratch in it", "weights"]
    header = ["compiled part", "backend", "layers", *(f"{size}, KiB" for size in sizes)]
    print_table("Memory", header, rows)


def _grouped(parts: Sequence[_AnyPart], *, each: bool) -> list[tuple[str, list[_AnyPart]]]:
    """Return the name and the parts of each row."""
    if each or len(parts) <= _MOST_ROWS:
        return [(_part_name(part), [part]) for part in parts]
    by_backend: dict[str, list[_AnyPart]] = {}
    for part in parts:
        by_backend.setdefault(part.backend, []).append(part)
    return [(f"{len(members)} parts", members) for members in by_backend.values()]


def _part_name(part: Part | CompiledPart) -> str:
    return f"{part.name} for {part.specialisation}" if part.specialisation else part.name


def _kibibytes(sizes: Iterable[int]) -> str:
    return f"{sum(sizes) / 1024:.1f}"


def _show_comparison(comparison: Comparison) -> None:
    """Print a comparison as a table."""
    title = f"Compared with {comparison.source}, within {comparison.tolerance}"
    print_table(title, _COMPARED_COLUMNS, [_compared_row(output) for output in comparison.outputs])


def _compared_row(output: OutputDifference) -> tuple[str, ...]:
    if output.problem:
        return (output.name, "differs", output.problem, "", "", "", "")
    far = f"{output.count} of {output.total}" if output.count else ""
    place = "" if output.first is None else str(list(output.first))
    values = "" if output.first is None else ", ".join(told_apart(output.got, output.expected))
    return (
        output.name,
        "agrees" if output.agrees else "differs",
        f"{output.largest:.3g} {output.unit}".rstrip(),
        f"{output.rms_error:.3g}",
        far,
        place,
        values,
    )


def show_slowest(times: Sequence[LayerTime]) -> None:
    """Print the slowest layers, and the others in one row."""
    rows: list[tuple[str, ...]] = [_slowest_row(time) for time in times[:_SLOWEST_COUNT]]
    others = times[_SLOWEST_COUNT:]
    if others:
        spent, share = (sum(getattr(t, name) for t in others) for name in ("milliseconds", "share"))
        rows.append((f"{len(others)} others", "", "", f"{spent:.3f}", f"{share:.1%}", "", ""))
    columns: Sequence[str] = _SLOWEST_COLUMNS
    if any(time.predicted_milliseconds is not None for time in times):
        told = [*map(_predicted, times[:_SLOWEST_COUNT]), ""]
        rows = [(*row, expected) for row, expected in zip(rows, told, strict=False)]
        columns = (*_SLOWEST_COLUMNS, "predicted ms")
    print_table("Slowest layers", columns, rows)


def _predicted(time: LayerTime) -> str:
    expected = time.predicted_milliseconds
    return "" if expected is None else f"{expected:.3f}"


def _slowest_row(time: LayerTime) -> tuple[str, ...]:
    return (
        time.layer,
        time.type,
        time.backend,
        f"{time.milliseconds:.3f}",
        f"{time.share:.1%}",
        "unknown" if time.multiply_adds is None else f"{time.multiply_adds:,}",
        "" if time.gflops is None else f"{time.gflops:.2f}",
    )
