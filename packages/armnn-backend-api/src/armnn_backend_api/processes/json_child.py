# SPDX-License-Identifier: MIT
"""Child processes that get requests and send replies, as lines of JSON."""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import select
import socket
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Self

from armnn_backend_api.processes.bounds import Bounds, Ending, PythonCall
from armnn_backend_api.processes.child import Child

_SERVE: Final = "armnn_backend_api.processes.channel:serve"
_MOST_UNREAD: Final = 1 << 20
"""Bytes of replies, and of one line, that are kept before someone reads them."""
_END_SECONDS: Final = 60.0
"""How long a process that has closed its socket may take to end."""
_LONGEST_LAST_WORDS: Final = 200


class NoReplyError(Exception):
    """A child process sent no reply; the text says why, as a clause.

    Attributes:
        ending: How the process ended; None if it sent something that is not a reply.
    """

    def __init__(self, reason: str, ending: Ending | None = None) -> None:
        super().__init__(reason)
        self.ending = ending


class JsonChild:
    """A child process that gets requests and sends replies.

    It calls ``function(request, channel)`` in a fresh interpreter, where ``channel`` is a
    :class:`~armnn_backend_api.processes.Channel`: ``channel.send(answer=42)`` sends the reply
    ``{"answer": 42}``, and ``channel.requests()`` yields what :meth:`send` sends. Replies need no
    request, and a request may have any number of replies. As a context manager the process ends
    with the block.
    """

    def __init__(
        self,
        function: str,
        request: Any,
        bounds: Bounds,
        *,
        path: Sequence[str] | None = None,
        output: int | None = None,
    ) -> None:
        """Start it.

        Args:
            function: As "module:function".
            request: The first argument of the function; JSON can hold it.
            bounds: The limits of the process.
            path: As in :class:`~armnn_backend_api.processes.PythonCall`.
            output: The descriptor of a file that gets what it prints; None to capture it.

        Raises:
            OSError: It cannot be started.
        """
        self._nonce = secrets.token_hex(16).encode()
        self._unread = bytearray()
        self._replies: deque[bytes] = deque()
        self._is_open = True
        with contextlib.ExitStack() as undo:
            self._socket, theirs = socket.socketpair()
            undo.callback(self._socket.close)
            with theirs:
                number = theirs.fileno()
                call = PythonCall(_SERVE, [function, request, number, self._nonce.decode()], path)
                self._child = Child(
                    call, bounds, stdout=output, stderr=output, descriptors=[number]
                )
            undo.callback(self._child.close)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until :meth:`poll` is due; None without a deadline."""
        return self._child.seconds_left

    def ask(self, request: Any, seconds: float | None = None) -> dict[str, Any]:
        """Send a request and return the next reply, as :meth:`send` and :meth:`reply` do."""
        self.send(request)
        return self.reply(seconds)

    def send(self, request: Any) -> None:
        """Send a request; if the process has ended, :meth:`reply` raises."""
        with contextlib.suppress(OSError):
            self._socket.sendall(json.dumps(request).encode() + b"\n")

    def reply(self, seconds: float | None = None) -> dict[str, Any]:
        """Wait for the next reply and return it.

        Args:
            seconds: How long to wait; None until the process exceeds its own time.

        Raises:
            NoReplyError: The process has ended, takes longer, which ends it, or has sent something
                else.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while not self._replies:
            left = _least(self.seconds_left, _left(until))
            if not self._is_open or self._is_full or left == 0:
                raise self._no_reply(until)
            wait_for_any([self], left)
            self.poll()
        return _parsed(self._replies.popleft())

    def replies(self) -> list[dict[str, Any]]:
        """Return the replies that have come and were not returned, without waiting.

        Raises:
            NoReplyError: One of them is not an object of JSON.
        """
        self._receive()
        found = [*self._replies]
        self._replies.clear()
        return [_parsed(each) for each in found]

    def poll(self) -> Ending | None:
        """Read the sent bytes; return how the process ended, None while it runs."""
        ending = self._child.poll()
        self._receive()
        if ending is not None:
            self._is_open = False
        return ending

    def wait(self, seconds: float | None = None) -> Ending | None:
        """Wait for the end of the process; return how it ended, None if it runs.

        Args:
            seconds: How long at most; None until the process exceeds its own time.
        """
        return self._child.wait(seconds)

    def close(self, seconds: float = 0.0) -> None:
        """End the process, with all that it started.

        Args:
            seconds: How long it may take to end by itself, as it gets no further request.
        """
        if seconds:
            with contextlib.suppress(OSError):
                self._socket.shutdown(1)  # SHUT_WR
            self._child.wait(seconds)
        self._undo.close()

    def descriptors(self) -> list[int]:
        """Return the descriptors that are readable when :meth:`poll` has news."""
        reads = self._is_open and not self._is_full
        return [self._child.fileno(), *([self._socket.fileno()] if reads else [])]

    @property
    def _is_full(self) -> bool:
        """Whether no more is read until someone takes replies."""
        return len(self._unread) + sum(map(len, self._replies)) > _MOST_UNREAD

    def _receive(self) -> None:
        """Read the bytes that are there, without waiting."""
        while self._is_open and not self._is_full:
            try:
                piece = self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            self._is_open = bool(piece)
            *lines, rest = bytes(self._unread + piece).split(b"\n")
            self._unread[:] = rest
            for line in lines:
                nonce, _, reply = line.partition(b" ")
                if nonce == self._nonce:  # a library wrote anything else
                    self._replies.append(reply)

    def _no_reply(self, until: float | None) -> NoReplyError:
        """Return the error for a process that has ended, or that is ended now."""
        if self._is_full:
            self._child.kill()
            return NoReplyError(f"sent an invalid reply: more than {_MOST_UNREAD} bytes")
        ending = self._child.wait(_least(_left(until), None if self._is_open else _END_SECONDS))
        if ending is None:
            ending = replace(self._child.kill(), cause="deadline", status=None)
        return NoReplyError(_text_of(ending), ending)


def wait_for_any(children: Iterable[JsonChild], seconds: float | None) -> bool:
    """Wait until one of some child processes has sent something or ended.

    Args:
        children: The processes.
        seconds: How long at most; None for any time.

    Returns:
        Whether one has.
    """
    poll = select.poll()
    for child in children:
        for descriptor in child.descriptors():
            poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else math.ceil(seconds * 1000)))


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NoReplyError(f"sent an invalid reply: {error}") from error
    if not isinstance(reply, dict):
        raise NoReplyError(f"sent an invalid reply: got {reply!r:.80}, expected an object")
    return reply


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0.0)


def _least(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)


def _text_of(ending: Ending) -> str:
    """Return how a process without a reply ended, with the last line that it wrote."""
    if ending.is_success:
        return "ended without a reply"
    lines = ending.errors.decode(errors="replace").strip().splitlines()[-1:]
    words = "".join(each if each.isprintable() else "?" for each in "".join(lines))
    last = words[:_LONGEST_LAST_WORDS]
    return f"its process ended with {ending}{f': {last}' if last else ''}"
