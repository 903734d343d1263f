# SPDX-License-Identifier: MIT
"""The facts about a loaded network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from armnn._aliases import Aliased
from armnn._load_times import FIRST_RUN, more
from armnn.backends import ProfilingSink
from armnn.runtime.plans.cache import NetworkPlans
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.optimizer import Report
    from armnn.runtime.calls.failover import Failover

_LATER: Final = nullcontext()
"""Counts nothing."""


class NetworkFacts:
    """What a loaded network is: tensors, report, memory, times.

    Attributes:
        id: The NetworkId, unique in its runtime.
        load_times: The seconds of each stage of the load (import, read, parse, infer, passes,
            assign, compile, pack, verify), of the rest, and in total, which is their sum. After the
            first run its time is there, too, as "first run" and in the stages that happened in it.
    """

    load_times: Mapping[str, float]

    def __init__(self, network_id: int, plans: NetworkPlans, failover: Failover | None) -> None:
        self.id = network_id
        self.load_times = {}
        self._plans = plans
        self._failover = failover
        self._has_run = False

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._plans.optimized.name

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs by name; open dimensions are None or named.

        Of a TensorFlow Lite file with signatures they are found by the names of their tensors, too.
        """
        optimized = self._plans.optimized
        return Aliased(optimized.inputs, optimized.aliases.inputs)

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The outputs by name; see :attr:`inputs`."""
        optimized = self._plans.optimized
        return Aliased(optimized.outputs, optimized.aliases.outputs)

    @property
    def metadata(self) -> dict[str, str]:
        """What the model's file says about itself."""
        return self._plans.optimized.metadata

    @property
    def report(self) -> Report:
        """Which backend ran each layer in the last call, with reasons.

        Of all kept plans. Before the first call it is :attr:`planned_report`.
        """
        planned = self.planned_report
        return planned if self._failover is None else self._failover.report(planned)

    @property
    def planned_report(self) -> Report:
        """The backend that each layer was planned on, of all kept plans.

        It differs from :attr:`report` where an isolated backend was lost and others answered.
        """
        return self._plans.report

    @property
    def faults(self) -> tuple[str, ...]:
        """How processes of its isolated backends ended, in words."""
        return () if self._failover is None else self._failover.faults

    @property
    def profiler(self) -> ProfilingSink | None:
        """Where its phases are recorded; see ``OptimizedNetwork.profiler``."""
        return self._plans.optimized.participants.profiler

    @property
    def arena_bytes(self) -> int:
        """The working memory of one run with the largest plan."""
        return max((plan.arena_bytes for plan in self._plans.plans), default=0)

    def _counted(self) -> AbstractContextManager[None]:
        """Count the block as the first run, if it is."""
        return _LATER if self._has_run else self._first_run()

    @contextmanager
    def _first_run(self) -> Iterator[None]:
        """Count the block in the load times, if it succeeds."""
        self._has_run = True  # first: another thread's run is not the first one
        try:
            with more(self, FIRST_RUN):
                yield
        except BaseException:
            self._has_run = False
            raise

    def __str__(self) -> str:
        from armnn.optimizer.assignment.report import prepared_text  # late: it is seldom shown

        title = repr(self).strip("<>")
        return prepared_text(title, self.inputs, self.report, self.outputs)

    def __repr__(self) -> str:
        return f"<LoadedNetwork {self.id} {self.name!r}>"
