# SPDX-License-Identifier: MIT
"""The checks of backends with memory of their own: queues, times, kept blobs, forked children.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`, or
:class:`~armnn_conformance.checks.capabilities.NothingToCheckError` if the backend does not claim
what is checked.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Mapping
from typing import Final

from armnn.backends import BlobStore, Event, Step
from armnn.errors import ArmnnError
from armnn.profiling import Recorder, timed_runs
from armnn_conformance.cases import LayerCase
from armnn_conformance.checks.capabilities import NothingToCheckError
from armnn_conformance.checks.correctness import compare
from armnn_conformance.checks.stress import loaded, stored
from armnn_conformance.running import BoundCase, NonconformityError, feeds_of, layer_of
from armnn_conformance.subject import Subject

_FORK_SECONDS: Final = 60


def check_events(subject: Subject, case: LayerCase) -> None:
    """Check the events of tensors: they end, and a queue waits for those of another context.

    Raises:
        NonconformityError: They do not.
        NothingToCheckError: The tensors have none.
    """
    layer = layer_of(case)
    first, second = [BoundCase(subject, layer, case.inputs) for _ in range(2)]

    def run(step: Step) -> None:
        step()
        events = [handle.written() for handle in first.outputs]
        found = [event for event in events if event is not None]
        if not found:
            raise NothingToCheckError("its tensors have no events")
        for event in found:
            if not isinstance(event, Event):
                raise NonconformityError(f"written() returned {event!r}: expected an Event or None")
            if second.memory is not None:
                second.memory.wait_for(event)
        compare(second.run(), case, "behind the event of another context, the backend's")
        for event in found:
            event.wait()
            if not event.is_done:
                raise NonconformityError("wait() of an event returned, but its is_done is False")

    compare(first.run(run), case, "after its events, the backend's")


class _Later(Event):
    """An event of no queue, which is done once it was asked a few times."""

    def __init__(self) -> None:
        self.left = 5

    @property
    def is_done(self) -> bool:
        self.left -= self.left > 0
        return not self.left


def check_foreign_event(subject: Subject, case: LayerCase) -> None:
    """Check that a context waits for an event that its driver does not know.

    Raises:
        NonconformityError: It does not.
        NothingToCheckError: Its contexts have no memory managers.
    """
    bound, event = BoundCase(subject, layer_of(case), case.inputs), _Later()
    memory = bound.memory
    if memory is None:
        raise NothingToCheckError("its contexts have no memory managers, and so no queues")

    def run(step: Step) -> None:
        memory.wait_for(event)
        step()

    compare(bound.run(run), case, "behind an event of another backend, the backend's")
    if event.left:
        raise NonconformityError(
            "wait_for() with an event of another backend did not wait until it was done: expected "
            "event.wait() for an event that the driver does not know"
        )


def check_trim(subject: Subject, case: LayerCase) -> None:
    """Check that a run after :meth:`armnn.Runtime.trim` is right.

    Raises:
        NonconformityError: It is not.
    """
    with loaded(subject.runtime, subject.id, case) as network:
        if network is None:
            return
        network.run(feeds_of(case))
        subject.runtime.trim()
        compare(stored(network.run(feeds_of(case))), case, "after trim(), the runtime's")


def check_device_times(subject: Subject, case: LayerCase) -> None:
    """Check that each event of the device names a layer of the run during which it began.

    Raises:
        NonconformityError: They are not.
        NothingToCheckError: The backend reports none.
    """
    recorder = Recorder()
    with loaded(subject.runtime, subject.id, case) as network:
        if network is None:
            raise NothingToCheckError("the layer is computed by others")
        for _ in range(2):
            network.run(feeds_of(case), profiler=recorder)
        network.run(feeds_of(case))
    told = [each for each in recorder.events if each.details.get("category") == "device"]
    if not told:
        raise NothingToCheckError("it reports no times of a device")
    for event in told:
        if event.end_ns < event.start_ns or event.details.get("backend") != subject.id:
            raise NonconformityError(f"an event of the device is wrong: {event}")
    placed = [
        each
        for run in timed_runs(recorder.events)
        for layer in run.layers
        for each in layer.on_device
    ]
    if len(placed) != len(told):
        lost = next(each for each in told if each not in placed)
        raise NonconformityError(
            f"{len(told) - len(placed)} of {len(told)} events of the device have no layer of their "
            f"name in the run during which they began, by the clock of the host: {lost}"
        )


class _Damaged(BlobStore):
    """Has a blob for each key, which no backend can use."""

    def __init__(self) -> None:
        self.asked = 0

    def get(self, key: str) -> bytes | None:
        self.asked += 1
        return b"no blob that a backend keeps"

    def put(self, key: str, blob: bytes) -> None:
        if type(key) is not str or type(blob) is not bytes:
            raise NonconformityError(
                f"put() got {type(key)} and {type(blob)}: expected text, bytes"
            )


def check_blobs(subject: Subject, case: LayerCase) -> None:
    """Check that a blob that is none of the backend's changes nothing.

    Raises:
        NonconformityError: It does.
        NothingToCheckError: The backend asks for no blob.
    """
    blobs = _Damaged()
    usual, subject.model.blobs = subject.model.blobs, blobs
    try:
        bound = BoundCase(subject, layer_of(case), case.inputs)
        compare(bound.run(), case, "given blobs of another program, the backend's")
    finally:
        subject.model.blobs = usual
    if not blobs.asked:
        raise NothingToCheckError("it asks for no blob, or knows all that it needs already")


def check_fork(subject: Subject, case: LayerCase) -> None:
    """Check that a child that was forked raises or computes, but does not hang.

    Raises:
        NonconformityError: It hangs, ends, or computes something else.
    """
    with loaded(subject.runtime, subject.id, case) as network:
        if network is None:
            return
        compare(stored(network.run(feeds_of(case))), case, "the runtime's")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                compare(
                    stored(network.run(feeds_of(case))), case, "in a forked child, the backend's"
                )
                os.write(writing, b"right")
            except ArmnnError:
                os.write(writing, b"refused")
            except BaseException as error:
                os.write(writing, f"wrong: {error}".encode()[:1000])
            finally:
                os._exit(0)  # drivers and threads of the parent are not there to be closed
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], _FORK_SECONDS)
        told = os.read(reading, 1000).decode() if ready else "hangs"
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if told not in ("right", "refused"):
        raise NonconformityError(
            f"a child that was forked from a process with the backend {told or 'ended'}: if it "
            "cannot run there, raise an error that says to start processes by 'spawn'"
        )


CHECKS: Final[Mapping[str, Callable[[Subject, LayerCase], None]]] = {
    "blobs": check_blobs,  # first: a backend may ask for blobs only once
    "events": check_events,
    "foreign event": check_foreign_event,
    "trim": check_trim,
    "device times": check_device_times,
    "fork": check_fork,
}
"""The checks by name."""
