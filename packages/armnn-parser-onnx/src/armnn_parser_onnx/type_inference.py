# SPDX-License-Identifier: MIT
"""Element types of a node's outputs, from its operator's schema."""

from __future__ import annotations

from collections.abc import Mapping

from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx.standard.schema import Parameter, Schema
from armnn_parser_onnx.tensors import data_type_of, onnx_type_name
from armnn_parser_onnx.wire.messages import Node

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


def data_type_or_none(element: int) -> DataType | None:
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
    """Return the type that an attribute says for an output."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in attributes and node.op_type in ("Constant", "ConstantOfShape"):
            tensor = attributes[name].t
            if tensor is not None:
                return data_type_or_none(tensor.data_type)
            return DataType.FLOAT32 if "float" in name else DataType.SIGNED64
    if node.op_type == "ConstantOfShape":
        return DataType.FLOAT32
    name = (_BY_ATTRIBUTE if index == 0 else _STATISTICS).get(node.op_type, "")
    if name in attributes:
        return data_type_or_none(attributes[name].i) if attributes[name].i else None
    rule = schema.attributes.get(name)
    return None if rule is None or not rule.default else data_type_or_none(rule.default)
