# SPDX-License-Identifier: MIT
"""The limits of a child process, and how it ended."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Cause: TypeAlias = Literal["ended", "deadline", "memory", "killed", "signalled", "guard"]
"""Why a child is no longer there.

It ended by itself, exceeded its time or memory, was ended by the host, sent its parent process a
signal, or its guard process was killed.
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a child process.

    Attributes:
        seconds: From its start to its end; None for a worker, which the host ends.
        memory: Bytes of private memory of the process, and resident bytes with all of its
            children; None for any number.
        output: Bytes of any one file that it writes, stdout and stderr among them; None for any
            number.
        descriptors: Open files; None for as many as this process.
    """

    seconds: float | None = None
    memory: int | None = None
    output: int | None = 1 << 24
    descriptors: int | None = None


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A function, called in a fresh interpreter.

    Attributes:
        function: As "module:function".
        arguments: As JSON can hold them.
        path: The folders of its imports besides the standard library, for an interpreter without
            site-packages; None for the import path of this process.
    """

    function: str
    arguments: Sequence[Any] = ()
    path: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its arguments, looked up in PATH."""

    argv: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child process ended.

    Attributes:
        cause: Why it is no longer there.
        status: The exit status, or minus the signal; None if it did not end by itself.
        left: The names of processes that it left running; they were ended.
        sent: The signal that it sent its parent process; 0 without one.
        output: The bytes that it wrote to stdout, if that was captured.
        errors: The bytes that it wrote to stderr, if that was captured.
    """

    cause: Cause
    status: int | None = None
    left: tuple[str, ...] = ()
    sent: int = 0
    output: bytes = field(default=b"", repr=False)
    errors: bytes = field(default=b"", repr=False)

    @property
    def is_success(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.cause == "ended" and self.status == 0

    def __str__(self) -> str:
        if self.cause == "ended":
            return ending_of(self.status or 0)
        return {
            "deadline": "exceeded time",
            "memory": "exceeded memory",
            "signalled": f"{signal_name(self.sent)} sent to its parent process",
            "killed": "an end by this process",
            "guard": "a killed guard process",
        }[self.cause]


def ending_of(status: int) -> str:
    """Return how a process ended: signal or exit code."""
    return f"exit code {status}" if status >= 0 else signal_name(-status)


def signal_name(number: int) -> str:
    """Return a signal's name, "SIGSEGV" for one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
