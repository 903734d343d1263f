# SPDX-License-Identifier: MIT
"""A worker process and the connection to it: its start, messages with deadlines, its end."""

from __future__ import annotations

import array
import contextlib
import fcntl
import itertools
import math
import os
import re
import select
import signal
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from armnn.__about__ import __version__
from armnn.backends import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn.backends.worker import protocol
from armnn.backends.worker.protocol import (
    BLOBS_LIMIT,
    PROTOCOL,
    Kind,
    Message,
    ProtocolError,
    packed,
    read_message,
)
from armnn.errors import (
    BackendUnavailableError,
    DeviceLostError,
    IncompatibleBackendError,
    WorkerLostError,
)
from armnn_backend_api.files import FileState
from armnn_backend_api.memory import printable
from armnn_backend_api.processes import Bounds, Child, Program, PythonCall, reduced_environment

_FRAME: Final = re.compile(
    r'^  File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9}) in (?P<name>.+)$'
)

_LONGEST_NAME: Final = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """The end of a worker.

    Attributes:
        backend: The id of the backend.
        file: Where the backend came from: a module, a library, or the command of a board.
        ending: How the process ended, or what it did: "SIGSEGV" for one.
        frame: The innermost Python frame of the worker, "" if it is not known.
        layer: The layer that it ran, or its other task; "" if there was none.
        call: Which call of the layer it was, from 1; 0 if it was none.
    """

    backend: str
    file: str
    ending: str
    frame: str = ""
    layer: str = ""
    call: int = 0

    def __str__(self) -> str:
        doing = f" in call {self.call} of {self.layer!r}" if self.call else ""
        if self.layer and not self.call:
            doing = f" while it had to answer {self.layer!r}"
        frame = f", at {self.frame}" if self.frame else ""
        return f"the worker of backend {self.backend!r} ({self.file}) {self.ending}{doing}{frame}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fault as data for JSON."""
        return {
            "backend": self.backend,
            "file": self.file,
            "ending": self.ending,
            "frame": self.frame,
            "layer": self.layer,
            "call": self.call,
        }


def frame_in(errors: bytes) -> str:
    """Return the innermost frame that ``faulthandler`` wrote last."""
    _, found, trace = errors.decode(errors="replace").rpartition("Fatal Python error: ")
    if not found:
        return ""
    for line in trace.splitlines():
        match = _FRAME.match(line)
        if match is not None:
            return printable(f"{match['file']}:{match['line']} in {match['name'][:_LONGEST_NAME]}")
    return ""


_PIECE: Final = 1 << 20
_MOST_DESCRIPTORS: Final = 250  # the kernel's own limit is 253


class GoneError(Exception):
    """The other side has closed the connection, or has ended."""


class LateError(Exception):
    """The other side did not answer in time."""


class Transport:
    """One end of a connection, for one thread each time.

    Attributes:
        received: Descriptors that came with messages and were not taken yet.
    """

    def __init__(self, reading: int, writing: int, *, watch: int | None = None) -> None:
        """Use descriptors, which the caller closes.

        Args:
            reading: Gives messages; a socket if descriptors come with them.
            writing: Takes messages; it may be the same.
            watch: Is readable when the other side has ended; without it this end blocks.
        """
        self.received: list[int] = []
        self._reading = reading
        self._writing = writing
        self._watch = watch
        self._until: float | None = None
        self._socket: socket.socket | None = None
        if reading == writing:
            # Above the other, which a worker keeps away from plug-ins that close descriptors.
            own = fcntl.fcntl(reading, fcntl.F_DUPFD_CLOEXEC, reading)
            self._socket = socket.socket(fileno=own)

    def close(self) -> None:
        """Close the descriptors that came and were not taken."""
        while self.received:
            os.close(self.received.pop())
        if self._socket is not None:
            self._socket.close()

    def send(
        self, message: Message, descriptors: Sequence[int] = (), *, until: float | None = None
    ) -> None:
        """Send a message.

        Args:
            message: The message.
            descriptors: Descriptors that are sent along; both ends must be sockets.
            until: When it must have been taken (``time.monotonic``), if ever.

        Raises:
            GoneError: There is no other side any more.
            LateError: It did not take the message in time.
            ProtocolError: The message is too large.
        """
        self._until = until
        first, *others = packed(message)
        try:
            if descriptors:
                first = self._send_with(descriptors, first)
            self._write((first, *others))
        except ConnectionError as error:
            raise GoneError from error

    def receive(self, *, until: float | None = None, most: int = BLOBS_LIMIT) -> Message:
        """Return the next message.

        Args:
            until: When it must have come (``time.monotonic``), if ever.
            most: How many bytes its blobs may have.

        Raises:
            GoneError: There is no other side any more.
            LateError: It did not come in time.
            ProtocolError: The received bytes are not a message.
        """
        self._until = until
        return read_message(self._read_exactly, most)

    def _send_with(
        self, descriptors: Sequence[int], piece: bytes | memoryview
    ) -> bytes | memoryview:
        """Send descriptors with the first bytes; return the others."""
        assert self._socket is not None
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        while True:
            try:
                return piece[self._socket.sendmsg([piece], rights) :]
            except BlockingIOError:
                self._wait(self._writing, select.POLLOUT)

    def _write(self, pieces: Iterable[bytes | memoryview]) -> None:
        for piece in pieces:
            left = memoryview(piece)
            while left.nbytes:
                try:
                    left = left[os.write(self._writing, left[:_PIECE]) :]
                except BlockingIOError:
                    self._wait(self._writing, select.POLLOUT)

    def _read_exactly(self, size: int) -> memoryview:
        found = memoryview(bytearray(min(size, _PIECE)))
        filled = 0
        while filled < size:
            if filled == found.nbytes:  # grown as it comes: a claimed size costs nothing
                found = memoryview(bytearray(found).ljust(min(size, 4 * filled), b"\0"))
            filled += self._read_some(found[filled:])
        return found[:size]

    def _read_some(self, into: memoryview) -> int:
        while True:
            try:
                count = self._received_into(into)
            except BlockingIOError:
                self._wait(self._reading, select.POLLIN)
            except ConnectionError as error:
                raise GoneError from error
            else:
                if count == 0:
                    raise GoneError
                return count

    def _received_into(self, into: memoryview) -> int:
        if self._socket is None or self._watch is not None:  # a host takes no descriptors
            return os.readv(self._reading, [into])
        space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
        count, ancillary, _, _ = self._socket.recvmsg_into([into], space, socket.MSG_CMSG_CLOEXEC)
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = array.array("i")
                numbers.frombytes(content[: len(content) // 4 * 4])
                self.received += numbers
        return count

    def _wait(self, descriptor: int, event: int) -> None:
        """Wait until a descriptor is ready.

        Raises:
            GoneError: The other side has ended, and nothing of it is left to be read.
            LateError: The time is up.
        """
        poll = select.poll()
        poll.register(descriptor, event)
        if self._watch is not None:
            poll.register(self._watch, select.POLLIN)
        seconds = None if self._until is None else self._until - time.monotonic()
        if seconds is not None and seconds <= 0:
            raise LateError
        ready = poll.poll(None if seconds is None else math.ceil(seconds * 1000))
        if not ready:
            raise LateError
        if all(number == self._watch for number, _ in ready):
            raise GoneError


START_SECONDS: Final = 180.0
"""How long a worker may take until it has loaded its backend; an emulated one takes 40."""
REQUEST_SECONDS: Final = 60.0
"""The least seconds that a worker has for a request that is not a call: it may compile."""
ENDING_SECONDS: Final = 0.02
"""How long a call waits to learn how its worker ended; its answer does not depend on it."""
SETTLING_SECONDS: Final = 3.0
"""How long the guard may take to end all that a worker has started."""
_OUTPUT_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a worker is started, and its limits.

    Attributes:
        name: The id by which the user knows the backend.
        id: The backend's own id.
        origin: Where it is, as a module with attribute or the path of a file; "" if the worker
            looks for the id.
        command: The command that runs a worker elsewhere; none for one of this machine.
        seconds: How long it may take for one call, and for a request if that is more than
            :data:`REQUEST_SECONDS`.
        memory: Bytes of private memory; None for any number.
        examined: The files that each worker maps, with the state in which each was examined.
    """

    name: str
    id: str
    origin: str = ""
    command: tuple[str, ...] = ()
    seconds: float = 60.0
    memory: int | None = None
    examined: tuple[tuple[str, FileState], ...] = ()

    @property
    def place(self) -> str:
        """Where the backend comes from, for people."""
        return " ".join(self.command) or self.origin


class Remote(Protocol):
    """An object in a worker that the host can remake."""

    def create(self, link: WorkerConnection) -> int:
        """Make the object in a worker; return its number there."""
        ...


class Running(Protocol):
    """A step that may be running."""

    title: str

    @property
    def running_call(self) -> int:
        """The call in progress, from 1; 0 without one."""
        ...


class Watch:
    """A descriptor that is readable once a worker has ended, for all of its steps.

    Attributes:
        descriptor: The descriptor, which is closed with this.
    """

    def __init__(self, pidfd: int) -> None:
        self.descriptor = os.dup(pidfd)
        weakref.finalize(self, os.close, self.descriptor)


class WorkerConnection:
    """A worker process with its connection.

    Attributes:
        recipe: How it was started.
        fault: How it ended; None as long as it lives.
        has_worked: Whether it has answered a call.
        takes_descriptors: Whether memory can be shared with it.
        channels: The steps that may be running there.
    """

    def __init__(self, recipe: Recipe, lost: Callable[[WorkerConnection], object]) -> None:
        """Start a worker and let it load the backend.

        Args:
            recipe: How.
            lost: Is called once, when it is lost.

        Raises:
            WorkerLostError: It ended, or did not answer.
            ArmnnError: The backend cannot be loaded.
            OSError: It cannot be started.
        """
        self.recipe = recipe
        self.fault: Fault | None = None
        self.has_worked = False
        self.takes_descriptors = not recipe.command
        self.channels: weakref.WeakSet[Running] = weakref.WeakSet()
        self._lost = lost
        self._did = ""
        self._is_settled = False
        self._lock = threading.RLock()
        self._losing = threading.Lock()
        self._sequence = 0
        self._new = itertools.count(1)
        self._numbers: weakref.WeakKeyDictionary[Remote, int] = weakref.WeakKeyDictionary()
        self._finalizers: list[weakref.finalize[Any, Any]] = []
        self._freed: deque[int] = deque()
        self._watch: Watch | None = None
        _links.add(self)
        with contextlib.ExitStack() as undo:
            self._child, self._transport = _started(recipe, undo)
            self._undo = undo.pop_all()
        try:
            self._greet()
        except WorkerLostError:
            self.wait_exit()  # no answer is waited for yet, so that how it ended is worth the time
            self.close()
            raise self.error() from None
        except BaseException:
            self.close()
            raise

    @property
    def is_lost(self) -> bool:
        """Whether it has ended, or is no longer believed."""
        return self.fault is not None

    @property
    def pid(self) -> int | None:
        """The number of the worker's process, or of the command's."""
        return self._child.pid

    def watch(self) -> Watch | None:
        """Return a watch that tells that the worker has ended, None if there is none.

        Raises:
            WorkerLostError: The worker is lost.
        """
        with self._lock:
            if self.fault is not None:
                raise self.error()
            if self._watch is None and self._child.pidfd is not None:
                self._watch = Watch(self._child.pidfd)
            return self._watch

    def new_number(self) -> int:
        """Return a number for a new object of the worker."""
        return next(self._new)

    def number_of(self, thing: Remote) -> int:
        """Return an object's number in the worker, made on demand.

        Raises:
            WorkerLostError: The worker is lost.
            ArmnnError: It cannot be made.
        """
        with self._lock:
            number = self._numbers.get(thing)
            if number is None:
                number = thing.create(self)
                self.note(thing, number)
            return number

    def note(self, thing: Remote, number: int) -> None:
        """Note an object of the worker until it is freed."""
        self._numbers[thing] = number
        self._finalizers.append(weakref.finalize(thing, self._freed.append, number))
        if len(self._finalizers) > 2 * len(self._numbers) + 16:
            self._finalizers = [each for each in self._finalizers if each.alive]

    def request(
        self,
        document: protocol.Document,
        blobs: Sequence[memoryview] = (),
        descriptors: Sequence[int] = (),
        *,
        most: int = BLOBS_LIMIT,
        seconds: float | None = None,
    ) -> Message:
        """Send a request; return the reply.

        Args:
            document: The request.
            blobs: The bytes for it.
            descriptors: The descriptors for it.
            most: How many bytes the reply may bring.
            seconds: How long it may take; None for the recipe's seconds, and
                :data:`REQUEST_SECONDS` at least.

        Raises:
            WorkerLostError: The worker ended, did not answer in time, or answered something else.
            ArmnnError: The backend failed.
        """
        seconds = max(self.recipe.seconds, REQUEST_SECONDS) if seconds is None else seconds
        doing = str(document.get("do"))
        with self._lock:
            if self.fault is not None:
                raise self.error()
            self._sequence += 1
            try:
                reply = self._exchanged(document, blobs, descriptors, most, seconds)
            except GoneError:
                raise self.lose("", doing) from None
            except LateError:
                raise self.lose(f"did not answer within {seconds:g} s", doing) from None
            except ProtocolError as error:
                raise self.lose(f"sent an invalid reply: {error}", doing) from error
            except BaseException:
                self.lose("was interrupted", doing)  # the rest of a message may still come
                raise
        if reply.kind is Kind.FAILURE:
            raise self.failure(reply.document, doing)
        return reply

    def failure(self, document: protocol.Document, doing: str, call: int = 0) -> Exception:
        """Return the error that the backend raised in the worker.

        A worker whose device is lost is given up, as nothing there can use it any more; so is one
        to which a request means nothing, as it does not hold what it said that it holds.

        Args:
            document: The error.
            doing: The worker's task.
            call: Which call of that, from 1.
        """
        try:
            error = protocol.decoded_error(document)
        except ProtocolError as wrong:
            return self.malformed(wrong, doing)
        if isinstance(error, DeviceLostError):
            lost = self.lose(f"lost its device: {error}", doing, call)
            lost.__cause__ = error
            return lost
        if isinstance(error, ProtocolError):
            return self.lose(f"refused a request: {error}", doing, call)
        return error

    def malformed(self, error: ProtocolError, doing: str) -> WorkerLostError:
        """Give the worker up for an answer that means nothing."""
        return self.lose(f"sent an invalid reply: {error}", doing)

    def lose(self, did: str, layer: str = "", call: int = 0) -> WorkerLostError:
        """Give the worker up; return the error that says why.

        Args:
            did: Its end, in words; "" if it has ended already.
            layer: The layer that it ran, or its other task.
            call: Which call of that, from 1.
        """
        with self._losing:
            if self.fault is None:
                self._did = did
                if did:
                    self._kill()
                busy = [(each.title, each.running_call) for each in self.channels]
                running = [(title, number) for title, number in busy if number]
                if running and not call:
                    layer, call = running[0]
                self.fault = self._fault(did, layer, call)
                self._lost(self)
        return self.error()

    def wait_exit(self) -> Fault:
        """Return how it was lost, once its process has ended."""
        assert self.fault is not None
        if not self._is_settled:
            if not self._did:
                self._child.wait(SETTLING_SECONDS)
            self._child.kill()
            self.fault = self._fault(self._did, self.fault.layer, self.fault.call)
            self._is_settled = True
        return self.fault

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL by others, or an unknown cause, ended it."""
        ending = self._child.ending
        if self._did or (ending is not None and ending.status == -signal.SIGKILL):
            return not self._did
        return ending is None or ending.cause in ("killed", "guard")

    def error(self) -> WorkerLostError:
        """Return the error of the lost worker."""
        return WorkerLostError(str(self.fault), self.recipe.name)

    def close(self) -> None:
        """End the worker, and release its resources in this process."""
        for each in self._finalizers:
            each.detach()
        with self._lock:  # a request of another thread must not read a descriptor's next owner
            self._watch = None
            self._undo.close()

    # -- inside -----------------------------------------------------------------------------------

    def _greet(self) -> None:
        hello = {
            "do": "hello",
            "protocol": [PROTOCOL.major, PROTOCOL.minor],
            "api": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
            "core": __version__,
            "backend": {
                "id": self.recipe.id,
                "origin": self.recipe.origin,
                "examined": [[path, list(state)] for path, state in self.recipe.examined],
            },
        }
        reply = self.request(hello, seconds=START_SECONDS).document
        try:
            needed = BackendVersion(*protocol.integers(reply.get("protocol"), 2))
            core = protocol.text(reply.get("core"))
        except ProtocolError as error:
            raise self.malformed(error, "hello") from error
        if not is_compatible(needed, PROTOCOL):
            raise IncompatibleBackendError(
                f"the worker of backend {self.recipe.name!r} ({self.recipe.place}) speaks protocol "
                f"{needed} (armnn-core {core}), this core {PROTOCOL}: upgrade armnn-core "
                f"{'here' if needed > PROTOCOL else 'there'}"
            )

    def _exchanged(
        self,
        document: protocol.Document,
        blobs: Sequence[memoryview],
        descriptors: Sequence[int],
        most: int,
        seconds: float,
    ) -> Message:
        until = time.monotonic() + seconds
        freed = []
        while self._freed:
            freed.append(self._freed.popleft())
        document = {**document, "free": freed} if freed else document
        number = self._sequence
        message = Message(Kind.REQUEST, number, document, blobs)
        self._transport.send(message, descriptors, until=until)
        reply = self._transport.receive(until=until, most=most)
        if reply.sequence != number or reply.kind is Kind.REQUEST:
            raise ProtocolError(f"it is {reply.kind.name} {reply.sequence}, expected {number}")
        return reply

    def _kill(self) -> None:
        number = self._child.pidfd
        with contextlib.suppress(OSError):
            if number is not None:
                signal.pidfd_send_signal(number, signal.SIGKILL)

    def _fault(self, did: str, layer: str, call: int) -> Fault:
        ending = self._child.wait(ENDING_SECONDS)
        frame = "" if ending is None else frame_in(ending.errors)
        if not did:
            did = "ended" if ending is None else f"ended with {ending}"
        return Fault(self.recipe.name, self.recipe.place, did, frame, layer, call)


_links: Final[weakref.WeakSet[WorkerConnection]] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """Let no step of a forked process talk to a worker of the process that it comes from."""
    for link in tuple(_links):
        if link.fault is None:
            did = "belongs to the process that this one was forked from"
            link.fault = Fault(link.recipe.name, link.recipe.place, did)


os.register_at_fork(after_in_child=_leave_to_parent)


def _started(recipe: Recipe, undo: contextlib.ExitStack) -> tuple[Child, Transport]:
    """Start a worker.

    Raises:
        BackendUnavailableError: No process can be started here.
    """
    bounds = Bounds(memory=recipe.memory, output=_OUTPUT_BYTES)
    try:
        if recipe.command:
            child, ends = _started_elsewhere(recipe.command, undo)
        else:
            ours, theirs = socket.socketpair()
            undo.enter_context(ours)  # if it is not detached, as no process can be started
            with theirs:
                number = theirs.fileno()
                child = undo.enter_context(
                    Child(
                        PythonCall("armnn.__main__:serve_isolated", [number]),
                        bounds,
                        stdout=_standard_error(undo),
                        descriptors=[number],
                        environment=reduced_environment(),
                    )
                )
            ours.setblocking(False)
            descriptor = ours.detach()
            undo.callback(os.close, descriptor)
            ends = descriptor, descriptor
    except OSError as error:
        raise BackendUnavailableError(
            f"backend {recipe.name!r} cannot be isolated: no process can be started: {error}"
        ) from error
    transport = Transport(*ends, watch=_announced(child))
    undo.callback(transport.close)
    return child, transport


def _started_elsewhere(
    command: Sequence[str], undo: contextlib.ExitStack
) -> tuple[Child, tuple[int, int]]:
    reading, their_writing = os.pipe()
    their_reading, writing = os.pipe()
    for each in (reading, writing):
        os.set_blocking(each, False)
        undo.callback(os.close, each)
    try:
        child = Child(
            Program(command), Bounds(output=None), stdin=their_reading, stdout=their_writing
        )
    finally:
        os.close(their_reading)
        os.close(their_writing)
    return undo.enter_context(child), (reading, writing)


def _standard_error(undo: contextlib.ExitStack) -> int:
    """Return where a backend's own prints go: not among results."""
    try:
        descriptor = os.dup(2)
    except OSError:
        descriptor = os.open(os.devnull, os.O_WRONLY)
    undo.callback(os.close, descriptor)
    return descriptor


def _announced(child: Child) -> int | None:
    """Wait for the guard's word; return the worker's pidfd."""
    until = time.monotonic() + START_SECONDS
    while child.pid is None and child.poll() is None and time.monotonic() < until:
        child.wait(0.005)
    return child.pidfd
