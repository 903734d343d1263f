# SPDX-License-Identifier: MIT
"""A prepared network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from armnn.graph import Network, Value
from armnn.optimizer.assignment.boundaries import Placement
from armnn.optimizer.assignment.report import Report
from armnn.optimizer.symbolic.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """A network in two parts.

    Attributes:
        head: What can be prepared now. Its outputs are those of the network that it computes and
            the values that ``rest`` reads, the latter named by ``crossing``.
        rest: What must wait until the head has run; None if nothing must. Its inputs are
            ``crossing``, its outputs the other outputs of the network.
        crossing: Names of the values that go from the head to the rest.
        is_rewritten: Whether the head is the network as it was rewritten before.
    """

    head: Network
    rest: Network | None
    crossing: tuple[str, ...] = ()
    is_rewritten: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A network, or its head, ready to be loaded.

    Attributes:
        network: Every layer knows its backend.
        placement: The memory of the tensors.
        make_report: Returns the report.
        segments: How the network was cut; ``segments.rest`` waits for the outputs of ``network``.
        trace: What follows from the shapes of the inputs, if it was recorded.
        has_refusals: Whether a backend refused a layer that another one runs; known with a trace.
        is_derived: Whether it was made from that of other shapes.
        borders: The layer and the output whose place a value of a compiled part takes, where they
            were asked for.
    """

    network: Network
    placement: Placement
    make_report: Callable[[], Report]
    segments: Segments
    trace: Trace | None = None
    has_refusals: bool = False
    is_derived: bool = False
    borders: Mapping[Value, tuple[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.network.name

    @property
    def rest(self) -> Network | None:
        """What waits for the outputs of ``network``."""
        return self.segments.rest

    @property
    def crossing(self) -> tuple[str, ...]:
        """The outputs of ``network`` that ``rest`` reads."""
        return self.segments.crossing

    @property
    def whole(self) -> Prepared:
        """The same with its graph, as this is."""
        return self

    @property
    def report(self) -> Report:
        """Which layer runs where, and why."""
        return self.make_report()

    def clear(self) -> None:
        """Take all layers out, so that their memory goes at once."""
        for graph in (self.network, self.segments.head, self.segments.rest):
            if graph is not None:
                graph.clear()
