# SPDX-License-Identifier: MIT
"""Settings of callers for a loaded network and for its runs: timeouts, cancellation, profilers."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

from armnn.arguments import flag, instance, real, refused, with_known_names
from armnn.backends import ProfilingSink
from armnn.backends.calling import call
from armnn.backends.contract import CancelToken, RunControl
from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizerOptions, Participants
from armnn.types import MemorySource

_LONGEST_TIMEOUT = 1e9  # seconds, as the clock counts nanoseconds in 64 bits


def seconds_of(timeout: object) -> float | None:
    """Return the seconds of a timeout, None for no limit.

    Raises:
        InvalidArgumentError: It is not a number of seconds, or too large a one.
    """
    seconds = None if timeout is None else real(timeout, "the timeout")
    if seconds is not None and not -_LONGEST_TIMEOUT <= seconds <= _LONGEST_TIMEOUT:
        raise refused("the timeout", timeout, "seconds, at most 1e9, or None for no limit")
    return seconds


def deadline_of(timeout: object) -> int | None:
    """Return when a run must have ended (``time.perf_counter_ns``).

    Raises:
        InvalidArgumentError: The timeout is not a number of seconds, or too large a one.
    """
    seconds = seconds_of(timeout)
    return None if seconds is None else time.perf_counter_ns() + int(seconds * 1e9)


def seconds_until(deadline_ns: int | None) -> float | None:
    """Return the seconds until a deadline, None without one."""
    return None if deadline_ns is None else (deadline_ns - time.perf_counter_ns()) / 1e9


@with_known_names("property {} of a loaded network")
@dataclass(frozen=True, slots=True)
class NetworkProperties:
    """The properties that a network is loaded with (Arm NN: ``INetworkProperties``).

    Attributes:
        input_source: Where memory that is imported for inputs comes from, unless
            ``import_inputs(source=...)`` says otherwise.
        output_source: The source of memory of outputs.
        profiler: Gets the events of all runs that have no profiler of their own. Arm NN's
            ``m_ProfilingEnabled`` is whether there is one.
        external_memory_management_enabled: Whether working memory comes from the allocator of the
            backend, as the memory strategy plans it. It does in either case.
        async_enabled: Whether ``submit`` is allowed.
    """

    input_source: MemorySource = MemorySource.UNDEFINED
    output_source: MemorySource = MemorySource.UNDEFINED
    profiler: ProfilingSink | None = None
    external_memory_management_enabled: bool = False
    async_enabled: bool = True

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError for properties of a wrong kind."""
        for name in ("input_source", "output_source"):
            what = f"the property {name}"
            object.__setattr__(self, name, MemorySource.of(getattr(self, name), what))
        for name in ("external_memory_management_enabled", "async_enabled"):
            object.__setattr__(self, name, flag(getattr(self, name), f"the property {name}"))
        check_profiler(self.profiler)


def properties_for(options: OptimizerOptions) -> NetworkProperties:
    """Return the properties of a network loaded without any."""
    return NetworkProperties(
        MemorySource.MALLOC if options.import_enabled else MemorySource.UNDEFINED,
        MemorySource.MALLOC if options.export_enabled else MemorySource.UNDEFINED,
    )


def check_properties(name: str, properties: object, options: OptimizerOptions) -> None:
    """Check that a network was optimized for its properties.

    Raises:
        InvalidArgumentError: It was optimized for imports and is loaded for none, or the other way
            round; or they are none.
    """
    if properties is None:
        return
    given = instance(properties, NetworkProperties, "the properties")
    for option, enabled, field, source in (
        ("import_enabled", options.import_enabled, "input_source", given.input_source),
        ("export_enabled", options.export_enabled, "output_source", given.output_source),
    ):
        if enabled is (source is MemorySource.UNDEFINED):
            raise InvalidArgumentError(
                f"the network {name!r} was optimized with {option}={enabled} and is loaded with "
                f"{field}={source.arm_name}: expected "
                + ("a source of memory" if enabled else MemorySource.UNDEFINED.arm_name)
                + f", or optimize it with {option}={not enabled}"
            )


def check_profiler(profiler: object) -> None:
    """Raise InvalidArgumentError unless events can be given to it."""
    if profiler is not None and not _has_method(profiler, "event"):
        raise refused("the profiler", profiler, "a ProfilingSink such as armnn.profiling.Recorder")


def _has_method(value: object, name: str) -> bool:
    """Return whether a value, no class, has a method."""
    return not isinstance(value, type) and callable(getattr(value, name, None))


_Made = TypeVar("_Made")


def checked_control(
    timeout: float | None, cancel: CancelToken | None, profiler: ProfilingSink | None
) -> RunControl:
    """Return the control of a run: deadline, cancellation and profiler.

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
        control: The caller's deadline, token, profiler or observer.
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
    if cancel is not None and not _has_method(cancel, "is_set"):
        raise refused("cancel", cancel, "an object with is_set(), such as a threading.Event")
