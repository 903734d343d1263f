# SPDX-License-Identifier: MIT
"""Element types of a node's outputs, without converting it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from armnn.types import DataType
from armnn_parser_onnx.body import Bodies, Body, body_key
from armnn_parser_onnx.declared import element_type_of
from armnn_parser_onnx.domains import DEFAULT_DOMAINS, MICROSOFT
from armnn_parser_onnx.standard import table
from armnn_parser_onnx.standard.schema import Schema
from armnn_parser_onnx.type_inference import data_type_or_none, inferred_types
from armnn_parser_onnx.wire import messages

Types: TypeAlias = Mapping[str, DataType]
"""Data types of values by name."""


def output_types(
    node: messages.Node,
    schema: Schema,
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
        found = inferred_types(node, schema, types)
    made = [data_type for name, data_type in zip(node.output, found, strict=False) if name]
    known = [data_type for data_type in made if data_type is not None]
    return known if len(known) == sum(bool(name) for name in node.output) else None


def _of_microsoft(node: messages.Node, types: Types) -> list[DataType | None]:
    """Return the output types of Microsoft's operators.

    Their schemas infer nothing: the outputs have the type of the first real input.
    """
    given = (types[name] for name in node.input if name in types)
    made = [next((one for one in given if one.is_float), None)] * len(node.output)
    if node.op_type == "EmbedLayerNormalization":
        made[1:2] = [DataType.SIGNED32] * len(made[1:2])  # how many words count
    return made


def _of_if(node: messages.Node, opset: int, bodies: Bodies, types: Types) -> list[DataType | None]:
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
    node: messages.Node, opset: int, bodies: Bodies, types: Types
) -> list[DataType | None]:
    states = [types.get(name) for name in node.input[2:]]
    given = (DataType.SIGNED64, DataType.BOOLEAN, *states)
    made = body_output_types(bodies[body_key(node, "body")], given, opset, types)
    return [*states, *made[1 + len(states) :]]


def _of_scan(
    node: messages.Node, opset: int, bodies: Bodies, types: Types
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
    declared = [data_type_or_none(element_type_of(output)) for output in body.outputs]
    if all(data_type is not None for data_type in declared):
        return declared
    inside = {name: types[name] for name in body.captures if name in types}
    inside |= {name: DataType.from_numpy(data.dtype) for name, data in body.arrays.items()}
    inside |= _known(zip((value.name for value in body.inputs), given, strict=False))
    for node in body.nodes:
        schema = table.find(node.op_type, opset) if node.domain in DEFAULT_DOMAINS else None
        if schema is None:
            continue
        made = output_types(node, schema, opset, body.bodies, inside)
        if made is not None:
            inside |= dict(zip((name for name in node.output if name), made, strict=True))
    return [inside.get(output.name) for output in body.outputs]


def _known(types: Iterable[tuple[str, DataType | None]]) -> dict[str, DataType]:
    return {name: data_type for name, data_type in types if data_type is not None}
