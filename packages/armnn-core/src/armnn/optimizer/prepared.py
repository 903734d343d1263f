# SPDX-License-Identifier: MIT
"""A prepared network, and the phases before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from armnn._dataclasses import dataclass, field
from armnn._load_times import REST, stage

if TYPE_CHECKING:
    from armnn.backends import ProfilingSink
    from armnn.graph import LayerGraph, Network, Value
    from armnn.optimizer.assignment.boundaries import Placement
    from armnn.optimizer.assignment.report import Report
    from armnn.optimizer.symbolic.trace import Trace

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

_G = TypeVar("_G", bound="LayerGraph", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Segments(Generic[_G]):
    """A network in two parts.

    Attributes:
        head: What can be prepared now. Its outputs are those of the network that it computes and
            the values that ``rest`` reads, the latter named by ``crossing``.
        rest: What must wait until the head has run; None if nothing must. Its inputs are
            ``crossing``, its outputs the other outputs of the network.
        crossing: Names of the values that go from the head to the rest.
        is_rewritten: Whether the head is the network as it was rewritten before.
    """

    head: _G
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
        is_derived: Whether it was made from that of other shapes.
        borders: The layer and the output whose place a value of a compiled part takes, where they
            were asked for.
    """

    network: LayerGraph
    placement: Placement
    make_report: Callable[[], Report]
    segments: Segments[LayerGraph]
    trace: Trace | None = None
    is_derived: bool = False
    borders: Mapping[Value, tuple[str, int]] = field(default_factory=dict)

    @property
    def report(self) -> Report:
        """Which layer runs where, and why."""
        return self.make_report()


@contextmanager
def phase(sink: ProfilingSink | None, name: str) -> Iterator[None]:
    """Record a phase, also as a stage of the load."""
    start = time.perf_counter_ns()
    with stage(_STAGES.get(name, REST)):
        yield
    if sink is not None:
        sink.event(name, start, time.perf_counter_ns(), category="phase")
