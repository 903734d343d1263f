# SPDX-License-Identifier: MIT
"""Workers in threads, whose answers can be changed."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from armnn.backends.worker import connection, worker
from armnn.backends.worker.connection import GoneError, Transport
from armnn.backends.worker.protocol import Message
from armnn_backend_api.processes import Ending

if TYPE_CHECKING:
    from armnn.backends.worker.connection import Recipe

Change = Callable[[Message], Message | bytes]
"""Makes of a worker's answer what is sent instead of it."""


def unchanged(frame: Message) -> Message:
    return frame


class WorkerThread:
    """Stands in for a worker's process."""

    def __init__(self, descriptor: int, change: Change) -> None:
        self.pid = os.getpid()
        self.ending: Ending | None = None
        self.pidfd, self._other = os.pipe()
        own = os.dup(descriptor)
        self._thread = threading.Thread(target=self._serve, args=(own, change), daemon=True)
        self._thread.start()

    def _serve(self, descriptor: int, change: Change) -> None:
        transport = ChangingTransport(descriptor, change)
        try:
            with contextlib.suppress(SystemExit, GoneError):
                worker.serve(transport)
        finally:
            transport.close()
            os.close(descriptor)
            self.ending = Ending("ended", 0)

    def wait(self, seconds: float | None = None) -> Ending | None:
        return self.ending

    def kill(self) -> Ending:
        self.ending = self.ending or Ending("killed")
        return self.ending

    def close(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive(), "a worker does not end with its connection"
        os.close(self.pidfd)
        os.close(self._other)


class ChangingTransport(Transport):
    """Sends something else than it is told to."""

    def __init__(self, descriptor: int, change: Change) -> None:
        super().__init__(descriptor, descriptor)
        self._change = change

    def send(
        self, frame: Message, descriptors: Sequence[int] = (), *, until: float | None = None
    ) -> None:
        made = self._change(frame)
        if isinstance(made, Message):
            super().send(made, descriptors, until=until)
        else:
            with contextlib.suppress(OSError):
                os.write(self._writing, made)
            raise GoneError


@contextlib.contextmanager
def workers_in_threads(change: Change = unchanged) -> Iterator[None]:
    """Let links have threads for workers."""

    def started(recipe: Recipe, undo: contextlib.ExitStack) -> tuple[Any, Transport]:
        ours, theirs = socket.socketpair()
        with theirs:
            made = WorkerThread(theirs.fileno(), change)
        undo.callback(made.close)
        ours.setblocking(False)
        descriptor = ours.detach()
        undo.callback(os.close, descriptor)
        transport = Transport(descriptor, descriptor, watch=made.pidfd)
        undo.callback(transport.close)
        return made, transport

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_started", started)
        patch.setattr(connection.WorkerConnection, "_kill", lambda _: None)  # it would end the test
        yield
