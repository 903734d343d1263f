# SPDX-License-Identifier: MIT
"""Deadline, cancellation and profiling of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from armnn.backends.options import OptionValue


class CancelToken(Protocol):
    """Anything that can cancel a run; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Return whether to stop the run."""
        ...


class ProfilingSink(ABC):
    """Where profiling events go."""

    @abstractmethod
    def event(self, name: str, start_ns: int, end_ns: int, **details: OptionValue) -> None:
        """Record that something took from ``start_ns`` to ``end_ns`` (``time.perf_counter_ns``)."""


class ProfilingContext:
    """A backend's own events and counters (Arm NN: ``IBackendProfilingContext``)."""

    def begin_run(self, network_id: int) -> None:
        """Take note that a profiled run begins."""

    def end_run(self, network_id: int) -> None:
        """Take note that a profiled run ended.

        Events of a device can be reported now.
        """


@dataclass(frozen=True, slots=True)
class RunControl:
    """A caller's controls of one run.

    Runs without them take the short way.

    Attributes:
        deadline_ns: When the run must have ended (``time.perf_counter_ns``), if ever.
        cancel: Asked before each layer.
        profiler: Gets one event per layer.
    """

    deadline_ns: int | None = None
    cancel: CancelToken | None = None
    profiler: ProfilingSink | None = None


current_control: Final[ContextVar[RunControl | None]] = ContextVar("armnn_run", default=None)
"""The control of the run that this thread is in; a step that takes long asks it now and then."""

controlled_runs: Final[list[RunControl]] = []
"""The controls of all threads' runs.

Nearly always there is none: steps of microseconds look here first, which takes 0.06 us less of a
small model's run than to ask ``current_control`` each time.
"""


@contextmanager
def controlled(control: RunControl) -> Iterator[None]:
    """Let a control be that of this thread's run."""
    controlled_runs.append(control)
    token = current_control.set(control)
    try:
        yield
    finally:
        current_control.reset(token)
        controlled_runs.pop()  # any one: only whether there are some is asked
