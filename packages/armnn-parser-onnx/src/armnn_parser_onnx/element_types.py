# SPDX-License-Identifier: MIT
"""Element types of a node's outputs, without converting it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import onnx

from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx.body import Bodies, Body, body_key
from armnn_parser_onnx.microsoft_schemas import MICROSOFT
from armnn_parser_onnx.model_file import DEFAULT_DOMAINS
from armnn_parser_onnx.tensors import data_type_of, onnx_type_of

if TYPE_CHECKING:
    from collections.abc import Iterable

Types: TypeAlias = Mapping[str, DataType]
"""Data types of values by name."""


def output_types(
    node: onnx.NodeProto,
    schema: onnx.defs.OpSchema,
    opset: int,
    bodies: Bodies,
    types: Types,
) -> list[DataType] | None:
    """Return a node's output types, None if one is unknown.

    Args:
        node: The node.
        schema: Its operator's schema.
        opset: The version of ONNX's operators.
        bodies: The graphs in its attributes.
        types: Of the values that it and the graphs in its attributes read.
    """
    if node.op_type in _OF_BODIES and node.domain in DEFAULT_DOMAINS:
        found = _OF_BODIES[node.op_type](node, opset, bodies, types)
    elif schema.domain == MICROSOFT:
        found = _of_microsoft(node, types)
    else:
        found = _inferred(node, schema, opset, types)
    made = [data_type for name, data_type in zip(node.output, found, strict=False) if name]
    known = [data_type for data_type in made if data_type is not None]
    return known if len(known) == sum(bool(name) for name in node.output) else None


def _inferred(
    node: onnx.NodeProto, schema: onnx.defs.OpSchema, opset: int, types: Types
) -> list[DataType | None]:
    given = {
        name: onnx.helper.make_tensor_type_proto(onnx_type_of(types[name]), None)
        for name in node.input
        if name in types
    }
    try:
        made = onnx.shape_inference.infer_node_outputs(
            schema, node, given, opset_imports=[onnx.helper.make_opsetid("", opset)]
        )
    except Exception:  # its C++ exceptions have no common type of their own
        return []
    return [_data_type(made[name]) if name in made else None for name in node.output]


def _data_type(given: onnx.TypeProto) -> DataType | None:
    try:
        return data_type_of(given.tensor_type.elem_type)
    except ParseError:
        return None


def _of_microsoft(node: onnx.NodeProto, types: Types) -> list[DataType | None]:
    """Return the output types of Microsoft's operators.

    Their schemas infer nothing: the outputs have the type of the first real input.
    """
    given = (types[name] for name in node.input if name in types)
    made = [next((one for one in given if one.is_float), None)] * len(node.output)
    if node.op_type == "EmbedLayerNormalization":
        made[1:2] = [DataType.SIGNED32] * len(made[1:2])  # how many words count
    return made


def _of_if(node: onnx.NodeProto, opset: int, bodies: Bodies, types: Types) -> list[DataType | None]:
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
    node: onnx.NodeProto, opset: int, bodies: Bodies, types: Types
) -> list[DataType | None]:
    states = [types.get(name) for name in node.input[2:]]
    given = (DataType.SIGNED64, DataType.BOOLEAN, *states)
    made = body_output_types(bodies[body_key(node, "body")], given, opset, types)
    return [*states, *made[1 + len(states) :]]


def _of_scan(
    node: onnx.NodeProto, opset: int, bodies: Bodies, types: Types
) -> list[DataType | None]:
    body = bodies[body_key(node, "body")]
    given = [types.get(name) for name in node.input][-len(body.inputs) :]
    return body_output_types(body, given, opset, types)


_OF_BODIES = {"If": _of_if, "Loop": _of_loop, "Scan": _of_scan}


def body_output_types(
    body: Body, given: Sequence[DataType | None], opset: int, types: Types
) -> list[DataType | None]:
    """Return a body's output types, declared or inferred.

    Args:
        body: The body.
        given: The types of its inputs.
        opset: The version of ONNX's operators.
        types: Of the values around it.
    """
    said = [_data_type(output.type) for output in body.outputs]
    if all(data_type is not None for data_type in said):
        return said
    inside = {name: types[name] for name in body.captures if name in types}
    inside |= {name: DataType.from_numpy(data.dtype) for name, data in body.arrays.items()}
    inside |= _known(zip((value.name for value in body.inputs), given, strict=False))
    for node in body.nodes:
        if not _is_known(node, opset):
            continue
        schema = onnx.defs.get_schema(node.op_type, opset, "")
        made = output_types(node, schema, opset, body.bodies, inside)
        if made is not None:
            inside |= dict(zip((name for name in node.output if name), made, strict=True))
    return [inside.get(output.name) for output in body.outputs]


def _known(types: Iterable[tuple[str, DataType | None]]) -> dict[str, DataType]:
    return {name: data_type for name, data_type in types if data_type is not None}


def _is_known(node: onnx.NodeProto, opset: int) -> bool:
    return node.domain in DEFAULT_DOMAINS and onnx.defs.has(
        node.op_type, max_inclusive_version=opset, domain=""
    )
