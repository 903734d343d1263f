# SPDX-License-Identifier: MIT
"""Conversion of a subgraph's operators to layers, with refusals collected.

Operators on few known integers, such as counters of loops and the conditions made of them, are
computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn.graph import (
    DeferredOperator,
    Network,
    Operator,
    OperatorRegistration,
    Operators,
    Survey,
    Value,
)
from armnn.parsing.conversion import (
    Conversion,
    NotKnownYetError,
    RefusedError,
    add_operator,
    add_stand_in,
    values_of,
)
from armnn.parsing.flatbuffers import FlatFile
from armnn.tensor import TensorInfo
from armnn_parser_tflite._bindings import BuiltinOperator
from armnn_parser_tflite._registry import Converter
from armnn_parser_tflite.graph import Graph, Variables
from armnn_parser_tflite.model_file import ModelFile
from armnn_parser_tflite.operation import Operation, operator_type
from armnn_parser_tflite.operators import find_converter
from armnn_parser_tflite.schema import ABSENT, OperatorCode, OperatorRecord, Subgraph, read_subgraph
from armnn_parser_tflite.tensors import Buffers, has_type, is_complex, is_handle

_MOST_ELEMENTS = 64

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "NEG": np.negative,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_NOT": np.logical_not,
}
_ACTIVATED = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}


def _folded(operation: Operation) -> Value | None:
    """Return an operator's constant result, None if not foldable.

    Known integers and Booleans are folded.

    Raises:
        ParseError: Its options are malformed.
    """
    function = _FUNCTIONS.get(operation.type)
    if function is None:
        return None
    arrays = [_integers(operation, index) for index in range(operation.count())]
    if not arrays or any(array is None for array in arrays):
        return None
    options = _ACTIVATED.get(operation.type)
    if options and operation.options(options).integer("FusedActivationFunction"):
        return None
    try:
        with np.errstate(over="ignore"):
            result = np.asarray(function(*arrays))
    except (TypeError, ValueError):
        return None  # too many inputs, or shapes that do not fit: the layer says it better
    if result.dtype != operation.info().data_type.numpy_dtype:
        return None
    return operation.network.add_constant(result, name=operation.layer_name())


def _integers(operation: Operation, index: int) -> NDArray[Any] | None:
    if not operation.has_input(index):
        return None
    value = operation.input(index)
    array = value.constant
    if array is None or value.info.is_quantized or array.dtype.kind not in "ib":
        return None
    return array if array.size <= _MOST_ELEMENTS else None


DOMAIN: Final = "tflite"
"""The domain that ``armnn.register_operator`` takes for custom operators of this format."""

_RANDOM = "its result is random, and a network gives the same one every time"
_KEYS = "it looks up by keys or works on texts, which networks lack"
_DELEGATE = "only the program that wrote it defines it"

_REASONS = {
    "RANDOM_UNIFORM": _RANDOM,
    "RANDOM_STANDARD_NORMAL": _RANDOM,
    "MULTINOMIAL": _RANDOM,
    "STABLEHLO_RNG_BIT_GENERATOR": _RANDOM,
    "HASHTABLE": _KEYS,
    "HASHTABLE_FIND": _KEYS,
    "HASHTABLE_IMPORT": _KEYS,
    "HASHTABLE_SIZE": _KEYS,
    "HASHTABLE_LOOKUP": _KEYS,
    "LSH_PROJECTION": _KEYS,
    "SKIP_GRAM": _KEYS,
    "CONCAT_EMBEDDINGS": _KEYS,
    "EMBEDDING_LOOKUP_SPARSE": _KEYS,
    "DELEGATE": _DELEGATE,
    "PLACEHOLDER_FOR_GREATER_OP_CODES": _DELEGATE,
}


def _reason(name: str, *, custom: bool) -> str:
    """Return why an operator without a converter is refused.

    Args:
        name: The operator.
        custom: Whether it is not one of the builtin operators.
    """
    if custom:
        return (
            "it is a custom operator, and what it means is not in the file; "
            f"armnn.register_operator({DOMAIN!r}, {name!r}, ...) gives it a function"
        )
    return _REASONS.get(name, "no layer computes it")


_DEEPEST_CALL = 8
_MOST_CALLED_OPERATORS = 2**14
_EFFECTS = (BuiltinOperator.ASSIGN_VARIABLE, BuiltinOperator.CALL_ONCE)
"""Operators that matter although no output depends on them."""


def convert_operators(graph: Graph, file: FlatFile) -> None:
    """Convert every operator that an output of the subgraph needs.

    Raises:
        UnsupportedOperatorError: Some cannot be converted; the message names all of them.
        ParseError: One is malformed.
    """
    conversion = _OperatorConversion(graph, file)
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
    """Return a subgraph's graph; its operators may call other subgraphs."""
    calls = _Calls(model, network, buffers)
    return Graph(network, subgraph, buffers, calls.variables, calls, survey=survey)


class _Calls:
    """Adds the layers of called subgraphs, once per call.

    The number of operators is bounded, as calls in loops and calls within calls multiply.
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
                f"the subgraph {index} is called with {len(values)} inputs: expected "
                f"{len(subgraph.inputs)}"
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
    """An operator that is converted later, with its inputs."""

    def __init__(
        self, operation: Operation, graph: Graph, file: FlatFile, place: int | None
    ) -> None:
        self.operator = operation.type
        self._record = operation.record
        if self._record.code.builtin == BuiltinOperator.CUSTOM:
            self.registration = graph.operators(DOMAIN, operation.type)
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
        graph.operators = origin.operators
        for index, value in zip(self.inputs, inputs, strict=True):
            graph.bind(index, value)
        conversion = _OperatorConversion(graph, self._file)
        conversion.convert(self._record)
        conversion.raise_refused()
        origin.buffers.note_in(network)
        return [graph.value(index) for index in self._record.outputs]


def _no_calls(_index: int, _values: Sequence[Value]) -> list[Value]:
    raise RefusedError("it calls a subgraph, which has to be known when the file is read")


class _OperatorConversion(Conversion[OperatorRecord, Converter, int]):
    places = "operators"

    def __init__(self, graph: Graph, file: FlatFile) -> None:
        super().__init__(graph.network, graph.survey)
        self._graph = graph
        self._file = file
        self._found: dict[OperatorCode, Converter] = {}

    def operator_of(self, record: OperatorRecord) -> Operator:
        return Operator(operator_type(record), f"{self._graph.prefix}{record.number}")

    def place_of(self, record: OperatorRecord) -> str:
        return str(record.number)

    def keys_read(self, record: OperatorRecord) -> Sequence[int]:
        return record.inputs

    def keys_made(self, record: OperatorRecord) -> Sequence[int]:
        return record.outputs

    def convert(self, record: OperatorRecord) -> None:
        """Add an operator's layers, or record why that is impossible."""
        if self.survey is not None:
            self.survey.operators[self.operator_of(record)] = ""
        super().convert(record)

    def find(self, record: OperatorRecord) -> Converter:
        found = self._found.get(record.code)
        if found is None:
            found = self._found[record.code] = _converter_of(record, self._graph.operators)
        return found

    def add_layers(self, record: OperatorRecord, found: Converter) -> None:
        self._check_tensors(record, found)
        operation = Operation(record, self._graph, self._file)
        values = values_of(operation, lambda each: _folded(each) or found.convert(each))
        if len(values) != len(record.outputs):
            raise operation.error(f"it has {len(record.outputs)} outputs: expected {len(values)}")
        self._graph.bind_all(record.outputs, values)

    def defer(self, record: OperatorRecord, found: Converter, unknown: NotKnownYetError) -> None:  # noqa: ARG002  # its outputs' types are in the file
        operation = Operation(record, self._graph, self._file)
        deferred = _DeferredOperation(operation, self._graph, self._file, unknown.awaited)
        inputs = [self._graph.value(index) for index in deferred.inputs]

        def infos() -> list[TensorInfo]:
            return [operation.info(index) for index in range(len(record.outputs))]

        values = add_stand_in(self.network, deferred, inputs, unknown, infos, operation.layer_name)
        self._graph.bind_all(record.outputs, values)

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


def _converter_of(record: OperatorRecord, operators: Operators) -> Converter:
    custom = record.code.builtin == BuiltinOperator.CUSTOM
    name = operator_type(record)
    converter = find_converter(name, custom=custom)
    registered = operators(DOMAIN, name) if custom else None
    if registered is not None:
        if converter is not None and not registered.replaces:
            raise RefusedError(
                f"the program registered {registered}, and layers compute this operator: "
                "register_operator(replace=True) takes the program's function, "
                "unregister_operator() the layers"
            )
        return Converter(record.code.version, _of_program(registered), False, False)
    if converter is None:
        raise RefusedError(_reason(name, custom=custom))
    if record.code.version > converter.newest:
        raise RefusedError(f"it is of version {record.code.version}, newer than {converter.newest}")
    return converter


def _of_program(registered: OperatorRegistration) -> Callable[[Operation], Sequence[Value]]:
    """Return the converter of a custom operator that the program defines."""

    def convert(operation: Operation) -> Sequence[Value]:
        inputs = [operation.optional_input(index) for index in range(operation.count())]
        declared = [operation.info(index) for index in range(len(operation.record.outputs))]
        attributes = {"custom_options": operation.custom_options()}
        return add_operator(operation, registered, inputs, attributes, len(declared), declared)

    return convert


def _live_operators(subgraph: Subgraph) -> list[OperatorRecord]:
    """Return the operators that an output needs, in file order."""
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
