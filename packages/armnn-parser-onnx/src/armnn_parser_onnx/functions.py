# SPDX-License-Identifier: MIT
"""Operators defined by nodes of others: by the standard, by onnxruntime, or by the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from armnn.errors import ParseError
from armnn.graph import Operators
from armnn.parsing.conversion import RefusedError
from armnn_parser_onnx.body import body_outputs
from armnn_parser_onnx.definitions import definition_of
from armnn_parser_onnx.messages import (
    Attribute,
    Function,
    Graph,
    Model,
    Node,
    Type,
    encoded,
    make_attribute,
)
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.schemas import MICROSOFT, Schema, standard_functions

_DEFINED_HERE = ("QLinearConv", "QLinearMatMul")
"""The operators of ONNX that are defined here, as all of onnxruntime are that none converts."""


def has_body(schema: Schema) -> bool:
    """Return whether an unconverted operator is defined by others."""
    return bool(schema.body) or _is_defined_here(schema)


def _is_defined_here(schema: Schema) -> bool:
    return schema.domain == MICROSOFT or schema.name in _DEFINED_HERE


def body_of(
    node: Node, schema: Schema, types: Callable[[], Sequence[Type]], opset: int
) -> tuple[list[Node], int]:
    """Return the nodes that define a node, and their opset.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: Returns the types of its inputs, an empty one for an absent input.
        opset: The opset of the model.

    Raises:
        ParseError: ONNX has no definition for these attributes and types.
    """
    function = _definition(node, schema, types, opset)
    if not function.node:
        raise ParseError("ONNX does not define it for these inputs")
    defaults = {
        name: make_attribute(name, rule.default, rule.type)
        for name, rule in schema.attributes.items()
        if rule.default is not None
    }
    versions = [entry.version for entry in function.opset_import if not entry.domain]
    return called(function, node, defaults), versions[0] if versions else opset


def _definition(
    node: Node, schema: Schema, types: Callable[[], Sequence[Type]], opset: int
) -> Function:
    if _is_defined_here(schema):
        return definition_of(node, schema)
    if schema.body == "context":
        return _context_function(node, schema, types(), opset)
    found = standard_functions(schema.name)
    return max((each for each in found if each[0] <= opset), key=lambda each: each[0])[1]


def called(function: Function, node: Node, defaults: Mapping[str, Attribute]) -> list[Node]:
    """Return a function's nodes with a call's names and attributes.

    Args:
        function: The function.
        node: The node that calls it.
        defaults: The values of attributes that the node lacks.
    """
    attributes = {**defaults, **{attribute.name: attribute for attribute in node.attribute}}
    scope = next((name for name in node.output if name), node.op_type)
    names = {"": ""}
    names |= dict(zip(function.input, node.input, strict=False))
    names |= dict.fromkeys(function.input[len(node.input) :], "")
    names |= {
        inner: outer for inner, outer in zip(function.output, node.output, strict=False) if outer
    }
    return [_renamed(inner, names, attributes, scope) for inner in function.node]


def _renamed(
    node: Node, names: Mapping[str, str], attributes: Mapping[str, Attribute], scope: str
) -> Node:
    """Return a body's node with the caller's names.

    Values made in the body get names of their own.
    """
    given = [_attribute(attribute, names, attributes, scope) for attribute in node.attribute]
    return node.replaced(
        name=f"{scope}/{node.name}" if node.name else "",
        input=[names.get(name, f"{scope}/{name}") for name in node.input],
        output=[names.get(name, f"{scope}/{name}") for name in node.output],
        attribute=[attribute for attribute in given if attribute is not None],
    )


def _attribute(
    attribute: Attribute,
    names: Mapping[str, str],
    attributes: Mapping[str, Attribute],
    scope: str,
) -> Attribute | None:
    """Return an attribute with the call's value, None without one."""
    if attribute.ref_attr_name:
        given = attributes.get(attribute.ref_attr_name)
        return None if given is None else given.replaced(name=attribute.name)
    if attribute.g is None:
        return attribute
    return attribute.replaced(g=_with_captures(attribute.g, names, attributes, scope))


def _with_captures(
    graph: Graph, names: Mapping[str, str], attributes: Mapping[str, Attribute], scope: str
) -> Graph:
    """Return a nested graph with the caller's names for captures."""
    inside = {**names, **{name: name for name in body_outputs(graph)}}
    nodes = [
        _renamed(node, inside, attributes, scope).replaced(name=node.name) for node in graph.node
    ]
    outputs = [
        output.replaced(name=inside.get(output.name, f"{scope}/{output.name}"))
        for output in graph.output
    ]
    return graph.replaced(node=nodes, output=outputs)


CONTEXT_OPERATORS = (
    "Bernoulli",
    "CausalConvWithState",
    "CenterCropPad",
    "FlexAttention",
    "LinearAttention",
    "NegativeLogLikelihoodLoss",
    "SoftmaxCrossEntropyLoss",
)
"""The operators that are defined so and have no converter."""


def _context_function(node: Node, schema: Schema, types: Sequence[Type], opset: int) -> Function:
    """Return the function that defines a node of these attributes and types.

    Args:
        node: The node.
        schema: Its operator's schema.
        types: The types of its inputs, an empty one for an absent input.
        opset: The opset of the model.

    Raises:
        ParseError: There is no definition.
        RefusedError: The package ``onnx`` is not installed.
    """
    try:
        import onnx  # late: an optional dependency
    except ImportError as error:
        raise RefusedError(
            "its definition depends on its attributes and types, and only the package onnx has "
            f"it, which cannot be imported ({error}): pip install onnx"
        ) from error
    # Its stub lacks the methods for functions.
    found: Any = onnx.defs.get_schema(schema.name, max(opset, schema.since), schema.domain)
    versions = [v for v in found.context_dependent_function_opset_versions if v <= opset]
    try:
        data: bytes = found.get_context_dependent_function_with_opset_version(
            max(versions, default=opset), encoded(node), [encoded(each) for each in types]
        )
    except Exception as error:  # its C++ exceptions have no common type of their own
        raise ParseError(f"ONNX does not define it for these inputs: {error}") from error
    return Function.at(Span(data, 0, len(data)), schema.name)


_MOST_NODES = 2**18
"""How many nodes the functions of a model may become in all."""

_DEEPEST = 64

_Key = tuple[str, str, str]
_Calls = dict[_Key, list[_Key]]


def with_functions_inlined(model: Model, graph: Graph, operators: Operators) -> Graph:
    """Return a graph with the functions' nodes instead of calls.

    A function for another version of the operators than the model's is left: no layer computes it.

    Args:
        model: Has the functions.
        graph: The model's graph.
        operators: Finds the operators that the program defines.

    Raises:
        ParseError: A function calls itself, or the nodes would be too many.
    """
    versions = {entry.domain: entry.version for entry in model.opset_import}
    functions = {
        (each.domain, each.name, each.overload): each
        for each in model.functions
        if all(versions.setdefault(e.domain, e.version) == e.version for e in each.opset_import)
    }
    for key in [*functions]:
        registered = operators(*key[:2])
        if registered is not None and not registered.replaces:
            raise ParseError(
                f"the program registered {registered}, and the model defines it, too: "
                "register_operator(replace=True) takes the program's function, "
                "unregister_operator() the model's"
            )
        if registered is not None:
            del functions[key]
    _check_calls(functions.values(), graph)
    return _inlined_graph(graph, functions)


def _key(node: Node) -> _Key:
    return node.domain, node.op_type, node.overload


def _inlined_graph(graph: Graph, functions: Mapping[_Key, Function]) -> Graph:
    return graph.replaced(node=[*_inlined(graph.node, functions)])


def _inlined(nodes: Iterable[Node], functions: Mapping[_Key, Function]) -> Iterator[Node]:
    for node in nodes:
        if _key(node) in functions:
            function = functions[_key(node)]
            defaults = {attribute.name: attribute for attribute in function.attribute_proto}
            yield from _inlined(called(function, node, defaults), functions)
        elif any(attribute.g is not None for attribute in node.attribute):
            yield node.replaced(
                attribute=[
                    each if each.g is None else each.replaced(g=_inlined_graph(each.g, functions))
                    for each in node.attribute
                ]
            )
        else:
            yield node


def _check_calls(functions: Iterable[Function], graph: Graph) -> None:
    calls: _Calls = {
        (function.domain, function.name, function.overload): [
            _key(node) for node in _nodes(function.node)
        ]
        for function in functions
    }
    sizes: dict[_Key, int] = {}
    for name in calls:
        _count(name, calls, sizes, ())
    total = sum(sizes.get(_key(node), 1) for node in _nodes(graph.node))
    if total > _MOST_NODES:
        raise ParseError(
            f"the functions of the model become {total} nodes: expected at most {_MOST_NODES}"
        )


def _count(
    name: _Key, calls: Mapping[_Key, list[_Key]], sizes: dict[_Key, int], callers: tuple[_Key, ...]
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
        sizes[name] = sum(_count(each, calls, sizes, (*callers, name)) for each in calls[name])
    return sizes[name]


def _nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes and those of the graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([] if attribute.g is None else [attribute.g])):
                yield from _nodes(graph.node)
