# SPDX-License-Identifier: MIT
"""Keeps the floating-point environment of a thread across calls.

A library built with ``-Ofast`` flushes subnormal numbers to zero as soon as it is opened, in every
later computation of the thread; others change the rounding mode, or let 1/0 raise SIGFPE.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

__all__ = ["floating_point_environment", "keeping_floating_point", "kept_floating_point"]


_SIZE: Final = 64
"""Bytes; more than a ``fenv_t`` has anywhere."""


def _functions() -> tuple[Any, Any]:
    """Return fegetenv and fesetenv, called with the GIL."""
    library: Any = ctypes.PyDLL(None)
    if not hasattr(library, "fesetenv"):
        library = ctypes.PyDLL("libm.so.6")
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
    return tuple(prototype((name, library)) for name in ("fegetenv", "fesetenv"))  # type: ignore[return-value]  # there are two


_get, _set = _functions()


def floating_point_environment() -> bytes:
    """Return the calling thread's environment, a ``fenv_t`` of C."""
    environment = bytes(_SIZE)  # C writes to it before anything else refers to it
    _get(environment)
    return environment


@contextmanager
def kept_floating_point() -> Iterator[None]:
    """Restore the calling thread's environment after the block."""
    environment = floating_point_environment()
    try:
        yield
    finally:
        _set(environment)


def keeping_floating_point(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that restores the thread's environment."""

    @functools.wraps(function, assigned=())
    def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
        environment = bytes(_SIZE)
        _get(environment)  # floating_point_environment(), without the time of a call
        try:
            return function(*arguments, **named)
        finally:
            _set(environment)

    return call
