# SPDX-License-Identifier: MIT
"""Runs that callers watch or limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

from armnn._arguments import refused
from armnn.backends import ProfilingSink
from armnn.backends.calling import call
from armnn.backends.control import CancelToken, RunControl
from armnn.optimizer import Participants
from armnn.runtime.calls.deadlines import deadline_of
from armnn.runtime.calls.properties import check_profiler, has_method

_Made = TypeVar("_Made")


def checked_control(
    timeout: float | None, cancel: CancelToken | None, profiler: ProfilingSink | None
) -> RunControl:
    """Return what a caller watches or limits.

    Raises:
        InvalidArgumentError: An argument is of another kind.
    """
    check_token(cancel)
    check_profiler(profiler)
    return RunControl(deadline_of(timeout), cancel, profiler)


def watched_run(
    run: Callable[[], _Made], network_id: int, participants: Participants, control: RunControl
) -> _Made:
    """Run a network; tell the profiler and profiling contexts.

    Args:
        run: Runs the network.
        network_id: Its id, for the contexts.
        participants: Whose contexts are told.
        control: What the caller watches or limits.
    """
    profiler = control.profiler
    if profiler is None:
        return run()
    start = time.perf_counter_ns()
    with ExitStack() as stack:
        for each in participants.all:
            context = call(each.id, each.backend, "create_profiling_context", profiler)
            if context is not None:
                call(each.id, context, "begin_run", network_id)
                stack.callback(call, each.id, context, "end_run", network_id)
        made = run()
    profiler.event("run", start, time.perf_counter_ns(), category="run")
    return made


def check_token(cancel: object) -> None:
    """Raise InvalidArgumentError unless it can be asked whether to stop."""
    if cancel is not None and not has_method(cancel, "is_set"):
        raise refused("cancel", cancel, "an object with is_set(), such as a threading.Event")
