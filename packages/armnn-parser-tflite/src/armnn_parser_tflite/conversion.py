# SPDX-License-Identifier: MIT
"""From the operators of a subgraph to layers; what cannot be converted is collected."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tflite  # type: ignore[import-untyped]

from armnn.errors import ArmnnError, ParseError, UnsupportedOperatorError
from armnn.graph import Value
from armnn_parser_tflite import operators  # noqa: F401  (importing them registers them)
from armnn_parser_tflite._registry import Converter, find_converter
from armnn_parser_tflite.graph import Graph
from armnn_parser_tflite.operation import Operation, RefusedError, operator_type
from armnn_parser_tflite.schema import ABSENT, read_subgraph
from armnn_parser_tflite.tensors import has_type, is_complex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Network
    from armnn_parser_tflite.buffers import Buffers
    from armnn_parser_tflite.flat_table import FlatFile
    from armnn_parser_tflite.model_file import ModelFile
    from armnn_parser_tflite.schema import OperatorRecord, Subgraph

_DEEPEST_CALL = 8


def convert_operators(graph: Graph, file: FlatFile) -> None:
    """Convert every operator that an output of the subgraph depends on.

    Raises:
        UnsupportedOperatorError: Some cannot be converted; the message names all of them.
        ParseError: One is malformed.
    """
    conversion = _Conversion(graph, file)
    for record in _live_operators(graph.subgraph):
        conversion.convert(record)
    conversion.raise_refused()


def main_graph(model: ModelFile, network: Network, subgraph: Subgraph, buffers: Buffers) -> Graph:
    """Return the graph of a subgraph whose operators may call others."""
    return Graph(network, subgraph, buffers, _Inliner(model, network, buffers, depth=1))


@dataclass(frozen=True, slots=True)
class _Inliner:
    """Adds the layers of a subgraph that an operator calls.

    Each call reads the subgraph anew, so that calls within calls are bounded by what may be read
    of the file.
    """

    model: ModelFile
    network: Network
    buffers: Buffers
    depth: int

    def __call__(self, index: int, values: Sequence[Value]) -> list[Value]:
        if self.depth > _DEEPEST_CALL:
            raise RefusedError(f"its subgraphs call each other more than {_DEEPEST_CALL} deep")
        subgraph = read_subgraph(self.model, index)
        if len(subgraph.inputs) != len(values):
            raise ParseError(
                f"the subgraph {index} has {len(subgraph.inputs)} inputs: got {len(values)}"
            )
        inner = dataclasses.replace(self, depth=self.depth + 1)
        graph = Graph(self.network, subgraph, self.buffers, inner)
        for at, value in zip(subgraph.inputs, values, strict=True):
            graph.bind(at, value)
        try:
            convert_operators(graph, self.model.file)
        except UnsupportedOperatorError as error:
            raise RefusedError(f"of its subgraph {index}: {error}") from error
        return [graph.value(at) for at in subgraph.outputs]


class _Conversion:
    def __init__(self, graph: Graph, file: FlatFile) -> None:
        self._graph = graph
        self._file = file
        self._refused: dict[tuple[str, str], list[int]] = {}
        self._unavailable: dict[int, None] = {}

    def convert(self, record: OperatorRecord) -> None:
        """Add the layers of an operator, or note why that cannot be done."""
        operation = Operation(record, self._graph, self._file)
        try:
            converter = self._found(record)
            if any(index in self._unavailable for index in record.inputs):
                self._give_up(record)
                return
            self._check_tensors(record, complex_numbers=converter.complex_numbers)
            values = _values(operation, converter)
            self._bind(operation, values)
        except RefusedError as refusal:
            self._refused.setdefault((operation.type, str(refusal)), []).append(record.index)
            self._give_up(record)

    def raise_refused(self) -> None:
        """Report everything that could not be converted."""
        if not self._refused:
            return
        listed = "; ".join(
            f"{name} (operators {', '.join(map(str, where))}): {reason}"
            for (name, reason), where in self._refused.items()
        )
        names = dict.fromkeys(name for name, _ in self._refused)
        raise UnsupportedOperatorError(f"the model uses unsupported operators: {listed}", (*names,))

    def _found(self, record: OperatorRecord) -> Converter:
        custom = record.code.builtin == tflite.BuiltinOperator.CUSTOM
        converter = find_converter(operator_type(record), custom=custom)
        if converter is None:
            raise RefusedError("no layer computes it" if not custom else "it is a custom operator")
        if record.code.version > converter.newest:
            raise RefusedError(
                f"it is of version {record.code.version}, newer than {converter.newest}"
            )
        return converter

    def _check_tensors(self, record: OperatorRecord, *, complex_numbers: bool) -> None:
        for index in (*record.inputs, *record.outputs):
            if index == ABSENT:
                continue
            tensor = self._graph.tensor(index)
            if not has_type(tensor) and not (complex_numbers and is_complex(tensor)):
                raise RefusedError("it has a tensor of a type that is not supported")

    def _bind(self, operation: Operation, values: Sequence[Value]) -> None:
        outputs = operation.record.outputs
        if len(values) != len(outputs):
            raise operation.error(f"it has {len(outputs)} outputs: expected {len(values)}")
        for index, value in zip(outputs, values, strict=True):
            self._graph.bind(index, value)

    def _give_up(self, record: OperatorRecord) -> None:
        self._unavailable.update(dict.fromkeys(record.outputs))


def _values(operation: Operation, converter: Converter) -> Sequence[Value]:
    try:
        values = converter.convert(operation)
    except ArmnnError as error:
        if str(error).startswith(str(operation)):
            raise
        raise operation.error(str(error)) from error
    return (values,) if isinstance(values, Value) else values


def _live_operators(subgraph: Subgraph) -> list[OperatorRecord]:
    """Return the operators that an output depends on, in the order of the file."""
    producers = {
        index: at for at, record in enumerate(subgraph.operators) for index in record.outputs
    }
    wanted = list(subgraph.outputs)
    live: set[int] = set()
    while wanted:
        at = producers.get(wanted.pop(), -1)
        if at >= 0 and at not in live:
            live.add(at)
            wanted.extend(subgraph.operators[at].inputs)
    return [subgraph.operators[at] for at in sorted(live)]
