# SPDX-License-Identifier: MIT
"""What a loaded network holds, and how that is given back.

A network is unloaded once: when its user says so, with its runtime, or when nothing refers to it
any more. The last happens wherever the interpreter drops the last reference or collects garbage,
which may be in the middle of any call of this thread, with any lock taken. So only what takes no
lock of others is done there: where a backend wants to be told, a thread unloads the network.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from armnn.backends.base import Backend
from armnn.errors import ClosingError
from armnn.runtime.backends_in_use import BackendEvents
from armnn.runtime.calls.repeated_runs import RepeatedRuns
from armnn.runtime.plans.cache import NetworkPlans
from armnn.runtime.plans.closing import Closing, Gate

if TYPE_CHECKING:
    from armnn.runtime.calls.bound_call import BoundCall
    from armnn.runtime.calls.importing_runs import ImportingRuns

_log = logging.getLogger(__name__)


class NetworkResources:
    """The plans, working memory and bound calls of a loaded network.

    It does not refer to the network, so that its runtime can keep it.

    Attributes:
        events: What the backends are told.
        gate: What runs go through.
        runs: The runs that repeat earlier ones.
        bound: The bound calls that exist.
    """

    def __init__(
        self,
        plans: NetworkPlans,
        events: BackendEvents,
        importing: ImportingRuns | None,
        *,
        owns_graph: bool,
        frees_by_call: bool,
    ) -> None:
        """Take over what a network is run with.

        Args:
            plans: Its plans.
            events: What its backends are told.
            importing: Its runs on the caller's arrays, if it has any.
            owns_graph: Whether no other object has the optimized network.
            frees_by_call: Whether memory goes back by a call of an allocator.
        """
        self.events = events
        self.gate = Gate(f"the network {plans.optimized.name!r}")
        self.runs = RepeatedRuns(self.gate, plans)
        self.bound: WeakSet[BoundCall] = WeakSet()
        self._plans = plans
        self._importing = importing
        self._owns_graph = owns_graph
        self._calls_others = frees_by_call or events.tell_of_unloading
        self._unloading = [True]  # to be popped by the one who unloads it, which needs no lock
        self._ended: threading.Event | None = None

    def unload(self) -> None:
        """Refuse new runs, wait for running ones, tell the backends.

        Only the first call does that.

        Raises:
            ClosingError: Backends failed when they were told, or memory could not be given back;
                the network is unloaded nevertheless.
        """
        try:
            self._unloading.pop()
        except IndexError:
            return
        closing = Closing(f"the network {self._plans.optimized.name!r}")
        self.events.unload(self.close, closing)
        closing.end()

    def close(self) -> bool:
        """Refuse new runs, wait for running ones, drop the plans.

        Returns:
            Whether this call closed it, rather than an earlier one.

        Raises:
            ClosingError: Parts of it failed; all of it is closed.
        """
        closing = Closing(f"the network {self._plans.optimized.name!r}")
        closing.step(self.runs.end)
        first = self.gate.close()
        for call in tuple(self.bound):
            closing.step(call.close)
        if self._importing is not None:
            closing.step(self._importing.close)
        closing.step(self._plans.close, self._owns_graph)
        closing.end()
        return first

    def drop(self, forget: Callable[[], object]) -> None:
        """Unload a network that nothing refers to, without waiting.

        No run is going on: each refers to the network.

        Args:
            forget: Lets the runtime forget these resources; it takes no lock.
        """
        if not self._unloading or not self._calls_others:
            self._end_drop(forget)
            return
        self._ended = threading.Event()
        _being_dropped[self] = None
        atexit.unregister(_wait_for_drops)  # the last one registered is called first: before
        atexit.register(_wait_for_drops)  # native backends are shut down
        try:
            # threading.Thread takes locks, which this thread may hold.
            _thread.start_new_thread(self._end_drop, (forget,))
        except RuntimeError:  # the process ends, or has no thread left
            self._unloading.clear()
            self._end_drop(forget)

    def wait_for_drop(self) -> None:
        """Wait for the thread that unloads it, if one does."""
        if self in _being_dropped and self._ended is not None:
            self._ended.wait()

    def _end_drop(self, forget: Callable[[], object]) -> None:
        try:
            self.unload()
        except ClosingError as error:
            _log.warning("%s", error)
        finally:
            forget()
            if self._owns_graph:
                self._plans.optimized.clear()
            if self._ended is not None:
                _being_dropped.pop(self, None)
                self._ended.set()


def frees_by_call(backend: Backend) -> bool:
    """Return whether a backend's own allocator frees the memory of runs."""
    return type(backend).default_allocator is not Backend.default_allocator


_being_dropped: Final[dict[NetworkResources, None]] = {}
"""Networks that threads are unloading."""


def _wait_for_drops() -> None:
    """Wait until no thread is in a backend any more."""
    for resources in _being_dropped.copy():
        resources.wait_for_drop()


os.register_at_fork(after_in_child=_being_dropped.clear)  # no thread survives a fork
