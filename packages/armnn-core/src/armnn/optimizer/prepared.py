# SPDX-License-Identifier: MIT
"""A prepared network: its segments, and the short form where one program is all of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a prepared load imports no graph, and of the optimizer only this
    from armnn.backends.cache import CachedProgram
    from armnn.graph import Network, Value
    from armnn.optimizer.assignment.boundaries import Placement
    from armnn.optimizer.assignment.report import Report
    from armnn.optimizer.participants import Candidate
    from armnn.optimizer.symbolic.trace import Trace
    from armnn.tensor import TensorInfo


@dataclass(frozen=True, slots=True)
class Observation:
    """The tensor that an inserted Debug layer shows.

    The Debug layer holds it in ``compiled``; the runtime itself runs such a layer.

    Attributes:
        layer: The name of the layer that makes the tensor.
        slot: Which of its outputs it is.
    """

    layer: str
    slot: int


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


class ProgramLayer:
    """A program's layer, as far as runs need it.

    No data class, as ProgramPorts: each new shape makes one.

    Attributes:
        name: Its name.
        backend: The id of its backend.
        compiled: The program.
        type: Its type.
    """

    __slots__ = ("backend", "compiled", "name")

    type = "PreCompiled"

    def __init__(self, name: str, backend: str, compiled: CachedProgram) -> None:
        self.name, self.backend, self.compiled = name, backend, compiled


class ProgramPorts:
    """Inputs and outputs of a network that is one program.

    Attributes:
        inputs: The network's inputs by name.
        read: The input that each input of the program reads.
        outputs: By name of the network's output, which output of the program it is, or the name of
            the input that it passes on.
        made: The outputs of the program.
    """

    __slots__ = ("inputs", "made", "outputs", "read")

    def __init__(
        self,
        inputs: dict[str, TensorInfo],
        read: tuple[str, ...],
        outputs: Mapping[str, int | str],
        made: tuple[TensorInfo, ...],
    ) -> None:
        self.inputs, self.read, self.outputs, self.made = inputs, read, outputs, made


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
            is_derived: Whether it was made from that of other shapes, or read: nothing was freed.
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
    def report(self) -> Report:
        """See :class:`armnn.optimizer.Prepared`; so for what follows."""
        return self._make_report()

    @property
    def network(self) -> Network:
        return self.whole.network

    @property
    def placement(self) -> Placement:
        return self.whole.placement

    def clear(self) -> None:
        """Take the layers out of the graph, if it was made."""
        if self._whole is not None:
            self._whole.clear()

    @property
    def whole(self) -> Prepared:
        """The same with its graph."""
        with self._lock:
            if self._whole is None:
                self._whole = self._make_whole(self.layer.compiled)
            return self._whole
