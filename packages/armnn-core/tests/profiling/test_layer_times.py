# SPDX-License-Identifier: MIT
"""The times of layers, added up by hand."""

from __future__ import annotations

from typing import Any

import pytest

from armnn.errors import InvalidArgumentError
from armnn.optimizer import Report, ReportRow
from armnn.profiling import Event, LayerTime, layer_times

MS = 1_000_000


def event(name: str, start: float, end: float, category: str, **details: Any) -> Event:
    """Return an event from milliseconds."""
    thread = details.pop("thread", 1)
    known = {"category": category, **details}
    return Event(name, int(start * MS), int(end * MS), thread, known)


def layer(name: str, start: float, end: float, kind: str, backend: str, **more: Any) -> Event:
    return event(name, start, end, "layer", type=kind, backend=backend, **more)


# Two runs of 10 ms: a layer of 2 ms, and a part of 6 ms with kernels of 3 and 1 ms.
ONE_RUN = [
    layer("pad", 1, 3, "Pad", "Slow"),
    event("conv", 4, 7, "kernel", type="Convolution2d", backend="Fast"),
    event("dense", 8, 9, "kernel", type="FullyConnected", backend="Fast"),
    layer("part", 4, 10, "PreCompiled", "Fast"),
    event("run", 0, 10, "run"),
]
REPORT = Report(
    (
        ReportRow("pad", "Pad", "Slow", multiply_adds=0),
        ReportRow("conv", "Convolution2d", "Fast", (), "part", multiply_adds=6_000_000),
        ReportRow("relu", "Activation", "Fast", (), "part", multiply_adds=0),
        ReportRow("dense", "FullyConnected", "Fast", (), "part", multiply_adds=None),
        ReportRow("hidden", "BatchMatMul", "Fast", (), "part", multiply_adds=40),
    )
)


def later(events: list[Event], milliseconds: int, thread: int = 1) -> list[Event]:
    """Return events that happened later."""
    shift = milliseconds * MS
    return [Event(e.name, e.start_ns + shift, e.end_ns + shift, thread, e.details) for e in events]


def test_times_are_means_of_runs_and_the_slowest_is_first() -> None:
    slow = later([*ONE_RUN[1:], layer("pad", 0, 4, "Pad", "Slow")], 20)
    times = layer_times([event("load", 0, 0, "phase"), *ONE_RUN, *slow], REPORT)
    assert times == [
        LayerTime("pad", "Pad", "Slow", 3.0, 0.3, 0),
        LayerTime("conv", "Convolution2d", "Fast", 3.0, 0.3, 6_000_000),
        LayerTime("part", "PreCompiled", "Fast", 2.0, 0.2, 40),
        LayerTime("dense", "FullyConnected", "Fast", 1.0, 0.1, None),
    ]


def test_a_multiply_add_is_two_operations() -> None:
    conv = next(time for time in layer_times(ONE_RUN, REPORT) if time.layer == "conv")
    assert conv.gflops == 4.0  # 12 million operations in 3 ms
    assert conv.as_dict() == {
        "layer": "conv", "type": "Convolution2d", "backend": "Fast", "milliseconds": 3.0,
        "share": 0.3, "multiply_adds": 6_000_000, "predicted_milliseconds": None, "gflops": 4.0,
    }  # fmt: skip
    assert LayerTime("pad", "Pad", "Slow", 1.0, 0.1, 0).gflops is None
    assert LayerTime("conv", "Convolution2d", "Slow", 1.0, 0.1, None).gflops is None
    assert LayerTime("conv", "Convolution2d", "Slow", 0.0, 0.0, 7).gflops is None


def test_a_part_without_kernels_has_the_multiply_adds_of_its_layers() -> None:
    events = [each for each in ONE_RUN if each.details["category"] != "kernel"]
    part, _ = layer_times(events, REPORT)
    assert (part.layer, part.milliseconds, part.multiply_adds) == ("part", 6.0, None)
    known = Report(REPORT.rows[:3])
    assert layer_times(events, known)[0].multiply_adds == 6_000_000


def test_runs_of_two_threads_at_once_are_kept_apart() -> None:
    times = layer_times([*ONE_RUN, *later(ONE_RUN, 3, thread=2)], REPORT)
    assert {time.layer: time.milliseconds for time in times} == {
        "conv": 3.0, "pad": 2.0, "part": 2.0, "dense": 1.0,
    }  # fmt: skip


def test_kernels_at_once_take_no_more_than_their_part() -> None:
    wide = event("wide", 4, 9, "kernel", type="BatchMatMul", backend="Fast")
    times = layer_times([*ONE_RUN, wide], REPORT)
    assert {time.layer: time.milliseconds for time in times}["part"] == 0.0


def plain(milliseconds: float) -> Event:
    return event("run without profile", 100, 100 + milliseconds, "plain run")


@pytest.mark.parametrize(
    ("plain_ms", "part_ms", "total_ms"),
    [
        (6.5, 0.5, 6.5),  # the layers take 6 ms, what is left is the part's
        (5.0, 0.0, 6.0),  # nothing is left
        (9.0, 2.0, 9.0),  # more is left than the part took, which is outside of it
    ],
)
def test_a_part_has_what_a_run_without_profile_leaves(
    plain_ms: float, part_ms: float, total_ms: float
) -> None:
    runs = [plain(plain_ms), plain(1000), plain(0)]
    times = {time.layer: time for time in layer_times([*runs, *ONE_RUN], REPORT)}
    assert {name: time.milliseconds for name, time in times.items()} == {
        "conv": 3.0, "pad": 2.0, "part": part_ms, "dense": 1.0,
    }  # fmt: skip
    assert times["conv"].share == pytest.approx(3 / total_ms)
    assert times["part"].share == pytest.approx(part_ms / total_ms)


def test_without_kernels_a_run_without_profile_changes_no_time() -> None:
    events = [each for each in ONE_RUN if each.details["category"] != "kernel"]
    times = {time.layer: time for time in layer_times([plain(1), *events], REPORT)}
    assert {name: time.milliseconds for name, time in times.items()} == {"pad": 2.0, "part": 6.0}
    assert times["part"].share == 0.75


def test_a_layer_of_several_specializations_is_counted_once() -> None:
    twice = Report((*REPORT.rows, REPORT.rows[1]))
    conv = next(time for time in layer_times(ONE_RUN, twice) if time.layer == "conv")
    assert conv.multiply_adds == 6_000_000


def test_events_outside_of_runs_do_not_count() -> None:
    assert layer_times(later([*ONE_RUN[:4]], 0), REPORT) == []


# A layer of 1 ms on the host, whose two kernels run for 7 ms on a device after it has ended.
ON_DEVICE = [
    layer("part", 1, 2, "PreCompiled", "Gpu"),
    layer("last", 2, 3, "Pad", "Gpu"),
    event("part", 2, 6, "device", type="Convolution2d", backend="Gpu", kernel="convolve"),
    event("part", 6, 9, "device", type="Convolution2d", backend="Gpu", kernel="add"),
    event("last", 9, 9.5, "device", type="Pad", backend="Gpu", kernel="move"),
    event("nobody", 9, 9.5, "device", type="Pad", backend="Gpu", kernel="move"),
    event("run", 0, 10, "run"),
]


def test_a_layer_on_a_device_has_the_time_of_its_kernels_there() -> None:
    report = Report((ReportRow("part", "Convolution2d", "Gpu", multiply_adds=5),))
    events = [*ON_DEVICE, *later(ON_DEVICE, 20), *later(ON_DEVICE[:1], 20, thread=2)]
    assert layer_times(events, report) == [
        LayerTime("part", "Convolution2d", "Gpu", 7.0, 0.7, 5),
        LayerTime("last", "Pad", "Gpu", 0.5, 0.05, 0),
    ]


def test_the_report_is_needed() -> None:
    with pytest.raises(InvalidArgumentError, match=r"the report .* expected a Report; it is load"):
        layer_times(ONE_RUN, None)  # type: ignore[arg-type]  # that it is refused is tested
