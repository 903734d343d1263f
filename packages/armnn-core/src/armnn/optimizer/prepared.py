# SPDX-License-Identifier: MIT
"""A prepared network, and the phases before it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from armnn._dataclasses import dataclass, field
from armnn._load_times import REST, stage

if TYPE_CHECKING:
    from armnn.backends import ProfilingSink
    from armnn.backends.cache import CachedProgram
    from armnn.graph import LayerGraph, Network, Value
    from armnn.optimizer.assignment.boundaries import Placement
    from armnn.optimizer.assignment.candidates import Candidate
    from armnn.optimizer.assignment.report import Report
    from armnn.optimizer.symbolic.trace import Trace
    from armnn.tensor import TensorInfo

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
    def single(self) -> SingleProgram | None:
        """The stored program that is all of it, if any."""
        return None

    @property
    def whole(self) -> Prepared:
        """The same with its graph, as this is."""
        return self

    @property
    def report(self) -> Report:
        """Which layer runs where, and why."""
        return self.make_report()


@dataclass(frozen=True, slots=True, eq=False)
class ProgramLayer:
    """A program's layer, as far as runs need it.

    Attributes:
        name: Its name.
        backend: The id of its backend.
        compiled: The program.
        type: Its type.
    """

    name: str
    backend: str
    compiled: CachedProgram
    type: str = "PreCompiled"


@dataclass(frozen=True, slots=True, eq=False)
class ProgramPorts:
    """Inputs and outputs of a network that is one program.

    Attributes:
        inputs: The network's inputs by name.
        read: The input that each input of the program reads.
        outputs: By name of the network's output, which output of the program it is.
        made: The outputs of the program.
    """

    inputs: dict[str, TensorInfo]
    read: tuple[str, ...]
    outputs: dict[str, int]
    made: tuple[TensorInfo, ...]


class SingleProgram:
    """A network that is one program, in place of Prepared.

    It is run without its graph. That is made when something else than a run asks for it, as the
    modules of graphs, layers and memory plans take longer to import than a program to load.

    Attributes:
        name: The network's name.
        layer: The layer that holds the program.
        ports: The inputs and outputs of the network.
        candidate: The backend of the program.
    """

    rest = None
    crossing = ()

    def __init__(
        self,
        name: str,
        layer: ProgramLayer,
        ports: ProgramPorts,
        candidate: Candidate,
        make_report: Callable[[], Report],
        make_whole: Callable[[CachedProgram], Prepared],
        *,
        is_derived: bool = False,
    ) -> None:
        """Take the place of a prepared network.

        Args:
            name: The network's name.
            layer: The layer that holds the program.
            ports: The inputs and outputs of the network.
            candidate: The backend of the program.
            make_report: Returns the report.
            make_whole: Makes the prepared network around the program; is called once, if ever.
            is_derived: Whether it was made from that of other shapes.
        """
        self.name = name
        self.layer = layer
        self.ports = ports
        self.candidate = candidate
        self.is_derived = is_derived
        self._make_report = make_report
        self._make_whole = make_whole
        self._whole: Prepared | None = None
        self._lock = threading.Lock()

    @property
    def single(self) -> SingleProgram:
        """See :class:`armnn.optimizer.Prepared`; so for what follows."""
        return self

    @property
    def report(self) -> Report:
        return self._make_report()

    @property
    def network(self) -> LayerGraph:
        return self.whole.network

    @property
    def placement(self) -> Placement:
        return self.whole.placement

    @property
    def whole(self) -> Prepared:
        """The same with its graph."""
        with self._lock:
            if self._whole is None:
                self._whole = self._make_whole(self.layer.compiled)
            return self._whole


@contextmanager
def phase(sink: ProfilingSink | None, name: str) -> Iterator[None]:
    """Record a phase, also as a stage of the load."""
    start = time.perf_counter_ns()
    with stage(_STAGES.get(name, REST)):
        yield
    if sink is not None:
        sink.event(name, start, time.perf_counter_ns(), category="phase")
