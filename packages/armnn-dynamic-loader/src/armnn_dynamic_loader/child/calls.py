# SPDX-License-Identifier: MIT
"""Calls of a probed file, with checks of the process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.floating_point import kept_floating_point
from armnn_backend_api.guarded import attempt
from armnn_backend_api.process_state import ProcessState


class DefectError(Exception):
    """The file breaks the contract.

    The text is the rest of a sentence.
    """


class UnavailableError(Exception):
    """The backend lacks a device or library that it needs.

    That is no defect.
    """


if TYPE_CHECKING:
    from armnn_backend_api.processes import Channel

_SHOWN: Final = 200


class Calls:
    """Calls functions of the file between checks of the process."""

    def __init__(self, channel: Channel) -> None:
        """Take note of the process as it is."""
        self.channel = channel
        self._libc = ctypes.CDLL(None)
        self._before = ProcessState(floating_point=False)

    def enter(self, step: str) -> None:
        """Begin a step; check the process after the one before.

        Raises:
            DefectError: The file printed, or changed state of the whole process.
        """
        self.check_process()
        self.channel.send(step=step)

    def call(self, function: Callable[..., int], *arguments: object, claims: str = "") -> None:
        """Call a function of the table that answers a code.

        Raises:
            DefectError: It answers an error.
            UnavailableError: Its device or a library is missing.
        """
        with kept_floating_point():  # as the host does
            failure = attempt(function, *arguments)
        if failure is None:
            return
        message = failure.text or "no message"
        if failure.code == abi.UNAVAILABLE:
            raise UnavailableError(message)
        raise DefectError(f"{claims or 'has a defect: it'} answers code {failure.code}: {message}")

    def check_made(self, name: str, handle: ctypes.c_void_p) -> None:
        """Check that a function returned a handle.

        Raises:
            DefectError: It is NULL.
        """
        if not handle.value:
            raise DefectError(f"answers ARMNN_OK from {name}, but makes nothing")

    def check_process(self) -> None:
        """Refuse a file that printed or changed the process's state.

        Raises:
            DefectError: It did.
        """
        changes = self._before.changes_to(ProcessState(floating_point=False))
        if changes:
            raise DefectError(changes[0])
        self._libc.fflush(None)
        if os.fstat(1).st_size:
            text = os.pread(1, _SHOWN, 0).decode(errors="replace")
            raise DefectError(f"prints to stdout: {text!r}")


def running_threads() -> int:
    """Return the number of this process' threads."""
    return len(os.listdir("/proc/self/task"))


def left_running(before: int) -> str:
    """Return new threads and processes still running; empty if none.

    Args:
        before: How many threads there were.
    """
    threads = running_threads() - before
    if threads > 0:
        return f"{threads} thread{'' if threads == 1 else 's'}"
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none
        return ""
    return "a process"
