# SPDX-License-Identifier: MIT
"""Contexts, graphs and programs that a worker holds, as the host refers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armnn.backends import ModelContext, OptimizationViews, OptionValue, SubgraphView
from armnn.backends.cache import Footprint
from armnn.backends.encoding import UnstorableError
from armnn.backends.worker.connection import WorkerConnection
from armnn.backends.worker.memory import BlobRange, Constants, given_to
from armnn.backends.worker.protocol import (
    Message,
    ProtocolError,
    decoded_views,
    encoded_graph,
    graph_of,
    mapping,
    sequence,
    whole,
)
from armnn.errors import BackendError
from armnn.graph import Layer


class RemoteContext:
    """A runtime's context in the worker.

    Attributes:
        listens: Whether the backend wants to know of runs.
    """

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        """Note the options.

        Args:
            options: The runtime's options for the backend.
        """
        self.listens = False
        self._options = dict(options)

    def create(self, link: WorkerConnection) -> int:
        """Open the backend in a worker."""
        number = link.new_number()
        request = {"do": "context", "number": number, "options": self._options}
        self.listens = link.request(request).document.get("listens") is True
        return number


class RemoteModel:
    """A network's context in the worker.

    Args:
        options: The options of the network for the backend.
    """

    def __init__(self, options: dict[str, OptionValue]) -> None:
        self._options = options

    def create(self, link: WorkerConnection) -> int:
        """Make the object in a worker; return its number there."""
        number = link.new_number()
        link.request({"do": "model", "number": number, "options": self._options})
        return number


class RemoteGraph:
    """Layers of a network, encoded once.

    Attributes:
        programs: The programs of PreCompiled layers among them.
    """

    def __init__(self, view: SubgraphView, constants: Constants) -> None:
        """Encode them.

        Raises:
            BackendError: A layer cannot be encoded.
        """
        self.programs: list[RemoteProgram] = []
        try:
            self._document, arrays = encoded_graph(view, self._hold)
        except UnstorableError as error:
            raise BackendError(f"layers cannot be sent to a worker: {error}") from error
        self._constants: list[BlobRange | memoryview] = constants.placed(arrays)

    def request(
        self, link: WorkerConnection, do: str, model: RemoteModel, context: ModelContext
    ) -> Any:
        """Return a request's document and blobs."""
        places, blobs = given_to(link, self._constants)
        rows = [
            {**row, "program": link.number_of(self.programs[row["program"]])}
            if "program" in row
            else row
            for row in self._document["rows"]
        ]
        document = {
            "do": do,
            "model": link.number_of(model),
            "arithmetic": int(context.quantized_arithmetic),
            "graph": {**self._document, "rows": rows},
            "constants": places,
        }
        return document, blobs

    def _hold(self, program: object) -> int:
        if not isinstance(program, RemoteProgram):
            raise UnstorableError(f"it holds {program!r}, which is not a program of the worker")
        self.programs.append(program)
        return len(self.programs) - 1


class Compilation:
    """A subgraph that a worker's backend has optimized.

    Attributes:
        programs: The programs that it was compiled to, by position in the reply.
    """

    def __init__(self, graph: RemoteGraph, model: RemoteModel, context: ModelContext) -> None:
        self.programs: list[RemoteProgram] = []
        self._graph = graph
        self._model = model
        self._context = context

    def optimize(self, link: WorkerConnection, view: SubgraphView) -> OptimizationViews:
        """Let the backend optimize the subgraph for the first time.

        Raises:
            WorkerLostError: The worker is lost, or what it says means nothing.
            ArmnnError: The backend failed.
        """
        reply = self._reply(link)

        def program(stored: object) -> RemoteProgram:
            made = RemoteProgram(self, len(self.programs), _footprint_of(stored))
            self.programs.append(made)
            link.note(made, whole(mapping(stored).get("number")))
            return made

        try:
            return decoded_views(
                reply.document.get("views"), reply.blobs, view, graph_of(view), program
            )
        except ProtocolError as error:
            raise link.malformed(error, "optimize") from error

    def create(self, link: WorkerConnection) -> int:
        """Let another worker do the same; note its programs."""
        reply = self._reply(link)
        try:
            views = mapping(reply.document.get("views"))
            rows = [
                mapping(row)
                for each in sequence(views.get("substitutions"))
                for row in sequence(mapping(each).get("replacement"))
            ]
            programs = [mapping(row["program"]) for row in rows if "program" in row]
            numbers = [whole(each.get("number")) for each in programs]
            if len(numbers) != len(self.programs):
                raise ProtocolError(f"got {len(numbers)} programs, expected {len(self.programs)}")
        except ProtocolError as error:
            raise link.malformed(error, "optimize") from error
        for made, number in zip(self.programs, numbers, strict=True):
            link.note(made, number)
        return link.new_number()

    def _reply(self, link: WorkerConnection) -> Message:
        return link.request(*self._graph.request(link, "optimize", self._model, self._context))


class RemoteProgram:
    """A program of a worker's backend.

    Attributes:
        footprint: The memory that it takes there, None if the backend does not say.
    """

    def __init__(
        self, compilation: Compilation, position: int, footprint: Footprint | None
    ) -> None:
        self.footprint = footprint
        self._compilation = compilation
        self._position = position

    def create(self, link: WorkerConnection) -> int:
        """Compile the subgraph in another worker."""
        self._compilation.create(link)
        return link.number_of(self)


class RemoteWorkload:
    """A layer that a worker's backend has prepared."""

    def __init__(self, graph: RemoteGraph, model: RemoteModel, context: ModelContext) -> None:
        self._graph = graph
        self._model = model
        self._context = context

    def create(self, link: WorkerConnection) -> int:
        """Prepare the layer in a worker."""
        number = link.new_number()
        document, blobs = self._graph.request(link, "workload", self._model, self._context)
        link.request(document | {"number": number}, blobs)
        return number


def view_of(layer: Layer) -> SubgraphView:
    """Return a view of one layer with all outputs."""
    inputs = dict.fromkeys(value for value in layer.inputs if value is not None)
    return SubgraphView(_Lone(layer.name), (layer,), tuple(inputs), layer.outputs)  # type: ignore[arg-type]  # its name is read


class _Lone:
    """A network's name, for a layer without a network."""

    def __init__(self, name: str) -> None:
        self.name = name


def _footprint_of(stored: object) -> Footprint | None:
    """Return the footprint of a program in a reply.

    Raises:
        ProtocolError: It is not a footprint.
    """
    found = mapping(stored).get("footprint")
    if found is None:
        return None
    footprint = Footprint.from_details(mapping(found))
    if footprint is None:
        raise ProtocolError(f"a footprint is {found!r:.100}")
    return footprint
