# SPDX-License-Identifier: MIT
"""Times of the stages of a load."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import ParamSpec, Protocol, TypeVar

    class _Loaded(Protocol):
        """What a load makes."""

        load_times: Mapping[str, float]

    class _Sink(Protocol):
        """What records phases: an ``armnn.backends.ProfilingSink``."""

        def event(self, name: str, start_ns: int, end_ns: int, *, category: str) -> None: ...

    _P = ParamSpec("_P")
    _L = TypeVar("_L", bound=_Loaded)

STAGES: Final = (
    "import",
    "read",
    "verify",
    "parse",
    "infer",
    "passes",
    "assign",
    "compile",
    "pack",
)
"""The stages: modules and plug-ins, a prepared file, digests, the model's file, shapes, rewriting,
choosing backends, compiling, and what backends report of that as packing of weights."""

REST: Final = "rest"
"""What belongs to no stage, such as planning memory."""

TOTAL: Final = "total"

_STAGES: Final = {
    "parse": "parse",
    "validate": "infer",
    "infer shapes": "infer",
    "rewrite": "passes",
    "resolve operators": "passes",
    "specialise": "passes",
    "assign backends": "assign",
    "optimize subgraphs": "compile",
    "place tensors": "assign",
}
"""The stage that a phase of a preparation belongs to."""


class _Load:
    """A load that is measured.

    Attributes:
        seconds: By stage.
        inside: For each stage that has begun, the time of the stages inside it.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((*STAGES, REST, TOTAL), 0.0)
        self.inside: list[float] = []

    @contextmanager
    def count(self, name: str) -> Iterator[None]:
        """Count a block, without the stages inside it."""
        start = time.perf_counter()
        self.inside.append(0.0)
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self.seconds[name] += took - self.inside.pop()
            if self.inside:
                self.inside[-1] += took
            else:
                self.seconds[TOTAL] = took


_current: ContextVar[_Load | None] = ContextVar("armnn load", default=None)


def measured(load: Callable[_P, _L]) -> Callable[_P, _L]:
    """Return a load whose result has its times."""

    @functools.wraps(load)
    def measure(*arguments: _P.args, **named: _P.kwargs) -> _L:
        this = _Load()
        token = _current.set(this)
        try:
            with this.count(REST):
                made = load(*arguments, **named)
        finally:
            _current.reset(token)
        made.load_times = this.seconds
        return made

    return measure


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count a block as a stage of the load."""
    load = _current.get()
    if load is None:
        yield
        return
    with load.count(name):
        yield


def count_packing(nanoseconds: object, began: float) -> None:
    """Count a part of a call that compiles as packing.

    Args:
        nanoseconds: What the backend reports: a whole number, or nothing.
        began: When the call began, by ``time.perf_counter``; it has just ended.
    """
    load = _current.get()
    if load is None or type(nanoseconds) is not int or nanoseconds < 0:
        return
    seconds = min(nanoseconds / 1e9, time.perf_counter() - began)
    load.seconds["pack"] += seconds
    load.seconds["compile"] -= seconds


def phase(sink: _Sink | None, name: str) -> _Phase:
    """Record a phase, also as a stage of the load."""
    return _Phase(sink, name)


class _Phase:
    """A phase while it lasts.

    Each new shape has two, and few have a sink or a load.
    """

    __slots__ = ("_name", "_sink", "_stage", "_start")

    def __init__(self, sink: _Sink | None, name: str) -> None:
        self._sink, self._name = sink, name

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()
        load = _current.get()
        self._stage = None if load is None else load.count(_STAGES.get(self._name, REST))
        if self._stage is not None:
            self._stage.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._stage is not None:
            self._stage.__exit__(kind, error, traceback)
        if self._sink is not None and kind is None:
            end = time.perf_counter_ns()
            self._sink.event(self._name, self._start, end, category="phase")
