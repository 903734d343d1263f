# SPDX-License-Identifier: MIT
"""The protocol between host and worker: messages, and networks, answers and errors as documents.

A message is, little-endian: magic (4 bytes), protocol (uint8), kind (uint8), number of blobs
(uint16), sequence number (uint64), bytes of the document (uint32), zero (uint32); the bytes of each
blob (uint64 each); the document, a JSON object; the blobs.

Layers are encoded as in prepared models (:mod:`armnn.backends.encoding`). A graph has rows: its
inputs, its constants, its layers. A value is the number of its row and which output it is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn import errors
from armnn.backends import OptimizationViews, SubgraphView, Substitution, Support
from armnn.backends.cache import StaleEntryError
from armnn.backends.encoding import UnstorableError, decoded_layer, encoded_info, encoded_layer
from armnn.errors import ArmnnError, BackendError
from armnn.graph import Layer, Network, Value
from armnn.tensor import TensorInfo
from armnn.types import DataLayout
from armnn_backend_api import BackendVersion
from armnn_backend_api.memory import printable
from armnn_backend_api.processes.channel import text_of

__all__ = [
    "Document",
    "Graph",
    "UnstorableError",
    "blob_of",
    "decoded_error",
    "decoded_graph",
    "decoded_support",
    "decoded_views",
    "encoded_error",
    "encoded_graph",
    "encoded_support",
    "encoded_views",
    "graph_of",
    "integers",
    "mapping",
    "path",
    "sequence",
    "shown",
    "text",
    "whole",
]


PROTOCOL: Final = BackendVersion(1, 0)
"""Host and worker agree by the rule of the Backend API: the worker's is the one that is needed."""
MAGIC: Final = b"ARMW"
DOCUMENT_LIMIT: Final = 1 << 26
BLOBS_LIMIT: Final = 1 << 34
"""Bytes of all blobs of a message; a receiver may set less."""
COUNT_LIMIT: Final = 1 << 12

_HEAD: Final = struct.Struct("<4sBBHQII")


class ProtocolError(Exception):
    """The received bytes are not a message, or not one that fits."""


class Kind(IntEnum):
    """The kind of a message."""

    REQUEST = 1
    REPLY = 2
    FAILURE = 3


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        kind: The kind of message.
        sequence: The number of the request that it is or answers.
        document: The content, but the blobs.
        blobs: The bytes that go with it.
    """

    kind: Kind
    sequence: int
    document: dict[str, Any]
    blobs: Sequence[memoryview] = field(default=())


def packed(message: Message) -> list[bytes | memoryview]:
    """Return a message in pieces.

    Raises:
        ProtocolError: It is larger than a message may be.
    """
    text = json.dumps(message.document, separators=(",", ":")).encode()
    sizes = [blob.nbytes for blob in message.blobs]
    _check_sizes(len(text), sizes, BLOBS_LIMIT)
    head = _HEAD.pack(
        MAGIC, PROTOCOL.major, message.kind, len(sizes), message.sequence, len(text), 0
    ) + struct.pack(f"<{len(sizes)}Q", *sizes)
    return [head + text, *message.blobs]


def read_message(read: Callable[[int], memoryview], most: int = BLOBS_LIMIT) -> Message:
    """Read a message.

    Args:
        read: Returns exactly so many bytes.
        most: How many bytes the blobs may have.

    Raises:
        ProtocolError: The bytes are not a message; nothing is allocated beyond the limits.
    """
    magic, major, kind, count, sequence, size, zero = _HEAD.unpack(read(_HEAD.size))
    if magic != MAGIC or zero != 0:
        raise ProtocolError(f"got {bytes(magic)!r} where a message begins, expected {MAGIC!r}")
    if major != PROTOCOL.major:
        raise ProtocolError(f"got a message of protocol {major}, expected {PROTOCOL.major}")
    if kind not in list(Kind):
        raise ProtocolError(f"got a message of kind {kind}, expected one of {[*map(int, Kind)]}")
    if count > COUNT_LIMIT:
        raise ProtocolError(f"got a message of {count} blobs, expected at most {COUNT_LIMIT}")
    sizes = struct.unpack(f"<{count}Q", read(8 * count)) if count else ()
    _check_sizes(size, sizes, most)
    document = _document(bytes(read(size)))
    return Message(Kind(kind), sequence, document, tuple(read(each) for each in sizes))


def _check_sizes(document: int, blobs: Sequence[int], most: int) -> None:
    if document > DOCUMENT_LIMIT:
        raise ProtocolError(f"a document has {document} bytes, expected at most {DOCUMENT_LIMIT}")
    if sum(blobs) > most:
        raise ProtocolError(f"the blobs have {sum(blobs)} bytes, expected at most {most}")


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(str(text, "utf-8"))  # bytes might be UTF-16 to it
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a document cannot be read: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise ProtocolError(f"a document is {type(document).__name__}, expected an object")
    return document


Document = dict[str, Any]
Program = Callable[[object], Any]
"""Encodes or decodes the object of a PreCompiled layer."""

TEXT_LIMIT: Final = 4000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Some layers and their inputs, as encoded or decoded.

    Attributes:
        rows: The layers by row: inputs, constants, layers.
        layers: The layers.
        inputs: The values that they read and others make, constants too.
        outputs: The values that they make and others read.
    """

    rows: Sequence[Sequence[Value]]
    layers: Sequence[Layer]
    inputs: Sequence[Value]
    outputs: Sequence[Value]

    def value(self, at: object) -> Value:
        """Return the value at a place.

        Raises:
            ProtocolError: The network has no such value or layer.
        """
        row, index = integers(at, 2)
        values = self.rows[row] if row < len(self.rows) else ()
        if index >= len(values):
            raise ProtocolError(f"there is no value {row}:{index}")
        return values[index]

    def layer(self, at: object) -> Layer:
        """Return the layer of a number.

        Raises:
            ProtocolError: The network has no such value or layer.
        """
        (number,) = integers([at], 1)
        if number >= len(self.layers):
            raise ProtocolError(f"there is no layer {number}, expected less than {len(self)}")
        return self.layers[number]

    def __len__(self) -> int:
        return len(self.layers)


def encoded_graph(view: SubgraphView, program: Program) -> tuple[Document, list[NDArray[Any]]]:
    """Return the layers of a view and their constants.

    Raises:
        UnstorableError: A layer holds something that cannot be encoded.
    """
    graph, numbers = _numbered(view)
    arrays: list[NDArray[Any]] = []
    rows: list[Document] = []
    for name, value in _named(graph.rows[: len(graph.rows) - len(view.layers)]):
        if value.constant is None:
            rows.append(_input_row(name, value.info))
        else:
            rows.append({**encoded_layer(value.producer, {}, arrays), "name": name})
    for layer in view.layers:
        row = {**encoded_layer(layer, numbers, arrays), "backend": None}
        if layer.compiled is not None:
            row["program"] = program(layer.compiled)
        rows.append(row)
    document = {
        "name": view.network.name,
        "rows": rows,
        "inputs": [numbers[value] for value in view.inputs],
        "outputs": [numbers[value] for value in view.outputs],
    }
    return document, arrays


def graph_of(view: SubgraphView) -> Graph:
    """Return a view with the places that its encoding has."""
    return _numbered(view)[0]


def decoded_graph(
    document: object, blocks: Sequence[memoryview], program: Program
) -> tuple[SubgraphView, Graph]:
    """Return the layers of :func:`encoded_graph` in a new network.

    Raises:
        ProtocolError: It is something else.
    """
    found = mapping(document)
    network = Network(text(found.get("name")))
    layers = _decoded_rows(found.get("rows"), network, blocks, program)
    rows = [layer.outputs for layer in layers]
    own = [layer for layer in layers if layer.type not in ("Input", "Constant")]
    graph = Graph(rows, own, (), ())
    inputs = [graph.value(at) for at in sequence(found.get("inputs"))]
    outputs = [graph.value(at) for at in sequence(found.get("outputs"))]
    for number, value in enumerate(outputs):
        network.add_output(f"output {number}", value)
    view = SubgraphView(network, tuple(own), tuple(inputs), tuple(outputs))
    return view, Graph(rows, own, inputs, outputs)


def encoded_views(
    views: OptimizationViews, graph: Graph, program: Program
) -> tuple[Document, list[NDArray[Any]]]:
    """Return a backend's views and the constants of replacements.

    Raises:
        UnstorableError: A replacement holds something that cannot be encoded.
    """
    arrays: list[NDArray[Any]] = []
    numbers = {layer: number for number, layer in enumerate(graph.layers)}
    places = {
        value: [row, index]
        for row, values in enumerate(graph.rows)
        for index, value in enumerate(values)
    }

    def part(view: SubgraphView) -> Document:
        return {
            "layers": [numbers[layer] for layer in view.layers],
            "inputs": [places[value] for value in view.inputs],
            "outputs": [places[value] for value in view.outputs],
        }

    document = {
        "substitutions": [
            part(each.pattern)
            | {"replacement": _encoded_network(each.replacement, arrays, program)}
            for each in views.substitutions
        ],
        "failed": [part(each) for each in views.failed],
        "untouched": [part(each) for each in views.untouched],
        "deleted": [part(each) for each in views.deleted],
        "reasons": {name: reason[:TEXT_LIMIT] for name, reason in views.reasons.items()},
    }
    return document, arrays


def decoded_views(
    document: object,
    blocks: Sequence[memoryview],
    view: SubgraphView,
    graph: Graph,
    program: Program,
) -> OptimizationViews:
    """Return the views of :func:`encoded_views` on the host's network.

    Raises:
        ProtocolError: It is something else.
    """
    found = mapping(document)

    def part(row: object) -> SubgraphView:
        own = mapping(row)
        return SubgraphView(
            view.network,
            tuple(graph.layer(at) for at in sequence(own.get("layers"))),
            tuple(graph.value(at) for at in sequence(own.get("inputs"))),
            tuple(graph.value(at) for at in sequence(own.get("outputs"))),
        )

    views = OptimizationViews()
    for row in sequence(found.get("substitutions")):
        pattern = part(row)
        if not pattern.layers:
            raise ProtocolError("a substitution has no layers")
        replacement = Network("replacement")
        replacement.is_temporary = True
        _decoded_rows(mapping(row).get("replacement"), replacement, blocks, program)
        views.substitutions.append(Substitution(pattern, replacement))
    for name in ("failed", "untouched", "deleted"):
        getattr(views, name).extend(part(row) for row in sequence(found.get(name)))
    for name, reason in mapping(found.get("reasons")).items():
        views.reasons[name] = shown(reason)
    return views


def encoded_support(answer: Support) -> list[Any]:
    """Return an answer about a layer as JSON."""
    layout = None if answer.layout is None else int(answer.layout)
    return [bool(answer), answer.reason[:TEXT_LIMIT], layout]


def decoded_support(stored: object) -> Support:
    """Return the answer of :func:`encoded_support`.

    Raises:
        ProtocolError: It is something else.
    """
    row = sequence(stored, 3)
    supported, reason, layout = row
    if not isinstance(supported, bool) or not (supported or reason):
        raise ProtocolError(f"an answer about a layer is {stored!r:.100}")
    layouts: dict[object, DataLayout | None] = {None: None} | {
        int(each): each for each in DataLayout
    }
    if isinstance(layout, (list, dict)) or layout not in layouts:
        raise ProtocolError(f"a layout is {layout!r:.100}")
    return Support(supported, shown(reason), layouts[layout])


def encoded_error(error: BaseException) -> Document:
    """Return an exception as a document: an error of armnn, or one of Python's usual ones.

    Of another type it is the nearest base among them, with the type in the text.
    """
    kind = type(error).__name__
    message = text_of(error) or kind
    if _ERRORS.get(kind) is not type(error):
        bases = type(error).__mro__
        known = (each.__name__ for each in bases if _ERRORS.get(each.__name__) is each)
        name = next(known, "BackendError")
        message = message if isinstance(error, ArmnnError) else f"{kind}: {message}"
        kind = name
    return {"error": kind, "text": message[:TEXT_LIMIT]}


def decoded_error(document: Mapping[str, object]) -> Exception:
    """Return the exception of :func:`encoded_error`.

    Raises:
        ProtocolError: It is something else.
    """
    name = text(document.get("error"))
    return _ERRORS.get(name, BackendError)(shown(document.get("text")))


_USUAL: Final[tuple[type[Exception], ...]] = (
    *(ArithmeticError, OverflowError, ZeroDivisionError, LookupError, IndexError, OSError),
    *(AssertionError, AttributeError, MemoryError, NotImplementedError, RuntimeError),
    *(TypeError, ValueError),
)
"""Errors that a text makes whole, and that no part of the host takes for its own."""

_ERRORS: Final[dict[str, type[Exception]]] = {
    name: getattr(errors, name) for name in errors.__all__ if name != "ClosingError"
} | {kind.__name__: kind for kind in (*_USUAL, ProtocolError)}


# -- values of documents ------------------------------------------------------------------------


def mapping(value: object) -> dict[str, Any]:
    """Return an object of JSON.

    Raises:
        ProtocolError: It is something else; so for all that follow.
    """
    if not isinstance(value, dict):
        raise ProtocolError(f"got {value!r:.100}, expected an object")
    return value


def sequence(value: object, size: int | None = None) -> list[Any]:
    """Return an array of JSON, of a size if given."""
    if not isinstance(value, list) or size not in (None, len(value)):
        raise ProtocolError(f"got {value!r:.100}, expected an array")
    return value


def text(value: object) -> str:
    """Return a text without characters that UTF-8 has not."""
    if not isinstance(value, str) or (not value.isascii() and _has_surrogates(value)):
        raise ProtocolError(f"got {value!r:.100}, expected a text")
    return value


def path(value: object) -> str:
    """Return a text that names a file, of which any bytes may be no UTF-8."""
    if not isinstance(value, str):
        raise ProtocolError(f"got {value!r:.100}, expected a path")
    return value


def shown(value: object) -> str:
    """Return a text for people, escaped and cut."""
    return printable(text(value), TEXT_LIMIT)


def whole(value: object) -> int:
    """Return a number from 0 that fits 63 bits."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ProtocolError(f"got {value!r:.100}, expected a whole number from 0")
    return value


def integers(value: object, size: int) -> list[int]:
    """Return so many numbers from 0."""
    return [whole(each) for each in sequence(value, size)]


def _has_surrogates(value: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in value)


# -- inside ---------------------------------------------------------------------------------------


def _numbered(view: SubgraphView) -> tuple[Graph, dict[Value, list[int]]]:
    read = [value for layer in view.layers for value in layer.inputs if value is not None]
    made = {value for layer in view.layers for value in layer.outputs}
    outer = dict.fromkeys((*view.inputs, *(each for each in read if each not in made)))
    variable = [value for value in outer if value.constant is None]
    constant = [value for value in outer if value.constant is not None]
    rows: list[Sequence[Value]] = [(value,) for value in (*variable, *constant)]
    rows += [layer.outputs for layer in view.layers]
    numbers = {
        value: [row, index] for row, values in enumerate(rows) for index, value in enumerate(values)
    }
    return Graph(rows, view.layers, view.inputs, view.outputs), numbers


def _named(rows: Iterable[Sequence[Value]]) -> Iterable[tuple[str, Value]]:
    """Yield the values that are read, with names that differ."""
    taken: dict[str, None] = {}
    for (value,) in rows:
        name = value.name
        while name in taken:
            name += "'"
        taken[name] = None
        yield name, value


def _input_row(name: str, info: TensorInfo) -> Document:
    return {
        "type": "Input",
        "name": name,
        "backend": None,
        "inputs": [],
        "outputs": [encoded_info(info)],
        "parameters": {},
    }


def _encoded_network(
    network: Network, arrays: list[NDArray[Any]], program: Program
) -> list[Document]:
    order = [
        layer for layer in network.topological_order() if layer.type not in ("Input", "Output")
    ]
    order = [*network.inputs, *order, *network.outputs]
    numbers = {
        value: [row, value.index] for row, layer in enumerate(order) for value in layer.outputs
    }
    rows = []
    for layer in order:
        row = encoded_layer(layer, numbers, arrays)
        if layer.compiled is not None:
            row["program"] = program(layer.compiled)
        rows.append(row)
    return rows


def _decoded_rows(
    stored: object, network: Network, blocks: Sequence[memoryview], program: Program
) -> list[Layer]:
    """Add layers to a network.

    Raises:
        ProtocolError: They are none.
    """
    layers: list[Layer] = []
    for row in sequence(stored):
        found = mapping(row)
        try:
            layer = decoded_layer(found, network, layers, blocks)
        except (StaleEntryError, ArmnnError, *_MALFORMED) as error:
            raise ProtocolError(f"a layer cannot be read: {error}"[:TEXT_LIMIT]) from error
        if "program" in found:
            if layer.type != "PreCompiled":
                raise ProtocolError(f"a layer of type {layer.type} holds a program")
            layer.compiled = program(found["program"])
        layers.append(layer)
    return layers


_MALFORMED: Final = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    MemoryError,
    RecursionError,
)


def blob_of(data: NDArray[Any]) -> memoryview:
    """Return the bytes of an array."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
