# SPDX-License-Identifier: MIT
"""Times of kernels on the device, of profiled runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

import pyopencl as cl

from armnn.backends import ProfilingContext, ProfilingSink


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel of a profiled run.

    Attributes:
        layer: The name of its layer.
        type: The layer's type.
        kernel: Its own name.
        enqueued_ns: When the host began to enqueue it.
        event: The driver's event.
    """

    layer: str
    type: str
    kernel: str
    enqueued_ns: int
    event: cl.Event


class DeviceTimes(ProfilingContext):
    """Reports the kernels of one run, at its end, as they ran on the device.

    Meanwhile the run's thread acquires queues that keep times; all other runs use queues that do
    not.

    Attributes:
        launched: The kernels so far.
    """

    def __init__(self, sink: ProfilingSink, backend_id: str) -> None:
        self._sink = sink
        self._backend_id = backend_id
        self.launched: list[Launched] = []

    def begin_run(self, network_id: int) -> None:  # noqa: ARG002  # of the contract
        """Let the queues of this thread keep times."""
        _running.times = self

    def end_run(self, network_id: int) -> None:  # noqa: ARG002  # as above
        """Report the kernels, but for those that a run left behind as it ended before them."""
        _running.times = None
        done = [
            (each, each.event.profile)
            for each in self.launched
            if each.event.command_execution_status == cl.command_execution_status.COMPLETE
        ]
        # The driver enqueues a kernel a little later than the host begins to.
        shift_ns = max((each.enqueued_ns - times.queued for each, times in done), default=0)
        for each, times in done:
            self._sink.event(
                each.layer,
                times.start + shift_ns,
                times.end + shift_ns,
                category="device",
                type=each.type,
                backend=self._backend_id,
                kernel=each.kernel,
            )


def times_of_thread() -> DeviceTimes | None:
    """Return the recorder of this thread's run, None unless it is profiled."""
    found: DeviceTimes | None = getattr(_running, "times", None)
    return found


_running: Final = threading.local()
