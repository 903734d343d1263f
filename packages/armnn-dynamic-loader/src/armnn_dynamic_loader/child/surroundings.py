# SPDX-License-Identifier: MIT
"""The process state that loading a library must not change."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_STREAMS: Final = ("stdin", "stdout", "stderr")
_SIGNALS: Final = ("SIGHUP", "SIGINT", "SIGPIPE", "SIGTERM", "SIGCHLD", "SIGALRM")
"""Those by which people, shells and programs tell a process something."""

_LC_ALL: Final = 6
_LARGEST_ACTION: Final = 512
"""Bytes; more than a ``struct sigaction`` has anywhere."""


class Surroundings:
    """The process as it was before a library was loaded."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._libc.setlocale.restype = ctypes.c_char_p
        self._before = self._state()

    def change(self) -> str:
        """Return the state that changed, as a sentence's rest.

        It is empty if nothing changed.
        """
        now = self._state()
        return next((what for what, state in self._before.items() if state != now[what]), "")

    def _state(self) -> dict[str, object]:
        """Return the state, keyed by the sentence about its change."""
        return {
            "changes the working directory": _identity("."),
            **{
                f"closes or redirects {name}": _identity(number)
                for number, name in enumerate(_STREAMS)
            },
            **{f"changes what {name} does": self._handler(name) for name in _SIGNALS},
            "blocks signals": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
            "sets a timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
            "changes the locale": self._libc.setlocale(_LC_ALL, None),
            "changes the umask": _umask(),
        }

    def _handler(self, name: str) -> bytes:
        """Return the first field of ``struct sigaction``.

        Python does not know C's handlers.
        """
        action = ctypes.create_string_buffer(_LARGEST_ACTION)
        self._libc.sigaction(int(signal.Signals[name]), None, action)
        return action.raw[: ctypes.sizeof(ctypes.c_void_p)]


def left_running() -> str:
    """Return other threads and processes still running; empty if none."""
    threads = len(os.listdir("/proc/self/task")) - 1
    if threads > 0:
        return f"{threads} thread{'' if threads == 1 else 's'}"
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none
        return ""
    return "a process"


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
