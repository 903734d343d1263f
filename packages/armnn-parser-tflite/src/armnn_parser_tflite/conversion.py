# SPDX-License-Identifier: MIT
"""From the operators of a subgraph to layers; what cannot be converted is collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.errors import ArmnnError, ParseError, UnsupportedOperatorError
from armnn.graph import DeferredOperator, Operator, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn_parser_tflite import operators  # noqa: F401  (importing them registers them)
from armnn_parser_tflite._bindings import BuiltinOperator
from armnn_parser_tflite._registry import Converter, find_converter
from armnn_parser_tflite.folding import folded
from armnn_parser_tflite.graph import Graph
from armnn_parser_tflite.operation import Operation, operator_type
from armnn_parser_tflite.refusals import NotKnownYetError, RefusedError, reason
from armnn_parser_tflite.schema import ABSENT, read_subgraph
from armnn_parser_tflite.tensors import has_type, is_complex, is_handle
from armnn_parser_tflite.variables import Variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Network, Survey
    from armnn_parser_tflite.buffers import Buffers
    from armnn_parser_tflite.flat_table import FlatFile
    from armnn_parser_tflite.model_file import ModelFile
    from armnn_parser_tflite.schema import OperatorRecord, Subgraph

_DEEPEST_CALL = 8
_MOST_CALLED_OPERATORS = 2**14
_EFFECTS = (BuiltinOperator.ASSIGN_VARIABLE, BuiltinOperator.CALL_ONCE)
"""Operators that matter although no output depends on them."""


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


def main_graph(
    model: ModelFile,
    network: Network,
    subgraph: Subgraph,
    buffers: Buffers,
    survey: Survey | None = None,
) -> Graph:
    """Return the graph of a subgraph whose operators may call others."""
    calls = _Calls(model, network, buffers)
    return Graph(network, subgraph, buffers, calls.variables, calls, survey=survey)


class _Calls:
    """Adds the layers of subgraphs that operators call, as often as they are called.

    How many operators that are is bounded, as calls in loops and calls within calls multiply.
    """

    def __init__(self, model: ModelFile, network: Network, buffers: Buffers) -> None:
        self.variables = Variables(model, network)
        self._model = model
        self._network = network
        self._buffers = buffers
        self._subgraphs: dict[int, Subgraph] = {}
        self._depth = self._count = 0
        self._left = _MOST_CALLED_OPERATORS

    def __call__(self, index: int, values: Sequence[Value]) -> list[Value]:
        if self._depth == _DEEPEST_CALL:
            raise RefusedError(f"its subgraphs call each other more than {_DEEPEST_CALL} deep")
        if index not in self._subgraphs:
            self._subgraphs[index] = read_subgraph(self._model, index)
        subgraph = self._subgraphs[index]
        if len(subgraph.inputs) != len(values):
            raise ParseError(
                f"the subgraph {index} has {len(subgraph.inputs)} inputs: got {len(values)}"
            )
        self._left -= len(subgraph.operators) + 1
        if self._left < 0:
            raise RefusedError(
                f"the subgraphs that are called have more than {_MOST_CALLED_OPERATORS} operators"
            )
        self._count += 1
        prefix = f"{subgraph.name or index}#{self._count}/"
        graph = Graph(self._network, subgraph, self._buffers, self.variables, self, prefix)
        for at, value in zip(subgraph.inputs, values, strict=True):
            graph.bind(at, value)
        self._depth += 1
        try:
            convert_operators(graph, self._model.file)
        except UnsupportedOperatorError as error:
            raise RefusedError(f"of its subgraph {index}: {error}") from error
        finally:
            self._depth -= 1
        return [graph.value(at) for at in subgraph.outputs]


class _DeferredOperation(DeferredOperator):
    """An operator that is converted later, with what it reads."""

    def __init__(
        self, operation: Operation, graph: Graph, file: FlatFile, place: int | None
    ) -> None:
        self.operator = operation.type
        self._record = operation.record
        self._graph = graph
        self._file = file
        read = (index for index in self._record.inputs if index != ABSENT)
        self.inputs = tuple(dict.fromkeys(read))
        awaited = () if place is None else (self._record.inputs[place],)
        self.awaits = tuple(self.inputs.index(index) for index in awaited)

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        origin = self._graph
        graph = Graph(
            network, origin.subgraph, origin.buffers, origin.variables, _no_calls, origin.prefix
        )
        for index, value in zip(self.inputs, inputs, strict=True):
            graph.bind(index, value)
        conversion = _Conversion(graph, self._file)
        conversion.convert(self._record)
        conversion.raise_refused()
        return [graph.value(index) for index in self._record.outputs]


def _no_calls(_index: int, _values: Sequence[Value]) -> list[Value]:
    raise RefusedError("it calls a subgraph, which has to be known when the file is read")


class _Conversion:
    def __init__(self, graph: Graph, file: FlatFile) -> None:
        self._graph = graph
        self._file = file
        self._refused: dict[tuple[str, str], list[int]] = {}
        self._unavailable: dict[int, None] = {}

    def convert(self, record: OperatorRecord) -> None:
        """Add the layers of an operator, or note why that cannot be done."""
        network, survey = self._graph.network, self._graph.survey
        operation = Operation(record, self._graph, self._file)
        origin = Operator(operation.type, f"{self._graph.prefix}{record.number}")
        if survey is not None:
            survey.operators[origin] = ""
        outer, network.origin = network.origin, origin
        self._convert(operation, record, origin)
        network.origin = outer

    def _convert(self, operation: Operation, record: OperatorRecord, origin: Operator) -> None:
        survey = self._graph.survey
        try:
            converter = self._found(record)
            if any(index in self._unavailable for index in record.inputs):
                if survey is not None:
                    survey.cut_off[origin] = None
                self._give_up(record)
                return
            self._check_tensors(record, converter)
            try:
                self._bind(operation, _values(operation, converter))
            except NotKnownYetError as unknown:
                self._defer(operation, unknown)
        except RefusedError as refusal:
            if survey is not None:
                survey.operators[origin] = str(refusal)
            self._refused.setdefault((operation.type, str(refusal)), []).append(record.number)
            self._give_up(record)

    def _defer(self, operation: Operation, unknown: NotKnownYetError) -> None:
        """Add a StandIn layer for an operator that cannot be converted yet.

        Raises:
            RefusedError: Nothing more will be known.
        """
        deferred = _DeferredOperation(operation, self._graph, self._file, unknown.place)
        inputs = [self._graph.value(index) for index in deferred.inputs]
        if not deferred.awaits and all(value.info.is_static for value in inputs):
            raise unknown
        infos = [operation.info(index) for index in range(len(operation.record.outputs))]
        stand_in = self._graph.network.add(
            "StandIn",
            inputs,
            StandInDescriptor(num_outputs=len(infos)),
            name=operation.layer_name(),
            outputs=infos,
        )
        stand_in.compiled = deferred
        self._bind(operation, stand_in.outputs)

    def raise_refused(self) -> None:
        """Report everything that could not be converted."""
        if not self._refused or self._graph.survey is not None:
            return
        listed = "; ".join(
            f"{name} (operators {', '.join(map(str, where))}): {reason}"
            for (name, reason), where in self._refused.items()
        )
        names = dict.fromkeys(name for name, _ in self._refused)
        raise UnsupportedOperatorError(f"the model uses unsupported operators: {listed}", (*names,))

    def _found(self, record: OperatorRecord) -> Converter:
        custom = record.code.builtin == BuiltinOperator.CUSTOM
        name = operator_type(record)
        converter = find_converter(name, custom=custom)
        if converter is None:
            raise RefusedError(reason(name, custom=custom))
        if record.code.version > converter.newest:
            raise RefusedError(
                f"it is of version {record.code.version}, newer than {converter.newest}"
            )
        return converter

    def _check_tensors(self, record: OperatorRecord, converter: Converter) -> None:
        for index in (*record.inputs, *record.outputs):
            if index == ABSENT:
                continue
            tensor = self._graph.tensor(index)
            is_known = (
                has_type(tensor)
                or (converter.complex_numbers and is_complex(tensor))
                or (converter.handles and is_handle(tensor))
            )
            if not is_known:
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
        known = folded(operation)
        values = converter.convert(operation) if known is None else known
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
    effects = [
        at for at, record in enumerate(subgraph.operators) if record.code.builtin in _EFFECTS
    ]
    wanted = [*subgraph.outputs, *(i for at in effects for i in subgraph.operators[at].inputs)]
    live = set(effects)
    while wanted:
        at = producers.get(wanted.pop(), -1)
        if at >= 0 and at not in live:
            live.add(at)
            wanted.extend(subgraph.operators[at].inputs)
    return [subgraph.operators[at] for at in sorted(live)]
