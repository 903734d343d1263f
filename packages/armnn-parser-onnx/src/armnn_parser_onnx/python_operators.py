# SPDX-License-Identifier: MIT
"""Nodes of operators that the program defines by ``armnn.register_operator``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from numpy.typing import NDArray

from armnn.graph import OperatorRegistration, Value
from armnn.parsing.conversion import RefusedError, add_operator, operator_types
from armnn.types import DataType
from armnn_parser_onnx import messages
from armnn_parser_onnx._registry import Converter
from armnn_parser_onnx.messages import FLOATS, INTS, KIND_NAMES, STRING, STRINGS, TENSOR
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.schemas import AttributeRule, Parameter, Schema
from armnn_parser_onnx.tensors import ExternalData, onnx_type_name, to_array

_MOST: Final = 2**16
_ANY: Final = "T"
_TYPES: Final = {
    _ANY: tuple(sorted({onnx_type_name(each) for each in DataType if not each.is_quantized}))
}
_KINDS: Final = ("FLOAT", "INT", "STRING", "TENSOR", "FLOATS", "INTS", "STRINGS")


def converter_of(node: messages.Node, registered: OperatorRegistration) -> tuple[Schema, Converter]:
    """Return the schema and the converter of a node of an operator that the program defines.

    Its schema says nothing: it has the inputs, outputs and attributes that the node has.
    """
    some = Parameter("input", _ANY, variadic=True, homogeneous=False)
    rules = {each.name: AttributeRule(each.type) for each in node.attribute}
    counts = (0, _MOST, 0, _MOST)
    schema = Schema(node.op_type, node.domain, 1, (some,), (some,), counts, _TYPES, rules)

    def convert(operation: Operation) -> Sequence[Value]:
        inputs, attributes = _inputs(operation), _attributes(operation, node)
        return add_operator(operation, registered, inputs, attributes, len(operation.outputs))

    # A quantized tensor is one of integers to ONNX.
    return schema, Converter(1, convert, moves_data=True)


def types_of(
    operation: Operation, node: messages.Node, registered: OperatorRegistration
) -> list[DataType]:
    """Return the types of the named outputs of a node before the shapes of its inputs are known."""
    inputs, attributes = _inputs(operation), _attributes(operation, node)
    made = operator_types(registered, inputs, attributes, len(operation.outputs))
    return [each for each, name in zip(made, operation.outputs, strict=True) if name]


def _inputs(operation: Operation) -> list[Value | None]:
    return [operation.optional_input(index) for index in range(len(operation.inputs))]


def _attributes(operation: Operation, node: messages.Node) -> dict[str, object]:
    """Return the attributes of a node as Python and NumPy have them."""
    return {each.name: _value(operation, each) for each in node.attribute}


def _value(operation: Operation, attribute: messages.Attribute) -> object:
    """Return the value of an attribute.

    Raises:
        RefusedError: It is a graph, a type or a sparse tensor.
    """
    kind = KIND_NAMES[attribute.type]
    if kind not in _KINDS:
        raise RefusedError(
            f"its attribute {attribute.name!r} is of type {kind}: a function in Python takes "
            f"{', '.join(_KINDS)}"
        )
    value: Any = getattr(attribute, messages.ATTRIBUTE_FIELDS[attribute.type])
    if attribute.type == TENSOR:
        return _array(value, operation.graph.external_data)
    if attribute.type == STRING:
        return _text(value)
    if attribute.type == STRINGS:
        return [_text(each) for each in value]
    return list(value) if attribute.type in (FLOATS, INTS) else value


def _text(value: bytes) -> str | bytes:
    """Return a string of the file; bytes where it is not a text."""
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        return bytes(value)


def _array(tensor: messages.Tensor, external_data: ExternalData) -> NDArray[Any]:
    made = to_array(tensor, external_data).view()
    made.flags.writeable = False
    return made
