# SPDX-License-Identifier: MIT
"""The end of a :class:`~armnn_backend_api.processes.JsonChild` in the child process.

It needs no module but two of the standard library, as a probed file should meet a process with
little in it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

_LONGEST_TEXT: Final = 500
_PIECE: Final = 1 << 16


class Channel:
    """Sends replies to the host of this process, and yields its requests.

    A reply is a line: a word that only the two processes know, and a JSON object. What a library
    writes to a descriptor that is not its own is thus no reply.
    """

    def __init__(self, descriptor: int, nonce: str) -> None:
        """Use a socket.

        Args:
            descriptor: The descriptor of the socket to the host.
            nonce: The word before each reply.
        """
        self._descriptor = descriptor
        self._identity = _identity(descriptor)
        self._nonce = nonce
        self._owner = os.getpid()

    def send(self, **reply: object) -> None:
        """Send a reply, an object with these members.

        Raises:
            SystemExit: This is a copy of the process that a library made, or the socket is closed:
                the host has ended, or a library has closed the descriptor, which may be a file of
                its own by now.
        """
        if os.getpid() != self._owner:
            sys.exit("a copy of the process")
        line = f"{self._nonce} {json.dumps(reply)}\n".encode()
        try:
            while line and _identity(self._descriptor) == self._identity:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            pass
        if line:
            sys.exit("it closes file descriptors that are not its own")

    def requests(self) -> Iterator[Any]:
        """Yield each request as it comes, until the host closes its end."""
        unread = b""
        while piece := os.read(self._descriptor, _PIECE):
            *lines, unread = (unread + piece).split(b"\n")
            yield from map(json.loads, lines)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def serve(function: str, request: Any, descriptor: int, nonce: str) -> None:
    """Call a function with the first request and the channel.

    Args:
        function: As "module:function".
        request: Its first argument.
        descriptor: The descriptor of the socket to the host.
        nonce: The word before each reply.
    """
    module, _, name = function.partition(":")
    getattr(import_module(module), name)(request, Channel(descriptor, nonce))


def text_of(error: BaseException) -> str:
    """Return the text of an error, also of one whose own ``__str__`` fails."""
    try:
        return str(error)
    except Exception as fault:
        return f"a {type(error).__name__} whose __str__ raises {type(fault).__name__}"


def one_line(error: BaseException) -> str:
    """Return the text of an error and its notes as a printable line of at most 500 characters."""
    notes = getattr(error, "__notes__", ())
    text = f"{text_of(error)} ({'; '.join(notes)})" if notes else text_of(error)
    words = " ".join(text.split())
    return "".join(each if each.isprintable() else "?" for each in words)[:_LONGEST_TEXT]
