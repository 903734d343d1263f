# SPDX-License-Identifier: MIT
"""A prepared network that is one program of one backend."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from armnn.backends.cache import CachedProgram
from armnn.optimizer.assignment.boundaries import Placement
from armnn.optimizer.candidate import Candidate
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer.assignment.report import Report
    from armnn.optimizer.prepared import Prepared


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
