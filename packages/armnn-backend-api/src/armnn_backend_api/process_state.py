# SPDX-License-Identifier: MIT
"""The state that all code of a process shares.

No backend may change it. The probe reads it before and after each call, and the conformance kit
before and after a runtime.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import resource
import signal
from typing import Any, Final

from armnn_backend_api.floating_point import floating_point_environment

__all__ = ["KINDS", "ProcessState", "disturbed_by", "kind_of"]

KINDS: Final = ("descriptors", "environment", "signals", "threads")
"""The words of the capability Disturbs for the state of a process that a driver changes."""

_STREAMS: Final = ("stdin", "stdout", "stderr")
_LC_ALL: Final = 6
_TIMERS: Final = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_LIMITS: Final = {name: number for name, number in vars(resource).items() if name[:7] == "RLIMIT_"}
_FLAGS: Final = {
    "whether it may be traced": 3,  # PR_GET_DUMPABLE
    "which privileges it may gain": 39,  # PR_GET_NO_NEW_PRIVS
    "its filter of system calls": 21,  # PR_GET_SECCOMP
    "whether it keeps capabilities": 7,  # PR_GET_KEEPCAPS
    "its secure bits": 27,  # PR_GET_SECUREBITS
    "the slack of its timers": 30,  # PR_GET_TIMERSLACK
    "whether it uses huge pages": 42,  # PR_GET_THP_DISABLE
}
_POINTED_FLAGS: Final = {
    "the signal at the end of its parent process": 2,  # PR_GET_PDEATHSIG
    "whether orphaned processes become its children": 37,  # PR_GET_CHILD_SUBREAPER
}
_ROWS: Final = {
    "CapInh": "its capabilities",
    "CapPrm": "its capabilities",
    "CapEff": "its capabilities",
    "CapBnd": "its capabilities",
    "CapAmb": "its capabilities",
    "Name": "its name",
    "VmLck": "the memory that it locks",
}
"""Rows of ``/proc/self/status``, and their meaning."""
_NAMESPACES: Final = ("cgroup", "ipc", "mnt", "net", "pid_for_children", "user", "uts")
_KEPT_PERSONALITY: Final = 0xFFFFFFFF
_OWN_MARKS: Final = (b"__KMP_REGISTERED_LIB_",)
"""Variables by which copies of OpenMP find each other; nothing else reads them."""


def disturbed_by(stated: object) -> list[str]:
    """Return the kinds that a backend states as the capability Disturbs; None states none.

    Raises:
        ValueError: It states something else.
    """
    if stated is None:
        return []
    kinds = [each.strip() for each in stated.split(",")] if isinstance(stated, str) else [stated]
    unknown = [each for each in kinds if each not in KINDS]
    if unknown:
        raise ValueError(
            f"the capability Disturbs is {stated!r}: expected some of {', '.join(KINDS)}"
        )
    return [str(each) for each in kinds]


def kind_of(change: str) -> str:
    """Return the kind of a change of :class:`ProcessState`, "" of one that none may state."""
    if change.startswith(("changes what SIG", "changes the alternate signal stack")):
        return "signals"
    return "environment" if change == "changes the environment variables" else ""


class _Action(ctypes.Structure):
    """``struct sigaction`` of glibc and musl, with some room."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 8),
        ("unused", ctypes.c_uint8 * 120),
        ("flags", ctypes.c_int),
        ("rest", ctypes.c_void_p * 16),
    )


class ProcessState:
    """The state of this process at one time."""

    def __init__(self, *, floating_point: bool = True) -> None:
        """Read the state.

        Args:
            floating_point: With the floating-point environment of this thread.
        """
        self._libc: Any = ctypes.CDLL(None)
        self._libc.setlocale.restype = ctypes.c_char_p
        self._items = self._read(floating_point)

    def changes_to(self, later: ProcessState) -> list[str]:
        """Return the changes, each as the rest of a sentence."""
        return [
            what
            for what, value in self._items.items()
            if what in later._items and later._items[what] != value
        ]

    def _read(self, floating_point: bool) -> dict[str, object]:
        """Return the state, keyed by the sentence about its change."""
        items: dict[str, object] = {
            "changes the working directory": _identity("."),
            "changes the root directory": _identity("/"),
            **{
                f"closes or redirects {name}": _identity(number)
                for number, name in enumerate(_STREAMS)
            },
            **{what: self._handler(number) for what, number in _signals().items()},
            "blocks signals": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
            "changes the alternate signal stack": self._signal_stack(),
            "sets a timer": [signal.getitimer(timer)[0] > 0 for timer in _TIMERS],
            "changes the locale": self._libc.setlocale(_LC_ALL, None),
            "changes the umask": _umask(),
            **self._limits_and_rights(),
            "changes the environment variables": self._environment(),
        }
        if floating_point:
            items["changes the floating-point environment"] = _floating_point_modes()
        return items

    def _limits_and_rights(self) -> dict[str, object]:
        return {
            **{
                f"changes the limit {name}": resource.getrlimit(number)
                for name, number in _LIMITS.items()
            },
            "changes the user or group": (os.getresuid(), os.getresgid(), os.getgroups()),
            "changes the session or process group": (os.getsid(0), os.getpgrp()),
            "changes the processors it may run on": os.sched_getaffinity(0),
            "changes its priority": (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)),
            "makes the stack executable": _stack_permissions(),
            "changes the personality of the process": self._libc.personality(_KEPT_PERSONALITY),
            **{
                f"changes the namespace {name}": _identity(f"/proc/self/ns/{name}")
                for name in _NAMESPACES
            },
            "changes when the kernel ends it for want of memory": _text("/proc/self/oom_score_adj"),
            **_status(),
            **{
                f"changes {what}": self._pointed_flag(number)
                for what, number in _POINTED_FLAGS.items()
            },
            **{
                f"changes {what}": self._libc.prctl(number, 0, 0, 0, 0)
                for what, number in _FLAGS.items()
            },
        }

    def _handler(self, number: int) -> tuple[int | None, bytes, int]:
        """Return handler, mask and flags of ``struct sigaction``.

        Python does not know C's handlers.
        """
        action = _Action()
        self._libc.sigaction(number, None, ctypes.byref(action))
        return action.handler, bytes(action.mask), action.flags

    def _pointed_flag(self, number: int) -> int:
        flag = ctypes.c_int()
        self._libc.prctl(number, ctypes.byref(flag), 0, 0, 0)
        return flag.value

    def _signal_stack(self) -> bytes:
        stack = ctypes.create_string_buffer(3 * ctypes.sizeof(ctypes.c_void_p))
        self._libc.sigaltstack(None, stack)
        return stack.raw

    def _environment(self) -> list[bytes]:
        """Return C's variables, which Python does not see."""
        variables = ctypes.POINTER(ctypes.c_char_p).in_dll(self._libc, "environ")
        found: list[bytes] = []
        index = 0
        while bool(variables) and (row := variables[index]) is not None:
            if not row.startswith(_OWN_MARKS):
                found.append(row)
            index += 1
        return sorted(found)


def _floating_point_modes() -> object:
    """Return rounding, traps and flushing, without the sticky flags."""
    environment = floating_point_environment()
    if platform.machine() == "x86_64":
        return environment[:2], int.from_bytes(environment[28:32], "little") & ~0x3F
    return environment[:4]  # FPCR of AArch64, and the first word of others


def _stack_permissions() -> str:
    rows = _text("/proc/self/maps").splitlines()
    return next((line.split()[1] for line in rows if line.endswith("[stack]")), "")


def _status() -> dict[str, object]:
    """Return the rows of the kernel's status that changed."""
    found: dict[str, list[str]] = {f"changes {what}": [] for what in _ROWS.values()}
    for line in _text("/proc/self/status").splitlines():
        name, _, value = line.partition(":")
        if name in _ROWS:
            found[f"changes {_ROWS[name]}"].append(value)
    return dict(found)


def _text(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@functools.cache
def _signals() -> dict[str, int]:
    """Return all signals by the sentence about their change."""
    return {
        f"changes what {_name(number)} does": number for number in sorted(signal.valid_signals())
    }


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
