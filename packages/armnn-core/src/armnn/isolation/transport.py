# SPDX-License-Identifier: MIT
"""Frames over descriptors, with deadlines and a watched peer."""

from __future__ import annotations

import array
import fcntl
import math
import os
import select
import socket
import time
from collections.abc import Iterable, Sequence
from typing import Final

from armnn.isolation.framing import BLOBS_LIMIT, Frame, packed, read_frame

_PIECE: Final = 1 << 20
_MOST_DESCRIPTORS: Final = 250  # the kernel's own limit is 253


class GoneError(Exception):
    """The other side has closed the connection, or has ended."""


class LateError(Exception):
    """The other side did not answer in time."""


class Transport:
    """One end of a connection, for one thread each time.

    Attributes:
        received: Descriptors that came with frames and were not taken yet.
    """

    def __init__(self, reading: int, writing: int, *, watch: int | None = None) -> None:
        """Use descriptors, which the caller closes.

        Args:
            reading: Gives frames; a socket if descriptors come with them.
            writing: Takes frames; it may be the same.
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
        """Close what came and was not taken."""
        while self.received:
            os.close(self.received.pop())
        if self._socket is not None:
            self._socket.close()

    def send(
        self, frame: Frame, descriptors: Sequence[int] = (), *, until: float | None = None
    ) -> None:
        """Send a frame.

        Args:
            frame: The frame.
            descriptors: Those that are sent along; both ends must be sockets.
            until: When it must have been taken (``time.monotonic``), if ever.

        Raises:
            GoneError: There is no other side any more.
            LateError: It did not take the frame in time.
            ProtocolError: The frame is too large.
        """
        self._until = until
        first, *others = packed(frame)
        try:
            if descriptors:
                first = self._send_with(descriptors, first)
            self._write((first, *others))
        except ConnectionError as error:
            raise GoneError from error

    def receive(self, *, until: float | None = None, most: int = BLOBS_LIMIT) -> Frame:
        """Return the next frame.

        Args:
            until: When it must have come (``time.monotonic``), if ever.
            most: How many bytes its blobs may have.

        Raises:
            GoneError: There is no other side any more.
            LateError: It did not come in time.
            ProtocolError: What came is no frame.
        """
        self._until = until
        return read_frame(self._read_exactly, most)

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
