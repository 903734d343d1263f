# SPDX-License-Identifier: MIT
"""Conversion of a model's nodes to layers, with refusals collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from armnn.errors import ArmnnError, ParseError
from armnn.graph import DeferredOperator, Network, Operator, Operators, Survey, Value
from armnn.parsing.conversion import (
    Conversion,
    NotKnownYetError,
    RefusedError,
    add_stand_in,
    values_of,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_parser_onnx import messages
from armnn_parser_onnx._registry import Converter
from armnn_parser_onnx.body import (
    Bodies,
    bodies_of,
    body_key,
    described,
    light_copy,
    live_nodes,
    names_read,
    tensor_of,
)
from armnn_parser_onnx.element_types import check_input_types, output_types
from armnn_parser_onnx.folded import folded
from armnn_parser_onnx.functions import body_of, has_body
from armnn_parser_onnx.graph import DerivedArrays, Graph
from armnn_parser_onnx.messages import make_type
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators import find_converter
from armnn_parser_onnx.python_operators import converter_of, types_of
from armnn_parser_onnx.schemas import (
    DEFAULT_DOMAINS,
    MICROSOFT,
    PREVIEW,
    Schema,
    microsoft_schema,
    standard_schema,
)
from armnn_parser_onnx.sequences import SEQUENCE_OPERATORS, convert_sequence
from armnn_parser_onnx.tensors import onnx_type_of, to_array

_Found: TypeAlias = "tuple[Schema, Converter | None]"
"""The schema and the converter of a node; without the latter, ONNX defines it by other nodes."""


def convert_model(main: messages.Graph, opset: int, graph: Graph) -> None:
    """Convert every node that an output of the model needs.

    Nodes that cannot be converted before more is known (the branches of an If) become StandIn
    layers.

    Raises:
        UnsupportedOperatorError: Some nodes cannot be converted; the message names all of them.
        ParseError: A node is malformed.
    """
    live = live_nodes(main)
    graph.bodies.update(bodies_of(live, graph.external_data))
    if graph.survey is not None:
        _note_operators(live, graph.bodies, opset, graph.survey, graph.operators)
    convert_nodes(live, [output.name for output in main.output], opset, graph)


def convert_nodes(
    nodes: Sequence[messages.Node], outputs: Iterable[str], opset: int, graph: Graph
) -> None:
    """Convert nodes of one graph.

    Args:
        nodes: In topological order.
        outputs: The names that are read besides those that the nodes read.
        opset: The version of ONNX's operators.
        graph: Has the values that they read, and gets those that they make.

    Raises:
        UnsupportedOperatorError: Some nodes cannot be converted; the message names all of them.
        ParseError: A node is malformed.
    """
    conversion = _NodeConversion(nodes, outputs, opset, graph)
    for node in nodes:
        conversion.convert(node)
    conversion.raise_refused()


class _DeferredNode(DeferredOperator):
    """A node that is converted later, with its inputs."""

    def __init__(
        self, proto: messages.Node, opset: int, graph: Graph, unknown: NotKnownYetError
    ) -> None:
        self.operator = proto.op_type
        self._proto = light_copy(proto)
        self._opset = opset
        self._external_data = graph.external_data
        self._bodies = {
            (output, name): body
            for (output, name), body in graph.bodies.items()
            if output in proto.output
        }
        self._derived = DerivedArrays() if graph.derived is None else graph.derived
        self._prefix, self._scope = graph.prefix, graph.scope
        self._operators = graph.operators
        self.registration = graph.operators(proto.domain, proto.op_type)
        self.names = tuple(dict.fromkeys(name for name in names_read(proto, graph.bodies) if name))
        self.outputs = tuple(name for name in proto.output if name)
        self.grows, awaited = unknown.grows, unknown.awaited
        self.awaits = () if awaited is None else (self.names.index(proto.input[awaited]),)

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        graph = Graph(
            network,
            self._external_data,
            self._bodies,
            self._derived,
            self._prefix,
            self._scope,
        )
        graph.operators, graph.is_late = self._operators, True
        for name, value in zip(self.names, inputs, strict=True):
            graph.bind(name, value)
        convert_nodes([self._proto], self.outputs, self._opset, graph)
        self._external_data.note_in(network)
        return [graph.value(name) for name in self.outputs]


class _NodeConversion(Conversion[messages.Node, _Found, str]):
    def __init__(
        self, nodes: Sequence[messages.Node], outputs: Iterable[str], opset: int, graph: Graph
    ) -> None:
        super().__init__(graph.network, graph.survey)
        self._graph = graph
        self._opset = opset
        self._found: dict[tuple[str, str, int], _Found] = {}
        self._fitting: dict[tuple[int | DataType | None, ...], Schema] = {}
        self._read = {name for node in nodes for name in self.keys_read(node)}
        self._outputs = set(outputs)
        self._read.update(self._outputs)

    def operator_of(self, record: messages.Node) -> Operator:
        return _operator_of(record, self._graph.scope)

    def place_of(self, record: messages.Node) -> str:
        return repr(record.name or (record.output[0] if record.output else ""))

    def keys_read(self, record: messages.Node) -> Iterable[str]:
        return names_read(record, self._graph.bodies)

    def keys_made(self, record: messages.Node) -> Iterable[str]:
        return (name for name in record.output if name)

    def find(self, record: messages.Node) -> _Found:
        key = record.op_type, record.domain, self._opset
        if key not in self._found:
            operators = self._graph.operators
            found = _find(record, self._opset, operators)
            if operators(record.domain, record.op_type) is not None:
                return found  # its schema is of this node alone
            self._found[key] = found
        return self._found[key]

    def convert_part(self, record: messages.Node) -> None:
        """Add a node's layers; a tensor needs no schema.

        Models have many tensors.
        """
        tensor = tensor_of(record)
        if tensor is None:
            super().convert_part(record)
        else:
            self._add_tensor(record, tensor)

    def _add_tensor(self, proto: messages.Node, tensor: messages.Tensor) -> None:
        (name,) = proto.output
        try:
            data = to_array(tensor, self._graph.external_data)
        except ArmnnError as error:
            raise ParseError(f"{described(proto)}: {error}") from error
        layer_name = self._graph.unique_name(proto.name or name)
        self._graph.bind(name, self.network.add_constant(data, name=layer_name))

    def add_layers(self, record: messages.Node, found: _Found) -> None:
        schema, converter = found
        if converter is None:
            if _is_of_sequences(record):
                self._convert_sequence(record, schema)
            else:
                self._expand(record, schema)
            return
        operation, read = self._operation(record, schema)
        if any(map(_is_deferred, read)):
            raise NotKnownYetError("the shape and type of an input are not known yet")
        if not converter.moves_data:
            _check_quantized(operation, read)
        self._bind(operation, values_of(operation, converter.convert))

    def _convert_sequence(self, record: messages.Node, schema: Schema) -> None:
        graph = self._graph
        operation = Operation(record, schema, graph, self._opset)
        tensors = [name for name in record.input if name in graph and name not in graph.sequences]
        check_input_types(operation, {name: graph.data_type_of(name) for name in tensors})
        convert_sequence(operation)
        if not self._outputs.isdisjoint(graph.sequences.keys() & set(record.output)):
            raise RefusedError("networks have no sequences")

    def defer(self, record: messages.Node, found: _Found, unknown: NotKnownYetError) -> None:
        """Add a StandIn layer for a node not yet convertible.

        Raises:
            RefusedError: Nothing more will be known, or the types of its outputs are not.
        """
        deferred = _DeferredNode(record, self._opset, self._graph, unknown)
        inputs = [self._graph.value(name) for name in deferred.names]

        def infos() -> list[TensorInfo]:
            types = (value.info.data_type for value in inputs)
            known = dict(zip(deferred.names, types, strict=True))
            registered = self._graph.operators(record.domain, record.op_type)
            if registered is not None:
                operation = Operation(record, found[0], self._graph, self._opset)
                return [TensorInfo(None, each) for each in types_of(operation, record, registered)]
            made = output_types(record, found[0], self._opset, self._graph.bodies, known)
            if made is None:
                raise RefusedError("its outputs are not tensors, or their types cannot be told")
            return [TensorInfo(None, data_type) for data_type in made]

        def name() -> str:
            return self._graph.unique_name(record.name or deferred.outputs[0])

        values = add_stand_in(self.network, deferred, inputs, unknown, infos, name)
        self._graph.bind_all(deferred.outputs, values)

    def _expand(self, proto: messages.Node, schema: Schema) -> None:
        """Convert the nodes that ONNX defines a node by."""
        operation, _ = self._operation(proto, schema)
        if self._graph.may_fold:
            stored = folded(operation)
            if stored is not None:
                self._bind(operation, [stored])
                return

        def infos() -> list[TensorInfo | None]:  # for few: it makes layers of scales
            return [self._graph.value(name).info if name else None for name in proto.input]

        def types() -> list[messages.Type]:
            return [messages.Type() if info is None else _onnx_type(info) for info in infos()]

        try:
            nodes, opset = body_of(proto, schema, types, self._opset)
        except ParseError as error:
            if not all(info is None or info.is_static for info in infos()):
                raise NotKnownYetError(str(error)) from error
            raise operation.error(str(error)) from error
        self._graph.bodies.update(bodies_of(nodes, self._graph.external_data))
        self._read.update(name for node in nodes for name in names_read(node, self._graph.bodies))
        outer, self._opset = self._opset, opset
        for node in nodes:
            self.convert_part(node)
        self._opset = outer

    def _operation(self, proto: messages.Node, schema: Schema) -> tuple[Operation, list[Value]]:
        """Return a node in conversion and the values it reads.

        Initializers are none of them yet.

        Raises:
            ParseError: Nothing makes an input, or its type is not allowed.
        """
        graph = self._graph
        operation = Operation(proto, schema, graph, self._opset)
        read: list[Value] = []
        kinds: list[DataType | None] = []
        for name in operation.inputs:
            known = graph.known.get(name)
            if known is not None:
                read.append(known)
                kinds.append(known.info.data_type)
                continue
            kind = graph.initializer_type(name) if name else None
            if name in graph.sequences:
                raise RefusedError(f"it reads {name!r}, and networks have no sequences")
            if name and kind is None:
                raise operation.error(
                    f"it reads {name!r}, which no input, initializer or node before it makes"
                )
            kinds.append(kind)
        signature = (id(schema), *kinds)
        if signature not in self._fitting:  # most nodes are like one before
            types = zip(operation.inputs, kinds, strict=True)
            check_input_types(operation, {name: kind for name, kind in types if kind is not None})
            self._fitting[signature] = schema  # which keeps its id
        return operation, read

    def _bind(self, operation: Operation, values: Sequence[Value]) -> None:
        for index, name in enumerate(operation.outputs):
            if index < len(values):
                if name:
                    self._graph.bind(name, values[index])
            elif name in self._read:
                raise RefusedError(
                    f"its output number {index} ({name!r}) is used; no layer computes it"
                )


def _is_deferred(value: Value) -> bool:
    """Return whether a value belongs to a deferred node.

    It may turn out to be a quantized one.
    """
    held = value.producer.compiled  # None of nearly all
    return held is not None and isinstance(held, DeferredOperator)


def _operator_of(node: messages.Node, scope: str) -> Operator:
    """Return a node's description for other packages."""
    name = node.name or next((name for name in node.output if name), "")
    return Operator(node.op_type, f"{scope}{name}")


def _note_operators(
    nodes: Iterable[messages.Node],
    bodies: Bodies,
    opset: int,
    survey: Survey,
    operators: Operators,
    scope: str = "",
) -> None:
    """Record nodes, with their graphs', and those not computable."""
    for node in nodes:
        operator = _operator_of(node, scope)
        try:
            _find(node, opset, operators)
            survey.operators[operator] = ""
        except RefusedError as refusal:
            survey.operators[operator] = str(refusal)
        for attribute in node.attribute:
            body = bodies.get(body_key(node, attribute.name))
            if body is not None:
                inner = f"{operator.name}/{attribute.name}/"
                _note_operators(body.nodes, body.bodies, opset, survey, operators, inner)


def _find(node: messages.Node, opset: int, operators: Operators) -> _Found:
    """Return the schema and the converter of a node.

    Args:
        node: The node.
        opset: The version of ONNX's operators.
        operators: Finds those that the program defines.

    Raises:
        RefusedError: Layers cannot compute the operator.
    """
    registered = operators(node.domain, node.op_type)
    if registered is None:
        return _find_here(node, opset)
    if not registered.replaces:
        with suppress(RefusedError):
            _find_here(node, opset)
            raise ParseError(
                f"{described(node)}: the program registered {registered}, and layers compute this "
                "operator: register_operator(replace=True) takes the program's function, "
                "unregister_operator() the layers"
            )
    return converter_of(node, registered)


def _find_here(node: messages.Node, opset: int) -> _Found:
    """Return the schema and the converter of a node of a known operator; raise as above."""
    schema = _find_schema(node, opset)
    converter = find_converter(node.op_type, opset, schema.domain)
    if converter is None and not has_body(schema) and not _is_of_sequences(node):
        raise RefusedError(_why_not(schema))
    return schema, converter


def _is_of_sequences(node: messages.Node) -> bool:
    """Return whether an operator makes or reads sequences."""
    return node.op_type in SEQUENCE_OPERATORS and node.domain in DEFAULT_DOMAINS


_OF_MICROSOFT_WITHOUT_DOMAIN = ("SimplifiedLayerNormalization",)
"""Operators of onnxruntime that it writes without the domain."""


def _find_schema(node: messages.Node, opset: int) -> Schema:
    """Return the schema of a node's operator.

    Args:
        node: The node.
        opset: The version of ONNX's operators.

    Raises:
        RefusedError: The operator, its domain or its version is not supported.
    """
    found = standard_schema(node.op_type, opset, PREVIEW) if node.domain == PREVIEW else None
    if found is not None:
        return found
    default = node.domain in DEFAULT_DOMAINS
    if node.domain == MICROSOFT or (default and node.op_type in _OF_MICROSOFT_WITHOUT_DOMAIN):
        schema = microsoft_schema(node.op_type)
        if schema is None:
            raise RefusedError(f"of the operators of {MICROSOFT} this one is not supported")
        return schema
    if not default:
        raise RefusedError(
            f"the operators of the domain {node.domain!r} are not supported; "
            f"armnn.register_operator({node.domain!r}, {node.op_type!r}, ...) gives it a function"
        )
    found = standard_schema(node.op_type, opset)
    if found is None:
        raise RefusedError(f"ONNX has no such operator at opset {opset}")
    if found.deprecated:
        raise RefusedError(f"ONNX has withdrawn it at opset {found.since}")
    return found


def _why_not(schema: Schema) -> str:
    """Return why no layers are made of an operator."""
    if "seed" in schema.attributes:
        return "it draws random numbers"
    parameters = [*schema.inputs, *schema.outputs]
    types = [schema.types.get(each.type, (each.type,)) for each in parameters]
    for start, what in (("seq(", "sequences"), ("optional(", "optionals"), ("map(", "maps")):
        if any(all(name.startswith(start) for name in names) for names in types):
            return f"networks have no {what}"
    if any(set(names) == {"tensor(string)"} for names in types):
        return "networks have no strings"
    return "no layer computes it"


def _onnx_type(info: TensorInfo) -> messages.Type:
    return make_type(onnx_type_of(info.data_type), info.shape)


def _check_quantized(operation: Operation, read: Sequence[Value]) -> None:
    """Refuse arithmetic on stored values.

    A layer would compute with the real ones.
    """
    for value in read:
        if value.info.is_quantized:
            name = next(
                each for each in operation.inputs if operation.graph.known.get(each) is value
            )
            raise RefusedError(
                f"it computes with the stored numbers of the quantized tensor {name!r}"
            )
