# SPDX-License-Identifier: MIT
"""Times of a load's stages and of the first run.

Each moment counts once, for the innermost stage that the loading thread is in. An import is a stage
of its own wherever it happens.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import ExtensionFileLoader, SourceFileLoader, SourcelessFileLoader
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import ParamSpec, Protocol, TypeVar

    class _Loaded(Protocol):
        """The object that a load makes."""

        load_times: Mapping[str, float]

    class _Sink(Protocol):
        """The sink of phases: an ``armnn.backends.ProfilingSink``."""

        def event(self, name: str, start_ns: int, end_ns: int, *, category: str) -> None: ...

    _P = ParamSpec("_P")
    _L = TypeVar("_L", bound=_Loaded)

IMPORT: Final = "import"

STAGES: Final = (
    IMPORT,
    "read",
    "parse",
    "infer",
    "passes",
    "assign",
    "compile",
    "pack",
    "verify",
)
"""The stages: modules and plug-ins, a prepared file, the model's file, shapes, rewriting, choosing
backends, compiling, what backends report of that as packing of weights, and digests."""

FIRST_RUN: Final = "first run"
"""The first run without the stages in it, which open shapes bring there."""

REST: Final = "rest"
"""The time that belongs to no stage, such as planning memory."""

TOTAL: Final = "total"

_STAGES: Final = {
    "parse": "parse",
    "validate": "infer",
    "infer shapes": "infer",
    "apply shapes": "infer",
    "rewrite": "passes",
    "resolve operators": "passes",
    "specialize": "passes",
    "choose backends": "assign",
    "assign backends": "assign",
    "place tensors": "assign",
    "optimize subgraphs": "compile",
    "compile for shapes": "compile",
}
"""The stage that a phase of a preparation belongs to."""


class _Load:
    """A load that is measured, or a part of one.

    Attributes:
        seconds: By stage.
        stages: The stages that have begun and not ended, the innermost last.
        inside: For each of them, the time of the stages inside it.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((*STAGES, FIRST_RUN, REST, TOTAL), 0.0)
        self.stages: list[str] = []
        self.inside: list[float] = []

    @contextmanager
    def count(self, name: str) -> Iterator[None]:
        """Count a block, without the stages inside it."""
        start = time.perf_counter()
        self.stages.append(name)
        self.inside.append(0.0)
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self.stages.pop()
            self.seconds[name] += took - self.inside.pop()
            if self.inside:
                self.inside[-1] += took
            else:
                self.seconds[TOTAL] = took

    @contextmanager
    def whole(self, name: str) -> Iterator[None]:
        """Count a block of this thread as the load.

        Args:
            name: The name for time outside of stages.
        """
        token = _current.set(self)
        try:
            with self.count(name):
                yield
        finally:
            _current.reset(token)


_current: ContextVar[_Load | None] = ContextVar("armnn load", default=None)

_imported: list[float] = []
"""The seconds of imports since the last load; a list, as appending to it is atomic."""


def measured(load: Callable[_P, _L]) -> Callable[_P, _L]:
    """Return a load whose result has its times.

    Imports before it, by which packages of ours got their names, count as part of it.
    """

    @functools.wraps(load)
    def measure(*arguments: _P.args, **named: _P.kwargs) -> _L:
        _watch_imports()
        this, before = _Load(), imported_before()
        _imported.clear()
        with this.whole(REST):
            made = load(*arguments, **named)
        times = this.seconds
        times[IMPORT] += before
        times[TOTAL] += before
        del times[FIRST_RUN]  # until it happens
        made.load_times = times
        return made

    return measure


def imported_before() -> float:
    """Return the seconds of imports that no load has counted."""
    return sum(_imported)


@contextmanager
def more(loaded: _Loaded, name: str) -> Iterator[None]:
    """Add a block to the times of a network.

    A block after the first run adds nothing, nor does one that fails, nor a part of a load, which
    counts it itself.

    Args:
        loaded: The network.
        name: The name for time outside of stages: REST or FIRST_RUN.
    """
    if _current.get() is not None or FIRST_RUN in loaded.load_times:
        yield
        return
    this = _Load()
    with this.whole(name):
        yield
    if name != FIRST_RUN:
        del this.seconds[FIRST_RUN]
    times = loaded.load_times
    loaded.load_times = {key: each + times.get(key, 0.0) for key, each in this.seconds.items()}


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count a block as a stage of the load.

    Without a load only imports are counted, for the next one.
    """
    load = _current.get()
    if load is not None:
        with load.count(name):
            yield
    elif name == IMPORT:
        before = _Load()
        try:
            with before.whole(IMPORT):
                yield
        finally:
            _imported.append(before.seconds[IMPORT])
    else:
        yield


class _Watch:
    """A finder that counts the imports of a load.

    Statements that import a module at its first use are all over the code of a load. A finder sees
    each of them, and only those that import anything.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module spec that other finders find; None outside of loads."""
        load = _current.get()
        if load is None or load.stages[-1:] in ([], [IMPORT]):
            return None
        others = iter(sys.meta_path)
        next(each for each in others if each is _Watch)  # those before it were asked
        with load.count(IMPORT):
            specs = (each.find_spec(name, path, target) for each in others)
            found = next((spec for spec in specs if spec is not None), None)
        if found is not None:
            _count_execution(found.loader)
        return found


def _count_execution(loader: Any) -> None:
    """Let a loader count the execution of its module."""
    if type(loader) not in (SourceFileLoader, SourcelessFileLoader, ExtensionFileLoader):
        return  # others may be shared by modules
    execute = loader.exec_module

    def counted(module: ModuleType) -> None:
        del loader.exec_module
        with stage(IMPORT):
            execute(module)

    loader.exec_module = counted


def _watch_imports() -> None:
    """Put the finder first, once in a process.

    It stays: another thread that goes through the list would miss a finder when one goes.
    """
    if _Watch not in sys.meta_path:
        sys.meta_path.insert(0, _Watch)


def count_packing(nanoseconds: object, began: float) -> None:
    """Count a part of a call that compiles as packing.

    Args:
        nanoseconds: The time that the backend reports: a whole number, or nothing.
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
