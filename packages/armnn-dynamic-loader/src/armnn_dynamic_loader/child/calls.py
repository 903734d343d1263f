# SPDX-License-Identifier: MIT
"""Calls of a probed file, with checks of the process."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.floating_point import kept_floating_point
from armnn_backend_api.guarded import attempt
from armnn_backend_api.process_state import ProcessState, kind_of


class DefectError(Exception):
    """The file breaks the contract.

    The text is the rest of a sentence.
    """


class UnavailableError(Exception):
    """The backend lacks a device or library that it needs, which is not a defect of the backend."""


if TYPE_CHECKING:
    from armnn_backend_api.processes import Channel

_SHOWN: Final = 200
_WATCHED_DESCRIPTORS: Final = (*range(3, 64), 127, 255, 511, 1023)
"""The numbers that a host's files and sockets have."""


class _OpenDescriptors:
    """Open descriptors in place of a host's, so that a file which closes some is found out.

    The process of a probe has but one of its own, the channel's, whose number depends on how many
    the host had.
    """

    def __init__(self) -> None:
        """Open each free descriptor number, up to half of the limit of the process."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _WATCHED_DESCRIPTORS[-1] if limit == resource.RLIM_INFINITY else limit // 2
        reading, writing = os.pipe()
        self._identity = _identity(reading)  # of a pipe, which no other file has
        self._numbers = [
            number
            for number in _WATCHED_DESCRIPTORS
            if number <= most and (number in (reading, writing) or _identity(number) is None)
        ]
        for number in self._numbers:
            if number != reading:
                os.dup2(reading, number, inheritable=False)
        for number in {reading, writing}.difference(self._numbers):
            os.close(number)

    def are_kept(self) -> bool:
        """Return whether each descriptor is still the same file."""
        return all(_identity(number) == self._identity for number in self._numbers)


def _identity(descriptor: int) -> tuple[int, int] | None:
    """Return the device and the number of an open file, None if nothing is open."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Calls:
    """Calls functions of the file between checks of the process."""

    def __init__(self, channel: Channel) -> None:
        """Record the state of the process."""
        self.channel = channel
        self._libc = ctypes.CDLL(None)
        self._descriptors = _OpenDescriptors()
        self._before = ProcessState(floating_point=False)
        self._disturbed: Collection[str] = ()

    def allow(self, disturbed: Collection[str]) -> None:
        """Let the file change some of ``process_state.KINDS``, which its driver disturbs."""
        self._disturbed = disturbed

    def enter(self, step: str) -> None:
        """Begin a step; check the process after the one before.

        Raises:
            DefectError: The file printed, or changed state of the whole process.
        """
        self.check_process()
        self.name(step)

    def name(self, step: str) -> None:
        """Report progress to the host, without examining the process."""
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
            raise DefectError(f"returns ARMNN_OK from {name} without an object")

    def check_process(self) -> None:
        """Refuse a file that printed, closed descriptors or changed the process's state.

        Raises:
            DefectError: It did.
        """
        if not self._descriptors.are_kept():
            raise DefectError("closes file descriptors that are not its own")
        found = self._before.changes_to(ProcessState(floating_point=False))
        changes = [each for each in found if kind_of(each) not in self._disturbed]
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
