# SPDX-License-Identifier: MIT
"""Timeouts that callers give, as deadlines."""

from __future__ import annotations

import time

from armnn._arguments import real, refused

_LONGEST_TIMEOUT = 1e9  # seconds, as the clock counts nanoseconds in 64 bits


def seconds_of(timeout: object) -> float | None:
    """Return the seconds of a timeout, None for no limit.

    Raises:
        InvalidArgumentError: It is no number of seconds, or too large a one.
    """
    seconds = None if timeout is None else real(timeout, "the timeout")
    if seconds is not None and not -_LONGEST_TIMEOUT <= seconds <= _LONGEST_TIMEOUT:
        raise refused("the timeout", timeout, "seconds, at most 1e9, or None for no limit")
    return seconds


def deadline_of(timeout: object) -> int | None:
    """Return when a run must have ended (``time.perf_counter_ns``).

    Raises:
        InvalidArgumentError: The timeout is no number of seconds, or too large a one.
    """
    seconds = seconds_of(timeout)
    return None if seconds is None else time.perf_counter_ns() + int(seconds * 1e9)


def seconds_until(deadline_ns: int | None) -> float | None:
    """Return the seconds until a deadline, None without one."""
    return None if deadline_ns is None else (deadline_ns - time.perf_counter_ns()) / 1e9
