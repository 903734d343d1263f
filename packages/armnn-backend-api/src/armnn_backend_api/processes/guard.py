# SPDX-License-Identifier: MIT
"""The guard process between the host and a child.

It is the child's parent and the subreaper of all that the child starts, so it can end every one of
them, and tells the host how the child ended. It runs as a script that imports the standard library
only: a probe must not import NumPy. It forks the child before it has threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_REAPING_SECONDS: Final = 1.5
"""How long the guard tries to end all processes that the child left."""
_REAPING_TICK_SECONDS: Final = 0.01
_TICK_SECONDS: Final = 0.05
_SLOW_TICK_SECONDS: Final = 1.0
_CLOSELY_WATCHED_SECONDS: Final = 10.0
_MOST_LEFT: Final = 10
_LARGEST_REQUEST: Final = 1 << 26


def main(descriptor: int) -> Any:
    """Start and guard a child; return in the child only.

    Args:
        descriptor: The socket to the host, which sends the request as one line of JSON.
    """
    control = socket.socket(fileno=descriptor)
    request = json.loads(_line(control))
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != request["host"]:
        os._exit(0)
    own = os.getpid()
    signals = _Signals()
    child = os.fork()
    if child:
        _Guard(control, child, request, signals).serve()
        os._exit(0)
    signals.reset()
    control.close()
    _confine(request["bounds"], own)
    if request["argv"]:
        try:
            os.execvp(request["argv"][0], request["argv"])
        except OSError as error:
            sys.exit(f"{request['argv'][0]!r} cannot be started: {error.strerror}")
    _restore("PYTHONPATH", request["python_path"])
    sys.path[:0] = request["path"]
    module, _, name = request["function"].partition(":")
    return getattr(__import__(module, fromlist=[name]), name)(*request["arguments"])


def _restore(name: str, value: str | None) -> None:
    """Give a variable the host's value again.

    The child may start another interpreter, which has other modules.
    """
    os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value


def _line(control: socket.socket) -> bytes:
    """Return the request; end with the host."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = control.recv(1 << 16)
        if not piece or len(line) > _LARGEST_REQUEST:
            os._exit(0)
        line += piece
    return bytes(line)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _confine(bounds: dict[str, Any], guard: int) -> None:
    """Set the child's limits; let it end with the guard."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(0)
    for kind, number in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, bounds["output"]),
        (resource.RLIMIT_NOFILE, bounds["descriptors"]),
        (resource.RLIMIT_DATA, bounds["memory"]),
    ):
        if number is not None:
            _, hard = resource.getrlimit(kind)
            least = number if hard == resource.RLIM_INFINITY else min(number, hard)
            resource.setrlimit(kind, (least, hard))


class _Signals:
    """All signals of the guard, read from a pipe."""

    def __init__(self) -> None:
        """Take all signals; inherited handlers and masks end here."""
        self.descriptor, self._writing = os.pipe()
        for end in (self.descriptor, self._writing):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._taken = [*_settable(self._note)]
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _note(self, *_: object) -> None:
        """Do nothing: the number is in the pipe."""

    def came(self) -> set[int]:
        """Return the signals since the last call, without SIGCHLD."""
        try:
            return {*os.read(self.descriptor, 1 << 12)} - {signal.SIGCHLD}
        except BlockingIOError:
            return set()

    def reset(self) -> None:
        """Give the child the signals of a fresh interpreter."""
        signal.set_wakeup_fd(-1)
        for number in self._taken:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for name in ("SIGPIPE", "SIGXFSZ"):
            signal.signal(signal.Signals[name], signal.SIG_IGN)
        os.close(self.descriptor)
        os.close(self._writing)


def _settable(handler: Any) -> Iterator[int]:
    """Set a handler where signals allow it; yield them."""
    faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
    for number in sorted(signal.valid_signals() - faults):
        try:
            signal.signal(number, handler)
        except (OSError, ValueError):  # SIGKILL, SIGSTOP
            continue
        yield number


class _Guard:
    """Waits for a child's end and ends all that remains."""

    def __init__(
        self, control: socket.socket, child: int, request: dict[str, Any], signals: _Signals
    ) -> None:
        self._control = control
        self._child = child
        self._host: int = request["host"]
        self._descriptors: list[int] = request["descriptors"]
        self._seconds: float | None = request["bounds"]["seconds"]
        self._memory: int | None = request["bounds"]["memory"]
        self._signals = signals
        self._status: int | None = None
        self._began = time.monotonic()

    def serve(self) -> None:
        """Report the start and, after everything has ended, the end."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2, *self._descriptors):
            os.dup2(nothing, descriptor)  # so that the host sees the end of the child's pipes
        self._announce()
        cause = self._watch()
        left = self._names() if cause == "ended" else []
        self._end_all()
        report = {"cause": cause, "status": self._status, "left": left}
        self._send(report)

    def _announce(self) -> None:
        """Send the child's number and a descriptor of it."""
        line = json.dumps({"started": self._child}).encode() + b"\n"
        with contextlib.suppress(OSError):
            try:
                number = os.pidfd_open(self._child)
            except (AttributeError, OSError):  # Linux before 5.3
                self._control.sendall(line)
            else:
                socket.send_fds(self._control, [line], [number])
                os.close(number)

    def _watch(self) -> str:
        """Return why the watch is over."""
        while True:
            self._reap()
            for number in self._signals.came():
                return "killed" if os.getppid() != self._host else f"signalled {number}"
            if self._status is not None:
                return "ended"
            if self._seconds is not None and self._age() >= self._seconds:
                return "deadline"
            if self._memory is not None and self._resident() > self._memory:
                return "memory"
            if _wait((self._control.fileno(), self._signals.descriptor), self._seconds_to_check()):
                return "killed"  # the host ends it, or has ended

    def _age(self) -> float:
        return time.monotonic() - self._began

    def _seconds_to_check(self) -> float | None:
        waits = []
        if self._seconds is not None:
            waits.append(max(self._seconds - self._age(), 0.0))
        if self._memory is not None:
            is_young = self._age() < _CLOSELY_WATCHED_SECONDS
            waits.append(_TICK_SECONDS if is_young else _SLOW_TICK_SECONDS)
        return min(waits, default=None)

    def _reap(self) -> bool:
        """Take note of ended children; return whether any is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True
                is_over = os.WIFEXITED(status) or os.WIFSIGNALED(status)
                if pid == self._child and is_over:  # a traced child stops at each signal
                    self._status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    def _end_all(self) -> None:
        """End the child and all that it started."""
        until = time.monotonic() + _REAPING_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self._status is None:
                    os.killpg(self._child, signal.SIGKILL)
            # Stopped first, so that none forks faster than it is ended.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in descendants(os.getpid()):
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
            if not self._reap():
                return
            _wait((self._signals.descriptor,), _REAPING_TICK_SECONDS)
            self._signals.came()

    def _names(self) -> list[str]:
        """Return the names of the processes that the child left."""
        found = []
        for pid in descendants(os.getpid())[:_MOST_LEFT]:
            try:
                found.append(_text(f"/proc/{pid}/comm").strip())
            except OSError:
                continue
        return found

    def _resident(self) -> int:
        """Return the resident bytes of the child and its children."""
        total = 0
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError, ValueError, IndexError):
                total += int(_text(f"/proc/{pid}/statm").split()[1])
        return total * resource.getpagesize()

    def _send(self, report: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(report).encode() + b"\n")


def _text(path: str) -> str:
    """Return a file's text, without pathlib: importing it takes long."""
    with open(path, errors="replace") as file:
        return file.read()


def _wait(descriptors: tuple[int, ...], seconds: float | None) -> bool:
    """Wait until one is readable; return whether the first is."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    ready = poll.poll(None if seconds is None else math.ceil(seconds * 1000))
    return any(descriptor == descriptors[0] for descriptor, _ in ready)


def descendants(pid: int) -> list[int]:
    """Return all processes below one, parents first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        above = waiting.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{above}/task"):
                text = _text(f"/proc/{above}/task/{task}/children")
                waiting += (below := [int(word) for word in text.split()])
                found += below
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
