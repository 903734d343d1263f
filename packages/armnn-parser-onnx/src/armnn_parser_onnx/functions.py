# SPDX-License-Identifier: MIT
"""Functions as nodes: a model's own, and ONNX's without converter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import onnx
from onnx import inliner

from armnn.errors import ParseError
from armnn_parser_onnx.definitions import definition_of, has_definition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_NODES = 2**18
"""How many nodes the functions of a model may become in all."""

_Calls = dict[tuple[str, str], list[tuple[str, str]]]


def with_functions_inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace calls of the model's functions by the functions' nodes.

    Raises:
        ParseError: A function calls itself, the nodes would be too many, or onnx cannot do it.
    """
    if not model.functions:
        return model
    _check_calls(model)
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # its C++ exceptions have no common type of their own
        raise ParseError(f"the functions of the model cannot be inlined: {error}") from error


def has_body(schema: Any) -> bool:
    """Return whether an operator is defined by others.

    The schema's stub lacks the method for that.
    """
    return has_definition(schema) or bool(
        schema.has_function or schema.has_context_dependent_function
    )


def body_of(
    node: onnx.NodeProto, schema: Any, types: Sequence[onnx.TypeProto], opset: int
) -> tuple[list[onnx.NodeProto], int]:
    """Return the nodes that define a node, and their opset.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: The types of its inputs, an empty one for an absent input.
        opset: The opset of the model.

    Raises:
        ParseError: ONNX has no definition for these attributes and types.
    """
    try:
        function = _definition(node, schema, types, opset)
    except Exception as error:  # its C++ exceptions have no common type of their own
        raise ParseError(f"ONNX does not define it for these inputs: {error}") from error
    if not function.node:
        raise ParseError("ONNX does not define it for these inputs")
    attributes = {attribute.name: attribute for attribute in node.attribute}
    for name, declared in schema.attributes.items():
        if declared.default_value.type and name not in attributes:
            attributes[name] = declared.default_value
    scope = next((name for name in node.output if name), node.op_type)
    names = {"": ""}
    names |= dict(zip(function.input, node.input, strict=False))
    names |= dict.fromkeys(function.input[len(node.input) :], "")
    names |= {
        inner: outer for inner, outer in zip(function.output, node.output, strict=False) if outer
    }
    nodes = [_renamed(inner, names, attributes, scope) for inner in function.node]
    versions = [entry.version for entry in function.opset_import if not entry.domain]
    return nodes, versions[0] if versions else opset


def _definition(
    node: onnx.NodeProto, schema: Any, types: Sequence[onnx.TypeProto], opset: int
) -> onnx.FunctionProto:
    if has_definition(schema):
        return definition_of(node, schema)
    function = onnx.FunctionProto()
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= opset]
        text = (
            schema.get_function_with_opset_version(max(versions))
            if versions
            else schema.function_body.SerializeToString()
        )
        function.ParseFromString(text)
        return function
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    text = schema.get_context_dependent_function_with_opset_version(
        max(versions, default=opset),
        node.SerializeToString(),
        [each.SerializeToString() for each in types],
    )
    function.ParseFromString(text)
    return function


def _renamed(
    node: onnx.NodeProto,
    names: dict[str, str],
    attributes: Mapping[str, onnx.AttributeProto],
    scope: str,
) -> onnx.NodeProto:
    """Return a body's node with the caller's names.

    Values made in the body get names of their own.
    """
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = f"{scope}/{node.name}" if node.name else ""
    copy.input[:] = [names.get(name, f"{scope}/{name}") for name in node.input]
    copy.output[:] = [names.get(name, f"{scope}/{name}") for name in node.output]
    del copy.attribute[:]
    for attribute in node.attribute:
        given = attribute
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in attributes:
                continue
            given = attributes[attribute.ref_attr_name]
        copy.attribute.append(given)
        copy.attribute[-1].name = attribute.name
        if given is attribute and attribute.HasField("g"):
            _rename_captures(copy.attribute[-1].g, names, attributes, scope)
    return copy


def _rename_captures(
    graph: onnx.GraphProto,
    names: dict[str, str],
    attributes: Mapping[str, onnx.AttributeProto],
    scope: str,
) -> None:
    """Give a nested graph the caller's names for captured values."""
    made = [value.name for value in (*graph.input, *graph.initializer)]
    made += [name for node in graph.node for name in node.output]
    inside = names | {name: name for name in made}
    nodes = []
    for node in graph.node:
        renamed = _renamed(node, inside, attributes, scope)
        renamed.name = node.name
        nodes.append(renamed)
    del graph.node[:]
    graph.node.extend(nodes)
    for output in graph.output:
        output.name = inside.get(output.name, f"{scope}/{output.name}")


def _check_calls(model: onnx.ModelProto) -> None:
    calls: _Calls = {
        (function.domain, function.name): [
            (node.domain, node.op_type) for node in _nodes(function.node)
        ]
        for function in model.functions
    }
    sizes: dict[tuple[str, str], int] = {}
    for name in calls:
        _count(name, calls, sizes, ())
    total = sum(sizes.get((node.domain, node.op_type), 1) for node in _nodes(model.graph.node))
    if total > _MOST_NODES:
        raise ParseError(
            f"the functions of the model become {total} nodes: expected at most {_MOST_NODES}"
        )


def _count(
    name: tuple[str, str],
    calls: Mapping[tuple[str, str], list[tuple[str, str]]],
    sizes: dict[tuple[str, str], int],
    callers: tuple[tuple[str, str], ...],
) -> int:
    """Return how many nodes a function becomes."""
    if name not in calls:
        return 1
    if name in callers or len(callers) > _DEEPEST:
        raise ParseError(
            f"the function {name[1]!r} of the domain {name[0]!r} calls itself or is called "
            f"through more than {_DEEPEST} others"
        )
    if name not in sizes:
        sizes[name] = sum(_count(called, calls, sizes, (*callers, name)) for called in calls[name])
    return sizes[name]


_DEEPEST = 64


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes and those of the graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph.node)
