# SPDX-License-Identifier: MIT
"""Child processes: start, messages of the guard, end."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, Final, Self

from armnn_backend_api.processes.bounds import Bounds, Ending, Program, PythonCall
from armnn_backend_api.processes.interpreter import environment_of, guard_command
from armnn_backend_api.processes.lasting_thread import LASTING

_GRACE_SECONDS: Final = 3.0
"""How much longer than the child its guard may take."""
_LARGEST_REPORT: Final = 1 << 16
_MARK: Final = "ARMNN_PROCESS"
"""The variable by which the children of a killed guard are found."""
_SWEEP_SECONDS: Final = 1.0


class Child:
    """A bounded child process behind a guard.

    As a context manager it ends with the block. :meth:`fileno` makes it fit for selectors.

    Attributes:
        pid: The number of the process; None until the guard has reported it.
        pidfd: A descriptor that is readable when the process has ended; None before the report,
            and on Linux before 5.3.
        ending: How it ended; None until that is known.
    """

    def __init__(
        self,
        command: PythonCall | Program,
        bounds: Bounds,
        *,
        stdin: int | bytes = b"",
        stdout: int | None = None,
        stderr: int | None = None,
        descriptors: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; it may outlive the thread that does so.

        Args:
            command: The command that it runs.
            bounds: Its limits.
            stdin: A descriptor, or what it reads.
            stdout: A descriptor; None to capture it.
            stderr: A descriptor, which may be that of stdout; None to capture it.
            descriptors: Further descriptors that it inherits under the same numbers; it inherits
                no others.
            environment: Its variables; None for those of this process.

        Raises:
            StartError: There is no interpreter to start.
            OSError: The process cannot be started.
        """
        self.pid: int | None = None
        self.pidfd: int | None = None
        self.ending: Ending | None = None
        self._owner = os.getpid()
        self._received = bytearray()
        self._report: dict[str, Any] = {}
        self._mark = secrets.token_hex(16)
        is_bare = isinstance(command, Program) or command.path is not None
        variables = environment_of(environment, is_bare=is_bare) | {_MARK: self._mark}
        with contextlib.ExitStack() as undo:
            self._output = undo.enter_context(_capture()) if stdout is None else None
            self._errors = undo.enter_context(_capture()) if stderr is None else None
            read = undo.enter_context(_capture(stdin)) if isinstance(stdin, bytes) else stdin
            self._control, theirs = socket.socketpair()
            undo.callback(self._control.close)

            def start() -> subprocess.Popen[bytes]:
                return subprocess.Popen(
                    guard_command(theirs.fileno(), is_bare=is_bare),
                    stdin=read,
                    stdout=self._output or stdout,
                    stderr=self._errors or stderr,
                    env=variables,
                    pass_fds=[theirs.fileno(), *descriptors],
                    start_new_session=True,
                )

            is_main = threading.current_thread() is threading.main_thread()
            with theirs:
                self._guard = start() if is_main else LASTING.call(start)
            if not is_main:
                undo.callback(LASTING.release)
            self._bounds = bounds
            self._deadline = _after(bounds.seconds)
            undo.callback(self._end)
            self._send(_request(command, bounds, descriptors, environment))
            self._control.setblocking(False)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return a descriptor that is readable when :meth:`poll` has news."""
        return self._control.fileno()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until :meth:`poll` is due; None without a deadline."""
        if self._deadline is None:
            return None
        return max(self._deadline - time.monotonic(), 0.0)

    patience = seconds_left
    """The name that armnn-dynamic-loader 1.1 reads; use :attr:`seconds_left`."""

    def poll(self) -> Ending | None:
        """Return how it ended, None while it runs."""
        if self.ending is None:
            is_open = self._receive()
            if self._report:
                self.ending = self._reported()
            elif not is_open:
                self.ending = self._unguarded("guard")
            elif self._deadline is not None and time.monotonic() >= self._deadline:
                self.ending = self._unguarded("deadline")
        return self.ending

    def wait(self, seconds: float | None = None) -> Ending | None:
        """Wait for its end; return it, None if it runs.

        Args:
            seconds: How long at most; None for any time.
        """
        until = _after(seconds, grace=0.0)
        while self.poll() is None:
            waits = [self.seconds_left]
            if until is not None:
                waits.append(until - time.monotonic())
            known = [each for each in waits if each is not None]
            if until is not None and time.monotonic() >= until:
                return None
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            poll.poll(max(math.ceil(min(known) * 1000), 0) if known else None)
        return self.ending

    def kill(self) -> Ending:
        """End it with all that it started; return the ending."""
        if self.ending is None:
            with contextlib.suppress(OSError):
                self._control.shutdown(1)  # SHUT_WR
            self._deadline = min(_after(0.0) or 0.0, self._deadline or float("inf"))
            self.wait()
        assert self.ending is not None
        return self.ending

    def close(self) -> None:
        """End it, and release its resources in this process.

        In a forked copy of this process, only the copy's descriptors are closed.
        """
        if os.getpid() == self._owner:
            self._undo.close()
        else:
            self._control.close()

    # -- the guard ------------------------------------------------------------------------------

    def _send(self, request: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has died: no report will come
            self._control.settimeout(_GRACE_SECONDS)
            self._control.sendall(json.dumps(request).encode() + b"\n")

    def _receive(self) -> bool:
        """Read the guard's reports; return whether more may come."""
        try:
            while True:
                piece, numbers, _, _ = socket.recv_fds(self._control, 1 << 12, 1)
                self.pidfd = numbers[0] if numbers else self.pidfd
                self._received += piece
                *lines, rest = bytes(self._received).split(b"\n")
                self._received[:] = rest
                for line in lines:
                    self._take(line)
                if not piece or len(rest) > _LARGEST_REPORT:
                    return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _take(self, line: bytes) -> None:
        try:
            report = json.loads(line)
        except ValueError:
            return
        if "started" in report:
            self.pid = report["started"]
        else:
            self._report = report

    def _reported(self) -> Ending:
        cause, _, number = str(self._report["cause"]).partition(" ")
        status = self._report["status"] if cause == "ended" else None
        known = Ending(
            cause,  # type: ignore[arg-type]  # our guard says it
            status,
            tuple(self._report["left"]),
            int(number or 0),
        )
        return self._with_texts(known)

    def _unguarded(self, cause: Any) -> Ending:
        """End a silent guard and all that it guarded."""
        self._guard.kill()
        self._guard.wait()
        left = _sweep(self._mark)
        return self._with_texts(Ending(cause, left=tuple(left) if cause == "guard" else ()))

    def _with_texts(self, ending: Ending) -> Ending:
        size = self._bounds.output or 1 << 24
        return replace(
            ending, output=_content(self._output, size), errors=_content(self._errors, size)
        )

    def _end(self) -> None:
        self.kill()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
        self._guard.wait()


def run(
    command: PythonCall | Program,
    bounds: Bounds,
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> Ending:
    """Run a child process to its end.

    Args:
        command: The command that it runs.
        bounds: Its limits; the time is required.
        stdin: The bytes that it reads.
        environment: Its variables; None for those of this process.

    Raises:
        OSError: It cannot be started.
    """
    with Child(command, bounds, stdin=stdin, environment=environment) as child:
        ending = child.wait()
    assert ending is not None
    return ending


def _request(
    command: PythonCall | Program,
    bounds: Bounds,
    descriptors: Sequence[int],
    environment: Mapping[str, str] | None,
) -> dict[str, Any]:
    given = os.environ if environment is None else environment
    request: dict[str, Any] = {
        "host": os.getpid(),
        "bounds": asdict(bounds),
        "descriptors": list(descriptors),
        "python_path": given.get("PYTHONPATH"),
        "argv": [],
        "path": [],
        "function": "",
        "arguments": [],
    }
    if isinstance(command, Program):
        return request | {"argv": list(command.argv)}
    return request | {
        "function": command.function,
        "arguments": list(command.arguments),
        "path": list(command.path or ()),
    }


def _after(seconds: float | None, grace: float = _GRACE_SECONDS) -> float | None:
    return None if seconds is None else time.monotonic() + seconds + grace


def _capture(content: bytes = b"") -> IO[bytes]:
    """Return a file; with a pipe the child would wait."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    file.write(content)
    file.seek(0)
    return file


def _content(file: IO[bytes] | None, size: int) -> bytes:
    return b"" if file is None else os.pread(file.fileno(), size, 0)


def _sweep(mark: str) -> list[str]:
    """End all processes with a mark; return their names."""
    wanted = f"{_MARK}={mark}".encode()
    names: dict[int, str] = {}
    until = time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < until:
        found = [pid for pid in _processes() if wanted in _environ(pid)]
        if not found:
            break
        for pid in found:
            with contextlib.suppress(OSError):
                names[pid] = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
                os.kill(pid, signal.SIGKILL)
    return [*names.values()]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _environ(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
