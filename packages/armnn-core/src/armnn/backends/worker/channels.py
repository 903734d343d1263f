# SPDX-License-Identifier: MIT
"""Channels in shared memory: bound steps of a worker, on the side of the host and of the worker.

A channel is one bound step with a thread of the worker; the protocol calls it a lane. Its host
block begins with a command, its worker block with an answer; tensors follow. Both sides wake each
other by an eventfd; the words in memory only save them from sleeping.
"""

from __future__ import annotations

import os
import select
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from armnn.backends import TensorHandle
from armnn.backends.contract import RunControl, controlled, current_control
from armnn.backends.memory import ArrayHandle
from armnn.backends.worker import protocol
from armnn.backends.worker.connection import SETTLING_SECONDS, Watch, WorkerConnection
from armnn.backends.worker.memory import (
    GAP,
    Block,
    SharedBytes,
    SharedHandle,
    handle_on,
    place_together,
)
from armnn.backends.worker.protocol import BLOBS_LIMIT, ProtocolError, encoded_error
from armnn.backends.worker.remote import RemoteWorkload
from armnn.backends.worker.supervisor import Supervisor
from armnn.errors import ExecutionError, WorkerLostError

_COMMAND_BYTES: Final = 64
"""The host's words: sequence number, deadline (perf_counter_ns, 0 without one), whether to stop."""
_SEQUENCE, _DEADLINE, _STOP = 0, 1, 2

_ANSWER_BYTES: Final = 1088
"""The worker's words: sequence number with a mark, outcome, bytes of the text; the text."""
_DONE, _OUTCOME, _TEXT_SIZE = 0, 1, 2
_TEXT_AT: Final = 64
_SUCCESS, FAILURE = 0, 1

_DONE_MARK: Final = 0x41524D4E << 32
"""In an answer, so that no stray write passes for one; sequence numbers have 32 bits."""
_SEQUENCES: Final = 1 << 32

_SPIN_NS: Final = 20_000
"""How long each side looks at the memory before it sleeps."""


def _seen(words: memoryview, at: int, wanted: int, nanoseconds: int = _SPIN_NS) -> bool:
    """Poll a word briefly; return whether it came."""
    if words[at] == wanted:
        return True
    now = time.perf_counter_ns
    until = now() + nanoseconds
    while now() < until:
        if words[at] == wanted:
            return True
    return False


def _words_of(memory: memoryview, size: int) -> memoryview:
    """Return the words at the beginning of a block."""
    return memory[:size].cast("Q")


_GRACE_SECONDS: Final = 0.25
"""How long after its deadline a run may take to stop; then its worker is ended."""
_TICK_SECONDS: Final = 0.005


class SharedMemoryChannel:
    """A step on shared memory with a worker's thread.

    Attributes:
        title: The layer, for messages.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        workload: RemoteWorkload,
        title: str,
        inputs: Sequence[TensorHandle],
        outputs: Sequence[TensorHandle],
    ) -> None:
        """Place the tensors, and bind the step in the worker.

        Raises:
            WorkerLostError: There is no worker.
            ArmnnError: The backend cannot bind it.
        """
        self.title = title
        self._supervisor = supervisor
        self._workload = workload
        link = supervisor.link(wait=False)  # first: without a worker nothing is placed
        self._copies_in: list[tuple[TensorHandle, SharedHandle]] = []
        self._copies_out: list[tuple[SharedHandle, TensorHandle]] = []
        self._inputs = [self._shared_input(each) for each in inputs]
        self._outputs = [self._shared_output(each) for each in outputs]
        self._place()
        self._shared: dict[tuple[Block, bool], SharedBytes] = {}
        self._link: WorkerConnection | None = None
        self._calls = 0
        self._number = 0
        self._ends: weakref.finalize[Any, Any] | None = None
        self._watch: Watch | None = None
        self._connect(link)

    @property
    def running_call(self) -> int:
        """The call in progress, from 1; 0 without one."""
        is_done = self._answer[_DONE] == self._number | _DONE_MARK
        return 0 if is_done or not self._number else self._calls

    def run(self) -> None:
        """Run the step once.

        Raises:
            WorkerLostError: The worker ended, or did what none may do.
            ExecutionError: The step failed, was cancelled or ran out of time.
        """
        link = self._link
        if link is None or link.fault is not None:
            link = self._connect(self._supervisor.link(wait=False))
        for source, target in self._copies_in:
            source.copy_to(target.map())
        control = current_control.get()
        command, answer = self._command, self._answer
        command[_DEADLINE] = 0 if control is None else control.deadline_ns or 1
        self._calls += 1
        self._number = number = (self._number + 1) % _SEQUENCES or 1
        done = number | _DONE_MARK
        try:
            command[_SEQUENCE] = number
            os.eventfd_write(self._wake, 1)
            if control is not None or not (_seen(answer, _DONE, done) and self._taken()):
                self._wait(link, control)
        except ExecutionError:
            raise
        except BaseException:
            self._lose(link, "was interrupted")  # it may still write the outputs
            raise
        if answer[_DONE] != done:
            raise self._lose(link, "answered another call")
        if answer[_OUTCOME] != _SUCCESS:
            raise self._failure(link)
        for gap in self._gaps:
            if gap != GAP:
                raise self._lose(link, "wrote outside of its outputs")
        link.has_worked = True
        for made, place in self._copies_out:
            place.copy_from(made.map())

    def create(self, link: WorkerConnection) -> int:
        """Bind the step in a worker."""
        number, workload = link.new_number(), link.number_of(self._workload)
        written = {(each.block, each.offset) for each in self._outputs}
        request = {
            "do": "lane",
            "number": number,
            "workload": workload,
            "inputs": [
                self._place_of(link, each, is_written=(each.block, each.offset) in written)
                for each in self._inputs
            ],
            "outputs": [self._place_of(link, each, is_written=True) for each in self._outputs],
            "blocks": [
                self._number_of(link, self._host, is_written=False),
                self._number_of(link, self._theirs, is_written=True),
            ],
        }
        link.request(request, descriptors=[self._wake, self._done])
        return number

    # -- inside -----------------------------------------------------------------------------------

    def _shared_input(self, handle: TensorHandle) -> SharedHandle:
        if isinstance(handle, SharedHandle) and not handle.is_placed:
            return handle
        found = handle_on(handle.info, handle.map()) if isinstance(handle, ArrayHandle) else None
        if found is not None:
            return found
        made = SharedHandle(handle.info)
        self._copies_in.append((handle, made))
        return made

    def _shared_output(self, handle: TensorHandle) -> SharedHandle:
        if isinstance(handle, SharedHandle) and not handle.is_placed:
            return handle
        found = handle_on(handle.info, handle.map()) if isinstance(handle, ArrayHandle) else None
        if found is not None and found.block is not None and found.block.is_written_there:
            return found
        made = SharedHandle(handle.info)
        self._copies_out.append((made, handle))
        return made

    def _place(self) -> None:
        inputs, outputs = (
            list(dict.fromkeys(each for each in every if not each.is_placed))
            for every in (self._inputs, self._outputs)
        )
        self._host = place_together(inputs, _COMMAND_BYTES, is_written_there=False)
        self._theirs = place_together(outputs, _ANSWER_BYTES, is_written_there=True)
        memory = self._theirs.bytes.data
        self._command = _words_of(self._host.bytes.data, _COMMAND_BYTES)
        self._answer = _words_of(memory, _TEXT_AT)
        self._text = memory[_TEXT_AT:_ANSWER_BYTES]
        self._gaps = [
            gap
            for each in self._outputs
            if each.block is not None
            for gap in each.block.gaps(each.offset)
        ]

    def _connect(self, link: WorkerConnection) -> WorkerConnection:
        """Bind the step in a new worker."""
        self._disconnect()
        self._watch = link.watch()  # first: a lost worker has none
        ends: list[int] = []
        self._ends = weakref.finalize(self, _close_all, ends)
        self._done = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        ends.append(self._done)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        ends.append(self._wake)
        self._poll = select.poll()
        self._poll.register(self._done, select.POLLIN)
        if self._watch is not None:
            self._poll.register(self._watch.descriptor, select.POLLIN)
        self._number = 0
        for word in (_SEQUENCE, _DEADLINE, _STOP):
            self._command[word] = 0
        self._answer[_DONE] = _DONE_MARK
        for gap in self._gaps:
            gap[:] = GAP
        link.number_of(self)
        link.channels.add(self)
        self._link = link
        return link

    def _disconnect(self) -> None:
        self._link = None
        if self._ends is not None:
            self._ends()

    def _taken(self) -> bool:
        """Take the worker's signal; return whether it was there."""
        try:
            os.eventfd_read(self._done)
        except BlockingIOError:
            return False
        return True

    def _wait(self, link: WorkerConnection, control: RunControl | None) -> None:
        """Wait for the worker's answer.

        Raises:
            WorkerLostError: The worker ended, or takes too long.
            CancelledError: The caller cancelled the run, and the worker did not stop.
            DeadlineExceededError: The time was up, and the worker did not stop.
        """
        until = time.monotonic() + link.recipe.seconds
        given_up: ExecutionError | None = None
        while True:
            ready = self._poll.poll(self._milliseconds_left(until, control))
            if any(number == self._done for number, _ in ready):
                if self._taken():
                    self._command[_STOP] = 0
                    return
            elif ready:
                raise self._lose(link, "")
            if control is not None and given_up is None:
                given_up = control.reason_to_stop()
                if given_up is not None:
                    self._command[_STOP] = 1
                    until = min(until, time.monotonic() + _GRACE_SECONDS)
            if time.monotonic() >= until:
                did = f"did not answer within {link.recipe.seconds:g} s"
                lost = self._lose(link, did if given_up is None else "did not stop")
                raise lost if given_up is None else given_up from lost

    def _lose(self, link: WorkerConnection, did: str) -> WorkerLostError:
        """Give the worker up; return the error once it can write no output any more."""
        error = link.lose(did, self.title, self._calls)
        if self._watch is not None:
            ended = select.poll()
            ended.register(self._watch.descriptor, select.POLLIN)
            ended.poll(SETTLING_SECONDS * 1000)
        return error

    def _milliseconds_left(self, until: float, control: RunControl | None) -> float:
        seconds = until - time.monotonic()
        if control is not None and control.cancel is not None:
            seconds = min(seconds, _TICK_SECONDS)
        if control is not None and control.deadline_ns is not None:
            left = (control.deadline_ns - time.perf_counter_ns()) / 1e9
            seconds = min(seconds, left if left > 0 else _TICK_SECONDS)
        return max(seconds, 0.0) * 1000 + 1

    def _failure(self, link: WorkerConnection) -> Exception:
        size = self._answer[_TEXT_SIZE]
        raw = bytes(self._text[: min(size, len(self._text))])
        name, _, text = raw.decode(errors="replace").partition("\0")
        made = link.failure({"error": name, "text": text}, self.title, self._calls)
        if isinstance(made, ExecutionError):
            return made
        failed = ExecutionError(str(made))
        failed.__cause__ = made
        return failed

    def _place_of(
        self, link: WorkerConnection, handle: SharedHandle, *, is_written: bool
    ) -> list[int]:
        assert handle.block is not None
        return [self._number_of(link, handle.block, is_written=is_written), handle.offset]

    def _number_of(self, link: WorkerConnection, block: Block, *, is_written: bool) -> int:
        key = block, is_written
        if key not in self._shared:
            self._shared[key] = SharedBytes(block, is_written=is_written)
        return link.number_of(self._shared[key])


class MessageStep:
    """A step whose tensors are sent in messages.

    Attributes:
        title: The layer, for messages.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        workload: RemoteWorkload,
        title: str,
        inputs: Sequence[TensorHandle],
        outputs: Sequence[TensorHandle],
    ) -> None:
        """Bind the step in the worker.

        Raises:
            WorkerLostError: There is no worker.
            ArmnnError: The backend cannot bind it.
        """
        self.title = title
        self._supervisor = supervisor
        self._workload = workload
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._calls = 0
        infos = [each.info for each in self._outputs]
        is_known = all(info.is_static for info in infos)
        self._most = sum(info.size_bytes for info in infos) if is_known else BLOBS_LIMIT
        supervisor.link(wait=False).number_of(self)

    def create(self, link: WorkerConnection) -> int:
        """Bind the step in a worker."""
        number, workload = link.new_number(), link.number_of(self._workload)
        link.request({"do": "bind", "number": number, "workload": workload})
        return number

    def run(self) -> None:
        """Run the step once.

        Raises:
            WorkerLostError: The worker ended, or did what none may do.
            ExecutionError: The step failed, or ran out of time.
        """
        link = self._supervisor.link(wait=False)
        self._calls += 1
        control = current_control.get()
        arrays = [each.map() for each in self._inputs]
        request: protocol.Document = {
            "do": "run",
            "step": link.number_of(self),
            "shapes": [list(each.shape) for each in arrays],
        }
        seconds = link.recipe.seconds
        if control is not None and control.deadline_ns is not None:
            left = max(control.deadline_ns - time.perf_counter_ns(), 0)
            request["nanoseconds"] = left
            seconds = min(seconds, left / 1e9 + _GRACE_SECONDS)
        profiler = None if control is None else control.profiler
        if profiler is not None:
            request["profile"] = True
        blobs = [protocol.blob_of(each) for each in arrays]
        try:
            reply = link.request(request, blobs, seconds=seconds, most=self._most)
        except ExecutionError:
            raise
        except Exception as error:
            raise ExecutionError(str(error)) from error
        for each in self._inputs:
            each.unmap()
        try:
            self._take(reply.document, reply.blobs)
            if profiler is not None:
                _tell(profiler.event, reply.document.get("events"))
        except (ProtocolError, ValueError, ExecutionError) as error:
            raise link.malformed(ProtocolError(str(error)), self.title) from error
        link.has_worked = True

    def _take(self, document: protocol.Document, blobs: Sequence[memoryview]) -> None:
        shapes = protocol.sequence(document.get("shapes"), len(self._outputs))
        if len(blobs) != len(shapes):
            raise ProtocolError(f"got {len(blobs)} outputs, expected {len(shapes)}")
        for handle, shape, blob in zip(self._outputs, shapes, blobs, strict=True):
            wanted = tuple(protocol.integers(shape, len(protocol.sequence(shape))))
            if not handle.info.accepts(wanted):
                raise ProtocolError(f"an output has the shape {list(wanted)}: {handle.info}")
            array = np.frombuffer(blob, handle.info.data_type.numpy_dtype).reshape(wanted)
            if isinstance(handle, ArrayHandle) or handle.info.is_static:
                handle.copy_from(array)
            else:
                handle.assign(array)


def _tell(event: Callable[..., None], rows: object) -> None:
    """Give a worker's events to a profiler.

    Raises:
        ProtocolError: They are none.
    """
    for row in protocol.sequence(rows):
        name, start, end, details = protocol.sequence(row, 4)
        known = {
            protocol.text(key): value
            for key, value in protocol.mapping(details).items()
            if isinstance(value, (bool, int, float, str))
            and key not in ("name", "start_ns", "end_ns")
        }
        event(protocol.text(name), protocol.whole(start), protocol.whole(end), **known)


def _close_all(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)


_TEXT_LIMIT: Final = _ANSWER_BYTES - _TEXT_AT


class ChannelServer:
    """Runs a step whenever the host asks for it."""

    def __init__(
        self,
        step: Callable[[], object],
        command: memoryview,
        answer: memoryview,
        wake: int,
        done: int,
    ) -> None:
        """Start the thread.

        Args:
            step: The step.
            command: The host's block.
            answer: The worker's block.
            wake: The eventfd by which the host wakes it; it is closed at the end.
            done: The eventfd by which it answers; it is closed at the end.
        """
        self._step = step
        self._command = _words_of(command, _COMMAND_BYTES)
        self._answer = _words_of(answer, _TEXT_AT)
        self._text = answer[_TEXT_AT:_ANSWER_BYTES]
        self._wake, self._done = wake, done
        self._has_ended = False
        threading.Thread(target=self._serve, daemon=True).start()

    def end(self) -> None:
        """Let the thread end."""
        self._has_ended = True
        os.eventfd_write(self._wake, 1)

    def _serve(self) -> None:
        number = 0
        while True:
            number = (number + 1) % _SEQUENCES
            _seen(self._command, _SEQUENCE, number)
            os.eventfd_read(self._wake)
            if self._has_ended:
                os.close(self._wake)
                os.close(self._done)
                return
            self._answer[_OUTCOME] = self._run()
            self._answer[_DONE] = number | _DONE_MARK  # last: now the rest is valid
            os.eventfd_write(self._done, 1)

    def _run(self) -> int:
        deadline = self._command[_DEADLINE]
        try:
            if not deadline:
                self._step()
                return _SUCCESS
            control = RunControl(deadline if deadline > 1 else None, _Token(self._command))
            with controlled(control):
                self._step()
        except BaseException as error:
            self._explain(error)
            return FAILURE
        return _SUCCESS

    def _explain(self, error: BaseException) -> None:
        found = encoded_error(error)
        text = f"{found['error']}\0{found['text']}".encode(errors="replace")[:_TEXT_LIMIT]
        self._text[: len(text)] = text
        self._answer[_TEXT_SIZE] = len(text)


class _Token:
    """Asks the host's block whether to stop."""

    def __init__(self, command: memoryview) -> None:
        self._command = command

    def is_set(self) -> bool:
        """Return whether the host has given up the run."""
        return bool(self._command[_STOP])
