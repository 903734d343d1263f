# SPDX-License-Identifier: MIT
"""Element types: those that a model declares, that schemas allow, and that nodes make.

The types of a node's outputs are known without converting it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx import messages
from armnn_parser_onnx.body import Bodies, Body, body_key
from armnn_parser_onnx.messages import Node
from armnn_parser_onnx.operation import CheckedNode
from armnn_parser_onnx.schemas import DEFAULT_DOMAINS, MICROSOFT, Parameter, Schema, standard_schema
from armnn_parser_onnx.tensors import data_type_of, onnx_type_name


def element_type_of(value: messages.ValueInfo) -> int:
    """Return the element type's number, 0 if undeclared."""
    tensor = None if value.type is None else value.type.tensor_type
    return 0 if tensor is None else tensor.elem_type


def dimensions_of(value: messages.ValueInfo) -> Sequence[messages.Dimension] | None:
    """Return the dimensions, None if no shape is declared."""
    tensor = None if value.type is None else value.type.tensor_type
    return None if tensor is None or tensor.shape is None else tensor.shape.dim


_BY_ATTRIBUTE = {
    "Bernoulli": "dtype",
    "BitCast": "to",
    "BlackmanWindow": "output_datatype",
    "Cast": "to",
    "EyeLike": "dtype",
    "HammingWindow": "output_datatype",
    "HannWindow": "output_datatype",
    "MelWeightMatrix": "output_datatype",
    "Multinomial": "dtype",
    "QuantizeLinear": "output_dtype",
    "DequantizeLinear": "output_dtype",
    "RandomNormal": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniform": "dtype",
    "RandomUniformLike": "dtype",
}
"""The attributes that say the type of a first output."""

_STATISTICS = {"LayerNormalization": "stash_type"}
"""The attributes that say the type of the further outputs."""

_NAMES = {onnx_type_name(each): each for each in DataType if not each.is_quantized}


def _data_type_or_none(element: int) -> DataType | None:
    """Return a number's data type, None if networks lack it."""
    try:
        return data_type_of(element)
    except ParseError:
        return None


def inferred_types(
    node: Node, schema: Schema, types: Mapping[str, DataType]
) -> list[DataType | None]:
    """Return the types of a node's outputs, None where unknown.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: The types of the values that it reads, as far as they are known.
    """
    bound: dict[str, DataType] = {}
    for index, name in enumerate(node.input):
        if name in types and schema.inputs:
            parameter = schema.inputs[min(index, len(schema.inputs) - 1)]
            bound.setdefault(parameter.type, types[name])
    made: list[DataType | None] = []
    for index in range(len(node.output)):
        parameter = schema.outputs[min(index, len(schema.outputs) - 1)]
        known = _said(node, schema, index)
        made.append(_of_parameter(parameter, schema, bound) if known is None else known)
    if node.op_type == "QuantizeLinear" and made[:1] == [None]:
        made[0] = DataType.UNSIGNED8
    return made


def _of_parameter(
    parameter: Parameter, schema: Schema, bound: Mapping[str, DataType]
) -> DataType | None:
    """Return the type of an output.

    A type parameter that no input has is the first type of an input that it may be: Bernoulli makes
    what it is given unless an attribute says another type.
    """
    allowed = schema.types.get(parameter.type, (parameter.type,))
    if len(allowed) == 1:
        return _NAMES.get(allowed[0])
    given = (each for each in bound.values() if onnx_type_name(each) in allowed)
    return bound.get(parameter.type, next(given, None))


def _said(node: Node, schema: Schema, index: int) -> DataType | None:
    """Return the type of an output that an attribute names."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in attributes and node.op_type in ("Constant", "ConstantOfShape"):
            tensor = attributes[name].t
            if tensor is not None:
                return _data_type_or_none(tensor.data_type)
            return DataType.FLOAT32 if "float" in name else DataType.SIGNED64
    if node.op_type == "ConstantOfShape":
        return DataType.FLOAT32
    name = (_BY_ATTRIBUTE if index == 0 else _STATISTICS).get(node.op_type, "")
    if name in attributes:
        return _data_type_or_none(attributes[name].i) if attributes[name].i else None
    rule = schema.attributes.get(name)
    return None if rule is None or not rule.default else _data_type_or_none(rule.default)


def check_input_types(node: CheckedNode, types: Mapping[str, DataType]) -> None:
    """Check a node's input types as far as known.

    So converters need not.

    Raises:
        ParseError: A type is not allowed, or inputs that must have one type have two.
    """
    schema = node.schema
    bound: dict[str, str] = {}
    for index, name in enumerate(node.inputs):
        if name not in types:
            continue
        parameter = schema.inputs[min(index, len(schema.inputs) - 1)]
        got = onnx_type_name(types[name])
        expected = schema.types.get(parameter.type, (parameter.type,))
        if parameter.homogeneous and bound.setdefault(parameter.type, got) != got:
            expected = (bound[parameter.type],)
        if got not in expected:
            raise node.error(
                f"the input {parameter.name!r} is {got}: expected "
                f"{expected[0] if len(expected) == 1 else 'one of ' + ', '.join(sorted(expected))}"
            )


_Types: TypeAlias = Mapping[str, DataType]
"""Data types of values by name."""


def output_types(
    node: messages.Node,
    schema: Schema,
    opset: int,
    bodies: Bodies,
    types: _Types,
) -> list[DataType] | None:
    """Return a node's output types, None if one is unknown.

    Args:
        node: The node.
        schema: Its operator's schema.
        opset: The version of ONNX's operators.
        bodies: The graphs in its attributes.
        types: The types of the values that it and the graphs in its attributes read.
    """
    if node.op_type in _OF_BODIES and node.domain in DEFAULT_DOMAINS:
        found = _OF_BODIES[node.op_type](node, opset, bodies, types)
    elif schema.domain == MICROSOFT:
        found = _of_microsoft(node, types)
    else:
        found = inferred_types(node, schema, types)
    made = [data_type for name, data_type in zip(node.output, found, strict=False) if name]
    known = [data_type for data_type in made if data_type is not None]
    return known if len(known) == sum(bool(name) for name in node.output) else None


def _of_microsoft(node: messages.Node, types: _Types) -> list[DataType | None]:
    """Return the output types of Microsoft's operators.

    Their schemas infer nothing: the outputs have the type of the first real input.
    """
    given = (types[name] for name in node.input if name in types)
    made = [next((one for one in given if one.is_float), None)] * len(node.output)
    if node.op_type == "EmbedLayerNormalization":
        made[1:2] = [DataType.SIGNED32] * len(made[1:2])  # how many words count
    elif node.op_type == "GroupQueryAttention":  # whose caches may be of 8 bits
        for index, past in zip(range(1, len(made)), node.input[3:5], strict=False):
            made[index] = types.get(past, made[index])
    return made


def _of_if(node: messages.Node, opset: int, bodies: Bodies, types: _Types) -> list[DataType | None]:
    branches = (
        body_output_types(bodies[body_key(node, name)], (), opset, types)
        for name in ("then_branch", "else_branch")
        if body_key(node, name) in bodies
    )
    return [
        next((branch for branch in found if branch is not None), None)
        for found in zip(*branches, strict=False)
    ]


def _of_loop(
    node: messages.Node, opset: int, bodies: Bodies, types: _Types
) -> list[DataType | None]:
    states = [types.get(name) for name in node.input[2:]]
    given = (DataType.SIGNED64, DataType.BOOLEAN, *states)
    made = body_output_types(bodies[body_key(node, "body")], given, opset, types)
    return [*states, *made[1 + len(states) :]]


def _of_scan(
    node: messages.Node, opset: int, bodies: Bodies, types: _Types
) -> list[DataType | None]:
    body = bodies[body_key(node, "body")]
    given = [types.get(name) for name in node.input][-len(body.inputs) :]
    return body_output_types(body, given, opset, types)


_OF_BODIES = {"If": _of_if, "Loop": _of_loop, "Scan": _of_scan}


def body_output_types(
    body: Body, given: Sequence[DataType | None], opset: int, types: _Types
) -> list[DataType | None]:
    """Return a body's output types, declared or inferred.

    Args:
        body: The body.
        given: The types of its inputs.
        opset: The version of ONNX's operators.
        types: The types of the values around it.
    """
    declared = [_data_type_or_none(element_type_of(output)) for output in body.outputs]
    if all(data_type is not None for data_type in declared):
        return declared
    inside = {name: types[name] for name in body.captures if name in types}
    inside |= {name: DataType.from_numpy(data.dtype) for name, data in body.arrays.items()}
    inside |= _known(zip((value.name for value in body.inputs), given, strict=False))
    for node in body.nodes:
        schema = standard_schema(node.op_type, opset) if node.domain in DEFAULT_DOMAINS else None
        if schema is None:
            continue
        made = output_types(node, schema, opset, body.bodies, inside)
        if made is not None:
            inside |= dict(zip((name for name in node.output if name), made, strict=True))
    return [inside.get(output.name) for output in body.outputs]


def _known(types: Iterable[tuple[str, DataType | None]]) -> dict[str, DataType]:
    return {name: data_type for name, data_type in types if data_type is not None}
