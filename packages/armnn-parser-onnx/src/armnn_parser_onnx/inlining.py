# SPDX-License-Identifier: MIT
"""Calls of a model's functions, replaced by the functions' nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from armnn.errors import ParseError
from armnn_parser_onnx.functions import called
from armnn_parser_onnx.wire.messages import Function, Graph, Model, Node

_MOST_NODES = 2**18
"""How many nodes the functions of a model may become in all."""

_DEEPEST = 64

_Key = tuple[str, str, str]
_Calls = dict[_Key, list[_Key]]


def with_functions_inlined(model: Model, graph: Graph) -> Graph:
    """Return a graph with the functions' nodes instead of calls.

    A function for another version of the operators than the model's is left: no layer computes it.

    Args:
        model: Has the functions.
        graph: The model's graph.

    Raises:
        ParseError: A function calls itself, or the nodes would be too many.
    """
    versions = {entry.domain: entry.version for entry in model.opset_import}
    functions = {
        (each.domain, each.name, each.overload): each
        for each in model.functions
        if all(versions.setdefault(e.domain, e.version) == e.version for e in each.opset_import)
    }
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
        sizes[name] = sum(_count(called, calls, sizes, (*callers, name)) for called in calls[name])
    return sizes[name]


def _nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes and those of the graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*attribute.graphs, *([] if attribute.g is None else [attribute.g])):
                yield from _nodes(graph.node)
