# SPDX-License-Identifier: MIT
"""From an ``.armnn`` file to a network."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence

from armnn.errors import ArmnnError, ParseError
from armnn.graph import Network, Operator, Survey, Value
from armnn.parsing.conversion import (
    Conversion,
    NotKnownYetError,
    RefusedError,
    model_content,
)
from armnn.types import QuantizedArithmetic
from armnn_parser_armnn.reader_layers import (
    CONVERTERS,
    Converter,
    StoredOperation,
    default_conversion,
)
from armnn_parser_armnn.records import StoredGraph, StoredLayer, read_graph
from armnn_parser_armnn.schema import LAYERS, NEWEST
from armnn_parser_armnn.tensors import read_info

_Key = tuple[int, int]
"""The index of a layer, and which output of it."""


def parse(source: str | os.PathLike[str] | bytes, *, survey: Survey | None = None) -> Network:
    """Read an ``.armnn`` file as a network.

    Files of all versions of Arm NN up to 23.08 are read (``armnnDeserializer::IDeserializer``).

    Args:
        source: The file, or its content.
        survey: Where the layers are noted. With it, those that cannot be converted are not errors:
            the network lacks them, and what depends on them.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        UnsupportedOperatorError: It has layers that cannot be converted; all are named.
        ParseError: The file is malformed.
    """
    name, data, _ = model_content(source)
    graph = read_graph(data, name)
    network = Network()
    conversion = _Conversion(network, survey, graph)
    for layer in graph.layers:
        conversion.convert(layer)
    conversion.raise_refused()
    if not network.outputs and not (survey is not None and survey.refused):
        raise ParseError(f"the model {name!r} has no output")
    _take_notes(network, graph)
    graph.file.trust()
    return network


def _take_notes(network: Network, graph: StoredGraph) -> None:
    """Give a network the name and metadata that armnn noted.

    Raises:
        ParseError: The notes are something else.
    """
    if not graph.notes:
        return
    try:
        notes = json.loads(graph.notes)
        network.name = str(notes["name"])
        network.metadata = {str(key): str(value) for key, value in notes["metadata"].items()}
        network.quantized_arithmetic = QuantizedArithmetic.of(notes["quantized_arithmetic"])
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise graph.file.error(f"its notes cannot be read: {error!r}") from error


class _Conversion(Conversion[StoredLayer, "Converter", _Key]):
    """Converts the layers of a file."""

    places = "layer"

    def __init__(self, network: Network, survey: Survey | None, graph: StoredGraph) -> None:
        super().__init__(network, survey)
        self._graph = graph
        self._values: dict[_Key, Value] = {}

    def operator_of(self, record: StoredLayer) -> Operator:
        return Operator(record.kind, f"{record.index}: {record.title}")

    def place_of(self, record: StoredLayer) -> str:
        return repr(record.title)

    def keys_read(self, record: StoredLayer) -> Iterator[_Key]:
        return ((each.layer, each.output) for each in record.inputs)

    def keys_made(self, record: StoredLayer) -> Iterable[_Key]:
        return [(record.index, output) for output in range(len(record.outputs))]

    def convert(self, record: StoredLayer) -> None:
        """Add a layer, or note why that is impossible."""
        if self.survey is not None and record.kind not in ("Input", "Output"):
            self.survey.operators[self.operator_of(record)] = ""
        super().convert(record)

    def find(self, record: StoredLayer) -> Converter:
        if record.kind not in LAYERS:
            raise RefusedError(f"it is newer than the files of Arm NN {NEWEST}")
        return CONVERTERS.get(record.kind, default_conversion)

    def add_layers(self, record: StoredLayer, found: Converter) -> None:
        operation = StoredOperation(self.network, record, self._graph)
        try:
            operation.inputs = [self._input(operation, slot) for slot in range(len(record.inputs))]
            if record.kind == "Output":
                self._add_output(operation)
                return
            infos = [read_info(table) for table in record.outputs]
            if record.kind == "Input":
                (info,) = operation.exactly(infos, 1, "outputs")
                values: Sequence[Value] = [self._add_input(record, info)]
            else:
                values = found(operation, infos)
        except ArmnnError as error:
            raise ParseError(f"{operation}: {error}") from error
        operation.exactly(record.outputs, len(values), "outputs")
        for output, value in enumerate(values):
            self._values[record.index, output] = value

    def defer(self, record: StoredLayer, found: Converter, unknown: NotKnownYetError) -> None:  # noqa: ARG002  # nothing in such a file waits for data
        raise unknown

    def _input(self, operation: StoredOperation, slot: int) -> Value:
        connection = operation.record.inputs[slot]
        value = self._values.get((connection.layer, connection.output))
        if value is None:
            raise ParseError(
                f"it reads output {connection.output} of layer {connection.layer}, which is not "
                "there"
            )
        if connection.override is None:
            return value
        info = read_info(connection.override)
        if info == value.info:
            return value
        if not info.is_type_space_match(value.info) or not info.is_static:
            raise RefusedError(
                f"its input {slot} reads {value.info}, which cannot be reshaped to {info}"
            )
        name = operation.free_name(f"seen_by_{slot}")
        return self.network.add_reshape(value, target_shape=info.static_shape, name=name)

    def _add_input(self, record: StoredLayer, info: object) -> Value:
        taken = [layer.name for layer in self.network.inputs]
        return self.network.add("Input", name=_free(record, taken), outputs=[info]).output  # type: ignore[list-item]  # an info

    def _add_output(self, operation: StoredOperation) -> None:
        taken = [layer.name for layer in self.network.outputs]
        (value,) = operation.exactly(operation.inputs, 1, "inputs")
        self.network.add_output(_free(operation.record, taken), value)


def _free(record: StoredLayer, taken: Sequence[str]) -> str:
    """Return the name of a port, numbered where it repeats."""
    stem = record.name or f"{record.kind.lower()}_{record.binding}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name
