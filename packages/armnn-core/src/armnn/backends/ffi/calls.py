# SPDX-License-Identifier: MIT
"""Calls into a backend: caller's controls and callbacks' exceptions.

An exception must not travel through C. A callback of the host stores it for the call that its
thread is in; the adapter raises it when that call has returned. So Ctrl-C works during execute.
"""

from __future__ import annotations

import inspect
import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType
from typing import Final, ParamSpec, TypeVar

from armnn.backends.control import RunControl, current_control

_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S")

NOBODY: Final = 0
"""The call_id of a call without a control."""

_log = logging.getLogger(__name__)

_numbers: Final = itertools.count(1)
_watched: Final[dict[int, RunControl]] = {}
stored: Final[dict[int, BaseException]] = {}
"""What callbacks stored, by the thread whose call will raise it; seldom not empty."""

_entrances: Final[dict[CodeType, None]] = {}
_compiling: Final[dict[int, dict[str, object]]] = {}


@contextmanager
def watched_call() -> Iterator[tuple[int, int]]:
    """Give a call a number by which callbacks find it.

    Yields:
        The call_id and the deadline_ns (0: none); both 0 without a control.
    """
    control = current_control.get()
    if control is None:
        yield NOBODY, 0
        return
    number = next(_numbers)
    _watched[number] = control
    try:
        yield number, 0 if control.deadline_ns is None else control.deadline_ns
    finally:
        del _watched[number]


def control_of(call_id: int) -> RunControl | None:
    """Return the control of a running call, if any."""
    return _watched.get(call_id)


def is_profiled() -> bool:
    """Return whether profiling events are read."""
    if threading.get_ident() in _compiling:
        return True
    return any(control.profiler is not None for control in tuple(_watched.values()))


@contextmanager
def compile_details() -> Iterator[dict[str, object]]:
    """Collect the backend's details of a program on this thread.

    Yields:
        The details of its compile events; they are complete when the call has returned.
    """
    thread = threading.get_ident()
    outer = _compiling.get(thread)
    details = _compiling[thread] = {}
    try:
        yield details
    finally:
        if outer is None:
            del _compiling[thread]
        else:
            _compiling[thread] = outer


def note_compiled(details: Mapping[str, object]) -> None:
    """Store the details of a compile event, if collected here."""
    _compiling.get(threading.get_ident(), {}).update(details)


def must_stop(call_id: int) -> bool:
    """Return whether to stop a running call.

    It is cancelled, out of time, or interrupted by the user.
    """
    if threading.get_ident() in stored:
        return True
    control = _watched.get(call_id)
    if control is None:
        return False
    return _is_cancelled(control) or _is_late(control)


def is_late() -> bool:
    """Return whether this thread's run exceeds its deadline."""
    control = current_control.get()
    return control is not None and _is_late(control) and not _is_cancelled(control)


def _is_cancelled(control: RunControl) -> bool:
    return control.cancel is not None and control.cancel.is_set()


def _is_late(control: RunControl) -> bool:
    return control.deadline_ns is not None and time.perf_counter_ns() > control.deadline_ns


def guarded(safe: _S) -> Callable[[Callable[_P, _T]], Callable[_P, _T | _S]]:
    """Make a callback that stores exceptions and returns ``safe``."""

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T | _S]:
        def callback(*args: _P.args, **kwargs: _P.kwargs) -> _T | _S:
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                _store(error)
                return safe

        _entrances[callback.__code__] = None
        return callback

    return decorate


def raise_stored() -> None:
    """Raise the exception stored during this thread's last call."""
    if stored:
        error = stored.pop(threading.get_ident(), None)
        if error is not None:
            raise error


class _UnraisableHook:
    """Catches Ctrl-C at a callback's entrance, before its ``try``.

    ctypes hands it to ``sys.unraisablehook`` and returns zero; everything else goes on to the hook
    that was there.
    """

    def __init__(self) -> None:
        self._following = sys.unraisablehook

    def __call__(self, unraisable: sys.UnraisableHookArgs) -> None:
        error, traceback = unraisable.exc_value, unraisable.exc_traceback
        if error is None or traceback is None or traceback.tb_frame.f_code not in _entrances:
            self._following(unraisable)
        else:
            _store(error)


def catch_interrupts() -> None:
    """Keep Ctrl-C in callbacks, although other hooks are set."""
    if not isinstance(sys.unraisablehook, _UnraisableHook):
        sys.unraisablehook = _UnraisableHook()


def _store(error: BaseException) -> None:
    frame = inspect.currentframe()
    callback = None if frame is None else frame.f_back
    if callback is not None and callback.f_back is not None:
        stored.setdefault(threading.get_ident(), error)  # the first one is the cause
        return
    # A thread of the backend's own: no Python call is waiting for it.
    _log.error("a callback failed in a thread of the backend: %r", error, exc_info=error)
