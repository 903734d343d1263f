# SPDX-License-Identifier: MIT
"""Recording of profiling events in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from armnn.arguments import flag, integer, mapping, text
from armnn.backends import OptionValue, ProfilingSink

EVENT_LIMIT = 1_000_000
"""Events kept by default, so that a profile of a long-running process cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that took time.

    Attributes:
        name: A phase ("parse", "run") or a layer's name.
        start_ns: When it began, on the clock of ``time.perf_counter_ns``.
        end_ns: When it ended, on the same clock.
        thread_id: The thread that reported it (``threading.get_ident``).
        details: Further facts of it: "category"; of a layer, and of what a backend tells of a
            layer inside a compiled part, "type" and "backend".
    """

    name: str
    start_ns: int
    end_ns: int
    thread_id: int = 0
    details: Mapping[str, OptionValue] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError if a field is of another kind."""
        text(self.name, "the name of an event")
        integer(self.start_ns, "the start of an event")
        integer(self.end_ns, "the end of an event")
        integer(self.thread_id, "the thread of an event")
        mapping(self.details, "the details of an event")

    @property
    def duration_ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.start_ns


class Recorder(ProfilingSink):
    """Keeps events in order of their ends; any thread reports.

    Attributes:
        is_recording: Whether events are kept; while it is false reporting one does nothing.
        limit: How many events are kept; later ones are counted in ``dropped``.
        dropped: How many events came after the limit was reached.
    """

    def __init__(self, *, is_recording: bool = True, limit: int = EVENT_LIMIT) -> None:
        self.is_recording = flag(is_recording, "is_recording")
        self.limit = integer(limit, "the limit")
        self.dropped = 0
        self._events: list[Event] = []
        self._lock = threading.Lock()

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that were recorded so far."""
        with self._lock:
            return tuple(self._events)

    def event(self, name: str, start_ns: int, end_ns: int, **details: OptionValue) -> None:
        """Keep an event, unless nothing is recorded at the moment."""
        if not self.is_recording:
            return
        made = Event(name, start_ns, end_ns, threading.get_ident(), MappingProxyType(details))
        with self._lock:
            if len(self._events) < self.limit:
                self._events.append(made)
            else:
                self.dropped += 1

    @contextmanager
    def span(self, name: str, **details: OptionValue) -> Iterator[None]:
        """Record the time of a ``with`` body, exceptions included."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.event(name, start, time.perf_counter_ns(), **details)

    def clear(self) -> None:
        """Forget everything that was recorded."""
        with self._lock:
            self._events.clear()
            self.dropped = 0
