# SPDX-License-Identifier: MIT
"""Calls whose backend's process was lost, on other backends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from armnn.backends.calling import explained
from armnn.backends.worker.memory import has_descriptors_left, shared_arrays
from armnn.backends.worker.proxy import IsolatedBackend
from armnn.backends.worker.supervisor import Supervisor
from armnn.errors import WorkerLostError
from armnn.graph import Network
from armnn.optimizer import Participants, Report
from armnn.optimizer.assignment.report import Refusal
from armnn.runtime.states import MakeArrays

_Made = TypeVar("_Made")

Answering: TypeAlias = Any
"""A LoadedNetwork, whose module imports this one."""

_RESTART_SECONDS = 30.0
"""How long a call waits for a new process where no other backend can answer it."""


class Failover:
    """Loads and calls a network on its other backends, once one is lost.

    Args:
        load: Loads the network without a backend, if there is another.
        supervisors: The supervisors of its isolated backends, by id.
    """

    def __init__(
        self,
        load: Callable[[str], Answering | None],
        supervisors: Mapping[str, Supervisor],
    ) -> None:
        self._load = load
        self._supervisors = dict(supervisors)
        self._networks: dict[str, Answering | None] = {}
        self._answered: tuple[str, Answering] | None = None
        self._lock = threading.Lock()

    @property
    def faults(self) -> tuple[str, ...]:
        """How the processes of its backends ended, in words."""
        return tuple(str(each) for every in self._supervisors.values() for each in every.faults)

    @property
    def replacements(self) -> tuple[Answering, ...]:
        """The networks that were loaded on other backends."""
        return tuple(each for each in self._networks.values() if each is not None)

    @property
    def make_arrays(self) -> MakeArrays | None:
        """The maker of arrays that the processes of its backends use where they are.

        None if all of them are on other machines, or descriptors are scarce: each call with arrays
        of its own takes about ten.
        """
        is_here = any(not each.recipe.command for each in self._supervisors.values())
        return shared_arrays if is_here and has_descriptors_left() else None

    def note_own_answer(self) -> None:
        """Note that the network's own backends answered the last call."""
        self._answered = None

    def report(self, planned: Report) -> Report:
        """Return which backend ran each layer in the last call.

        A layer that was planned on a lost backend has its end among the refusals.

        Args:
            planned: The report of the network's own plans.
        """
        answered = self._answered
        if answered is None:
            return planned
        lost, network = answered
        faults = self._supervisors[lost].faults if lost in self._supervisors else ()
        refusal = Refusal(lost, str(faults[-1]) if faults else "its process was lost")
        moved = {row.layer for row in planned if row.backend == lost}
        ran: Report = network.report
        rows = [
            replace(row, refusals=(refusal, *row.refusals)) if row.layer in moved else row
            for row in ran
        ]
        return replace(ran, rows=tuple(rows), skipped=planned.skipped, choice=planned.choice)

    def rerun(
        self,
        lost: WorkerLostError,
        call: Callable[[Answering], _Made],
        again: Callable[[], _Made],
    ) -> _Made:
        """Call the network on the other backends, and return its answer.

        Args:
            lost: Why the network's own backends gave none.
            call: Calls a network.
            again: Calls the network itself once more, after a new process was started.

        Raises:
            WorkerLostError: There is no other backend.
            ArmnnError: The other backends failed.
        """
        cause = _origin_of(lost)
        network = self._network(cause.backend, lost)
        if network is not None:
            made = call(network)
            self._answered = cause.backend, network
            return made
        supervisor = self._supervisors.get(cause.backend)
        if cause.is_starting and supervisor is not None and supervisor.wait(_RESTART_SECONDS):
            return again()
        if supervisor is not None and supervisor.faults:
            raise WorkerLostError(str(supervisor.faults[-1]), cause.backend) from lost
        raise lost

    def replacement(self, error: BaseException) -> Answering | None:
        """Return the network on other backends, if loading lost one.

        Args:
            error: Why it cannot be loaded.
        """
        found: BaseException | None = error
        while found is not None and not isinstance(found, WorkerLostError):
            found = found.__cause__
        return None if found is None else self._network(_origin_of(found).backend, found)

    def _network(self, backend_id: str, lost: WorkerLostError) -> Answering | None:
        found = self._networks.get(backend_id)
        if found is not None:
            return found
        with self._lock:
            if backend_id not in self._networks:
                try:
                    self._networks[backend_id] = self._load(backend_id)
                except Exception as error:
                    lost.add_note(f"the other backends cannot run the network: {explained(error)}")
                    return None
            return self._networks[backend_id]


def failover_for(
    participants: Participants, load: Callable[[str, Sequence[str]], Answering | None]
) -> Failover | None:
    """Return the failover of a network, None if no backend of it can be lost.

    Args:
        participants: The backends of the network.
        load: Loads the network without the first backend, of those that took part in this order.
    """
    if not participants.may_lose_one:
        return None
    backends = [each.backend for each in participants.all]
    supervisors = {
        each.id: each.supervisor for each in backends if isinstance(each, IsolatedBackend)
    }
    candidates = [each.id for each in participants.candidates]
    return Failover(lambda lost: load(lost, candidates), supervisors)


def drop_hints(network: Network, backend_ids: Collection[str]) -> None:
    """Let no layer of a network ask for some backends."""
    for layer in network.layers:
        if layer.backend_hint in backend_ids:
            layer.backend_hint = None


def _origin_of(lost: WorkerLostError) -> WorkerLostError:
    """Return the process's error, which may be a cause."""
    found: BaseException | None = lost
    while found is not None:
        if isinstance(found, WorkerLostError) and found.backend:
            return found
        found = found.__cause__
    return lost
