# SPDX-License-Identifier: MIT
"""Recorded events as runs, their layers, and kernels inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armnn._recorder import Event


@dataclass(slots=True)
class TimedLayer:
    """A layer in one run.

    Attributes:
        event: The time of its workload.
        kernels: What its backend reported from inside, in order.
    """

    event: Event
    kernels: list[Event] = field(default_factory=list)


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

    An event belongs to the run and layer of its thread during which it began.
    """
    runs: list[TimedRun] = []
    current: dict[int, TimedRun] = {}
    for event in sorted(events, key=lambda event: (event.start_ns, -event.end_ns)):
        category = event.details.get("category")
        run = current.get(event.thread_id)
        if category == "run":
            current[event.thread_id] = TimedRun(event)
            runs.append(current[event.thread_id])
        elif run is None or not _began_during(event, run.event):
            continue
        elif category == "layer":
            run.layers.append(TimedLayer(event))
        elif run.layers and _began_during(event, run.layers[-1].event):
            run.layers[-1].kernels.append(event)
    return runs


def _began_during(event: Event, outer: Event) -> bool:
    return outer.start_ns <= event.start_ns <= outer.end_ns
