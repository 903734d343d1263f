# SPDX-License-Identifier: MIT
"""The time of each layer, with share and throughput.

Recorded events are runs, their layers, and kernels inside of these.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from armnn.arguments import instance
from armnn.optimizer import Report
from armnn.profiling.recorder import Event


@dataclass(slots=True)
class TimedLayer:
    """A layer in one run.

    Attributes:
        event: The time of its workload.
        kernels: The kernels that its backend reported, in order.
        on_device: Its kernels on a device with a queue, which may run after the workload has ended.
    """

    event: Event
    kernels: list[Event] = field(default_factory=list)
    on_device: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class TimedRun:
    """One run of a network.

    Attributes:
        event: Its time.
        layers: Its layers in the order in which they ran.
    """

    event: Event
    layers: list[TimedLayer] = field(default_factory=list)


def timed_runs(events: Iterable[Event]) -> list[TimedRun]:
    """Return the runs among events, ordered by their starts.

    An event belongs to the run and layer of its thread during which it began; a kernel on a device
    to the layer of the run that it names.
    """
    runs: list[TimedRun] = []
    current: dict[int, TimedRun] = {}
    on_device: list[tuple[TimedRun, Event]] = []
    for event in sorted(events, key=lambda event: (event.start_ns, -event.end_ns)):
        category = event.details.get("category")
        run = current.get(event.thread_id)
        if category == "run":
            current[event.thread_id] = TimedRun(event)
            runs.append(current[event.thread_id])
        elif run is None or not _began_during(event, run.event):
            continue
        elif category == DEVICE:
            on_device.append((run, event))
        elif category == "layer":
            run.layers.append(TimedLayer(event))
        elif run.layers and _began_during(event, run.layers[-1].event):
            run.layers[-1].kernels.append(event)
    for run, event in on_device:
        named = (each for each in run.layers if each.event.name == event.name)
        layer = next(named, None)
        if layer is not None:
            layer.on_device.append(event)
    return runs


def _began_during(event: Event, outer: Event) -> bool:
    return outer.start_ns <= event.start_ns <= outer.end_ns


DEVICE: Final = "device"
"""The category of the event of a kernel on a device with a queue, which bears its layer's name."""

PLAIN_RUN: Final = "plain run"
"""The category of the event of a run without profile, which has the undisturbed time."""


Key = tuple[str, str, str]
"""Name, type and backend of a layer."""


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time of a layer or of fused layers, as a run without profile has it.

    Attributes:
        layer: Its name; of fused layers that of the first.
        type: Its type; "PreCompiled" for the time in a compiled part that no layer accounts for.
        backend: The id of the backend.
        milliseconds: The mean over the runs.
        share: Its part of the time of a run, from 0 to 1.
        multiply_adds: The multiply-adds of one run; None where they are not known.
        predicted_milliseconds: The time that a backend with costs of kernels predicted; None where
            it told nothing.
    """

    layer: str
    type: str
    backend: str
    milliseconds: float
    share: float
    multiply_adds: int | None
    predicted_milliseconds: float | None = None

    @property
    def gflops(self) -> float | None:
        """Billions of operations a second; a multiply-add is two."""
        if not self.multiply_adds or not self.milliseconds:
            return None
        return 2 * self.multiply_adds / self.milliseconds / 1e6

    def as_dict(self) -> dict[str, Any]:
        """Return the times as data for JSON."""
        return {**asdict(self), "gflops": self.gflops}


def layer_times(events: Iterable[Event], report: Report) -> list[LayerTime]:
    """Return the layers of recorded runs, the slowest first.

    To record the layers inside of a compiled part takes longer than a small one. If runs without
    profile are among the events (see :data:`PLAIN_RUN`), a part has no more time beside that of its
    layers than such a run leaves, in the median.

    Args:
        events: The events of a :class:`Recorder` that was the profiler of runs.
        report: The report of the network, for the multiply-adds.
    """
    instance(report, Report, "the report", "; it is loaded.report")
    events = tuple(events)
    runs = timed_runs(events)
    own: dict[Key, int] = {}
    rest: dict[Key, int] = {}
    for run in runs:
        for layer in run.layers:
            _add_times(layer, own, rest)
    own_ns, rest_ns = sum(own.values()), sum(rest.values())
    total_ns: float = sum(run.event.duration_ns for run in runs)
    plain = [each.duration_ns for each in events if each.details.get("category") == PLAIN_RUN]
    left = 1.0
    if plain:
        plain_ns = statistics.median(plain) * len(runs)
        left = min(max(plain_ns - own_ns, 0) / rest_ns, 1.0) if rest_ns else 0.0
        total_ns = max(plain_ns, own_ns + left * rest_ns)
    spent = {key: own.get(key, 0) + left * rest.get(key, 0) for key in {**rest, **own}}
    counts = _multiply_adds(report, spent)
    predicted = _predicted(runs)
    times = [
        LayerTime(
            *key,
            nanoseconds / len(runs) / 1e6,
            nanoseconds / total_ns if total_ns else 0.0,
            counts[key],
            predicted.get(key),
        )
        for key, nanoseconds in spent.items()
    ]
    return sorted(times, key=lambda time: -time.milliseconds)


def _add_times(layer: TimedLayer, own: dict[Key, int], rest: dict[Key, int]) -> None:
    """Add the nanoseconds of a layer, or of its kernels and the rest.

    A layer with kernels on a device has their time.
    """
    outer, duration = _key_of(layer.event), layer.event.duration_ns
    if layer.on_device:  # the host's time passes at the same time
        for kernel in layer.on_device:
            key = _key_of(kernel, outer)
            own[key] = own.get(key, 0) + kernel.duration_ns
        return
    if not layer.kernels:
        own[outer] = own.get(outer, 0) + duration
        return
    for kernel in layer.kernels:
        key = _key_of(kernel, outer)
        own[key] = own.get(key, 0) + kernel.duration_ns
        duration -= kernel.duration_ns
    # Kernels of several threads may overlap.
    rest[outer] = rest.get(outer, 0) + max(duration, 0)


def _predicted(runs: Sequence[TimedRun]) -> dict[Key, float]:
    """Return the predicted milliseconds of the first run's kernels."""
    expected: dict[Key, float] = {}
    for layer in runs[0].layers if runs else ():
        for kernel in layer.kernels:
            nanoseconds = kernel.details.get("predicted_ns")
            if isinstance(nanoseconds, (int, float)):
                key = _key_of(kernel, _key_of(layer.event))
                expected[key] = expected.get(key, 0.0) + nanoseconds / 1e6
    return expected


def _key_of(event: Event, outer: Key = ("", "", "")) -> Key:
    details = event.details
    kind = str(details.get("type", details.get("category", "")))
    return event.name, kind, str(details.get("backend", outer[2]))


def _multiply_adds(report: Report, keys: Iterable[Key]) -> Mapping[Key, int | None]:
    """Return the multiply-adds behind each key of a time.

    Layers without a time of their own count for the compiled part that they are in.
    """
    counts: dict[Key, int | None] = dict.fromkeys(keys, 0)
    for row in {(row.layer, row.type, row.backend): row for row in report}.values():
        own = (row.layer, row.type, row.backend)
        part = (row.compiled_into, "PreCompiled", row.backend)
        key = own if own in counts else part
        if key in counts:
            known = counts[key]
            both = known is not None and row.multiply_adds is not None
            counts[key] = (known or 0) + (row.multiply_adds or 0) if both else None
    return counts
