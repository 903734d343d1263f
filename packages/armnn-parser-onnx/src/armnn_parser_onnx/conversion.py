# SPDX-License-Identifier: MIT
"""From the nodes of a model to layers; what cannot be converted is collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from armnn.errors import ArmnnError, ParseError, UnsupportedOperatorError
from armnn.graph import Value
from armnn_parser_onnx import operators  # noqa: F401  (importing them registers them)
from armnn_parser_onnx._registry import Converter, find_converter
from armnn_parser_onnx.functions import body_of, has_body
from armnn_parser_onnx.model_file import DEFAULT_DOMAINS
from armnn_parser_onnx.node import describe_node
from armnn_parser_onnx.operation import Operation, RefusedError
from armnn_parser_onnx.signature import check_types
from armnn_parser_onnx.tensors import onnx_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.tensor import TensorInfo
    from armnn_parser_onnx.graph import Graph


class ComputedOperandError(UnsupportedOperatorError):
    """A model cannot be converted because inputs of it stand where constants are needed.

    Attributes:
        inputs: Their names; with their values the model may be converted.
    """

    def __init__(self, message: str, names: tuple[str, ...], inputs: tuple[str, ...]) -> None:
        super().__init__(message, names)
        self.inputs = inputs


def convert_nodes(model: onnx.ModelProto, opset: int, graph: Graph) -> None:
    """Convert every node that an output of the model depends on.

    Raises:
        ComputedOperandError: Inputs stand where constants are needed.
        UnsupportedOperatorError: Some nodes cannot be converted; the message names all of them.
        ParseError: A node is malformed.
    """
    conversion = _Conversion(model, opset, graph)
    for node in conversion.live:
        conversion.convert(node)
    conversion.raise_refused()


class _Conversion:
    def __init__(self, model: onnx.ModelProto, opset: int, graph: Graph) -> None:
        self._graph = graph
        self._opset = opset
        self._refused: dict[tuple[str, str], list[str]] = {}
        self._unavailable: dict[str, None] = {}
        self.live = _live_nodes(model.graph)
        self._read = {name for node in self.live for name in node.input}
        self._read.update(output.name for output in model.graph.output)

    def convert(self, proto: onnx.NodeProto) -> None:
        """Add the layers of a node, or note why that cannot be done."""
        try:
            schema, converter = self._found(proto)
            if any(name in self._unavailable for name in proto.input):
                self._give_up(proto)
                return
            if converter is None:
                self._expand(proto, schema)
                return
            operation = self._operation(proto, schema)
            _check_quantized(operation, converter)
            values = _values(operation, converter)
            self._bind(operation, values)
        except RefusedError as refusal:
            self._refused.setdefault((proto.op_type, str(refusal)), []).append(_short_name(proto))
            self._give_up(proto)

    def raise_refused(self) -> None:
        """Report everything that could not be converted."""
        if not self._refused:
            return
        listed = "; ".join(
            f"{op_type} (at {', '.join(nodes)}): {reason}"
            for (op_type, reason), nodes in self._refused.items()
        )
        names = dict.fromkeys(op_type for op_type, _ in self._refused)
        message = f"the model uses unsupported operators: {listed}"
        if self._graph.needed:
            raise ComputedOperandError(message, (*names,), (*self._graph.needed,))
        raise UnsupportedOperatorError(message, (*names,))

    def _expand(self, proto: onnx.NodeProto, schema: onnx.defs.OpSchema) -> None:
        """Convert the nodes that ONNX defines a node by."""
        operation = self._operation(proto, schema)
        types = [
            _onnx_type(self._graph.value(name).info) if name else onnx.TypeProto()
            for name in proto.input
        ]
        try:
            nodes, opset = body_of(proto, schema, types, self._opset)
        except ParseError as error:
            raise operation.error(str(error)) from error
        self._read.update(name for node in nodes for name in node.input)
        outer, self._opset = self._opset, opset
        for node in nodes:
            self.convert(node)
        self._opset = outer

    def _found(self, proto: onnx.NodeProto) -> tuple[onnx.defs.OpSchema, Converter | None]:
        if proto.domain not in DEFAULT_DOMAINS:
            raise RefusedError(f"the operators of the domain {proto.domain!r} are not supported")
        if not onnx.defs.has(proto.op_type, max_inclusive_version=self._opset, domain=""):
            raise RefusedError(f"ONNX has no such operator at opset {self._opset}")
        schema = onnx.defs.get_schema(proto.op_type, self._opset, "")
        if schema.deprecated:
            raise RefusedError(f"ONNX has withdrawn it at opset {schema.since_version}")
        converter = find_converter(proto.op_type, self._opset)
        if converter is None and not has_body(schema):
            raise RefusedError("no layer computes it")
        return schema, converter

    def _operation(self, proto: onnx.NodeProto, schema: onnx.defs.OpSchema) -> Operation:
        operation = Operation(proto, schema, self._graph)
        for name in operation.inputs:
            if name and name not in self._graph:
                raise operation.error(
                    f"it reads {name!r}, which no input, initialiser or node before it makes"
                )
        check_types(operation)
        return operation

    def _bind(self, operation: Operation, values: Sequence[Value]) -> None:
        for index, name in enumerate(operation.outputs):
            if index < len(values):
                if name:
                    self._graph.bind(name, values[index])
            elif name in self._read:
                raise RefusedError(
                    f"its output number {index} ({name!r}) is used; no layer computes it"
                )

    def _give_up(self, proto: onnx.NodeProto) -> None:
        self._unavailable.update(dict.fromkeys(name for name in proto.output if name))


def _onnx_type(info: TensorInfo) -> onnx.TypeProto:
    shape = None if info.shape is None else list(info.shape)
    return onnx.helper.make_tensor_type_proto(onnx_type_of(info.data_type), shape)


def _values(operation: Operation, converter: Converter) -> Sequence[Value]:
    try:
        values = converter.convert(operation)
    except ArmnnError as error:
        if str(error).startswith(str(operation)):
            raise
        raise operation.error(str(error)) from error
    return (values,) if isinstance(values, Value) else values


def _check_quantized(operation: Operation, converter: Converter) -> None:
    """Refuse arithmetic on stored values: a layer would compute with the real ones."""
    if converter.moves_data:
        return
    for name in operation.inputs:
        if name and operation.graph.value(name).info.is_quantized:
            raise RefusedError(
                f"it computes with the stored numbers of the quantised tensor {name!r}"
            )


def _live_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Return the nodes that an output depends on, in the order of the file."""
    producers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        for name in node.output:
            if name and producers.setdefault(name, index) != index:
                raise ParseError(
                    f"{_described(node)}: the value {name!r} is already made by "
                    f"{_described(graph.node[producers[name]])}"
                )
    wanted: list[str] = [output.name for output in graph.output]
    live: set[int] = set()
    while wanted:
        index = producers.get(wanted.pop(), -1)
        if index >= 0 and index not in live:
            live.add(index)
            wanted.extend(graph.node[index].input)
    return [graph.node[index] for index in sorted(live)]


def _described(node: onnx.NodeProto) -> str:
    return describe_node(node.op_type, node.name, tuple(node.output))


def _short_name(node: onnx.NodeProto) -> str:
    return repr(node.name or (node.output[0] if node.output else ""))
