# SPDX-License-Identifier: MIT
"""A process that probes a file: start, messages and end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Final

import armnn_backend_api
from armnn_backend_api import BACKEND_API_VERSION
from armnn_dynamic_loader import questions

BOOTSTRAP: Final = (
    "import sys; sys.path += sys.argv[1:]; "
    "from armnn_dynamic_loader.child.probing import main; main()"
)
"""What the child runs, with :func:`search_path` as its arguments."""

_LARGEST_REPORT: Final = 1 << 16
_LARGEST_TEXT: Final = 4096
_POLL_SECONDS: Final = 0.02


class ChildProcess:
    """A fresh interpreter that tries one file out.

    Attributes:
        path: The file.
        deadline: When it shall be ended, as ``time.monotonic`` counts.
    """

    def __init__(self, path: str, timeout: float) -> None:
        """Start it.

        Args:
            path: The file.
            timeout: Seconds that it may take.

        Raises:
            OSError: It cannot be started.
        """
        self.path = path
        self._nonce = secrets.token_hex(16)
        self._report = bytearray()
        with contextlib.ExitStack() as undo:
            # Files, not pipes: the child never waits for a reader.
            self._output = undo.enter_context(tempfile.TemporaryFile())
            self._errors = undo.enter_context(tempfile.TemporaryFile())
            self._pipe, write_end = os.pipe()
            undo.callback(os.close, self._pipe)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, *_flags(), "-c", BOOTSTRAP, *search_path()],
                    stdin=subprocess.PIPE,
                    stdout=self._output,
                    stderr=self._errors,
                    pass_fds=[write_end],
                    start_new_session=True,
                )
            finally:
                os.close(write_end)
            undo.callback(self._end)
            self.deadline = time.monotonic() + timeout
            os.set_blocking(self._pipe, False)
            self._exit = _exit_descriptor(self._process.pid)
            if self._exit is not None:
                undo.callback(os.close, self._exit)
            self._send(self._request(write_end))
            self._undo = undo.pop_all()

    def register(self, selector: selectors.BaseSelector) -> None:
        """Let the selector wake when it reports something or ends."""
        selector.register(self._pipe, selectors.EVENT_READ, self)
        if self._exit is not None:
            selector.register(self._exit, selectors.EVENT_READ, self)

    @property
    def patience(self) -> float:
        """Seconds until it must be checked without a selector event."""
        left = max(self.deadline - time.monotonic(), 0.0)
        return left if self._exit is not None else min(left, _POLL_SECONDS)

    def hear(self, selector: selectors.BaseSelector, descriptor: int) -> None:
        """Read the child's messages after the selector woke for it."""
        if descriptor == self._pipe and not self._read_report():
            selector.unregister(descriptor)

    def has_ended(self) -> bool:
        """Return whether the process has ended by itself.

        Its number is not used again before :meth:`close`.
        """
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    def told(self) -> dict[str, Any]:
        """Return what it reported by kind, the last of each."""
        self._read_report()
        told: dict[str, Any] = {}
        for line in bytes(self._report).split(b"\n"):
            word, _, content = line.partition(b" ")
            if word == self._nonce.encode():  # anything else came from the file
                with contextlib.suppress(ValueError):
                    kind, value = json.loads(content)
                    told[kind] = value
        return told

    def close(self, selector: selectors.BaseSelector) -> int | None:
        """End it with its children; return its exit status.

        None if it had not ended by itself.
        """
        has_ended = self.has_ended()
        for descriptor in (self._pipe, self._exit):
            with contextlib.suppress(KeyError):  # it was heard to the end
                if descriptor is not None:
                    selector.unregister(descriptor)
        self._end()
        return self._process.returncode if has_ended else None

    def dispose(self) -> tuple[str, str]:
        """Release its resources; return its stdout and stderr."""
        texts = _text(self._output), _text(self._errors)
        self._undo.close()
        return texts

    def _read_report(self) -> bool:
        """Read what there is; return whether there may be more."""
        try:
            while piece := os.read(self._pipe, _LARGEST_TEXT):
                self._report += piece
                if len(self._report) > _LARGEST_REPORT:  # the file fills our pipe
                    return False
        except BlockingIOError:
            return True
        return False

    def _request(self, descriptor: int) -> dict[str, Any]:
        return {
            "path": self.path,
            "descriptor": descriptor,
            "nonce": self._nonce,
            "api_version": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
            "layers": questions.layers(),
            "search_path": [folder for folder in sys.path if folder],
        }

    def _send(self, request: dict[str, Any]) -> None:
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError), stdin:
                stdin.write(json.dumps(request).encode())

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _flags() -> list[str]:
    """Return the interpreter's flags: isolated, with this one's bytecode setting."""
    flags = ["-I", "-S"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix is not None:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return flags


def search_path() -> list[str]:
    """Return the import path for the child and armnn-backend-api."""
    modules = (__file__, armnn_backend_api.__file__)
    return list(dict.fromkeys(str(Path(module).parents[1]) for module in modules))


def _exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends.

    None on Linux before 5.3.
    """
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # neither Python nor the kernel need have it
        return None


def _text(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), _LARGEST_TEXT, 0).decode(errors="replace")
