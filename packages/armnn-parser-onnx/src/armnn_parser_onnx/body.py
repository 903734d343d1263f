# SPDX-License-Identifier: MIT
"""Bodies of If, Loop and Scan, prepared for repeated conversion.

A body is a graph in an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from armnn.errors import ParseError
from armnn_parser_onnx.messages import TENSOR, Graph, Node, Tensor, ValueInfo
from armnn_parser_onnx.tensors import ExternalData, to_array

Bodies: TypeAlias = "dict[tuple[str, str], Body]"
"""The graphs in attributes of the nodes of a graph, by the node's first output and the attribute's
name."""


class Body:
    """A graph in an attribute; its tensors are decoded once.

    All uses share the tensors. It keeps nothing of the file's message, so that this can be freed.

    Attributes:
        inputs: The values that it is given, in order.
        outputs: The values that it makes, in order.
        nodes: The nodes that an output depends on, in the order of the file.
        arrays: The data of its initializers and of its constant nodes, by name.
        bodies: The graphs in attributes of its own nodes.
        captures: The names that it reads and does not make: values of the graphs around it.

    Raises:
        ParseError: A tensor is malformed, or two nodes make a value of one name.
    """

    def __init__(self, proto: Graph, external_data: ExternalData) -> None:
        if proto.sparse_initializer:
            raise ParseError(f"the graph {proto.name!r} has sparse initializers: store them dense")
        self.name = proto.name
        self.inputs: tuple[ValueInfo, ...] = tuple(proto.input)
        self.outputs: tuple[ValueInfo, ...] = tuple(proto.output)
        self.arrays = {tensor.name: to_array(tensor, external_data) for tensor in proto.initializer}
        live = live_nodes(proto)
        self.bodies = bodies_of(live, external_data)
        self.nodes: list[Node] = []
        for node in live:
            tensor = tensor_of(node)
            if tensor is not None:
                self.arrays[node.output[0]] = to_array(tensor, external_data)
            else:
                self.nodes.append(light_copy(node))
        self.captures = self._captures()

    def _captures(self) -> tuple[str, ...]:
        made = {value.name for value in self.inputs} | self.arrays.keys()
        made.update(name for node in self.nodes for name in node.output)
        read = [name for node in self.nodes for name in names_read(node, self.bodies)]
        read += [value.name for value in self.outputs]
        return tuple(dict.fromkeys(name for name in read if name and name not in made))


def bodies_of(nodes: Iterable[Node], external_data: ExternalData) -> Bodies:
    """Return the graphs in the attributes of nodes, decoded."""
    return {
        body_key(node, attribute.name): Body(attribute.g, external_data)
        for node in nodes
        for attribute in node.attribute
        if attribute.g is not None
    }


def body_key(node: Node, attribute: str) -> tuple[str, str]:
    """Return where :data:`Bodies` has a graph."""
    return next((name for name in node.output if name), ""), attribute


def names_read(node: Node, bodies: Bodies) -> Sequence[str]:
    """Return the names that a node and its graphs read."""
    if not bodies:  # as in nearly every model
        return node.input
    held = (bodies.get(body_key(node, attribute.name)) for attribute in node.attribute)
    return [*node.input, *(name for body in held if body is not None for name in body.captures)]


def live_nodes(graph: Graph) -> list[Node]:
    """Return the nodes an output depends on, in executable order.

    The order is that of the file where possible. ONNX wants a node after those that it reads;
    onnxruntime takes any order, and tools write it.

    Raises:
        ParseError: Two nodes make a value of one name.
    """
    producers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        for name in node.output:
            if name and producers.setdefault(name, index) != index:
                raise ParseError(
                    f"{described(node)}: the value {name!r} is already made by "
                    f"{described(graph.node[producers[name]])}"
                )
    wanted: list[str] = [output.name for output in graph.output]
    live: dict[int, list[int]] = {}
    while wanted:
        index = producers.get(wanted.pop(), -1)
        if index >= 0 and index not in live:
            names = list(_mentioned(graph.node[index]))
            live[index] = [producers[name] for name in names if name in producers]
            wanted.extend(names)
    return [graph.node[index] for index in _in_order(live)]


def body_outputs(graph: Graph) -> list[str]:
    """Return the names that a graph makes, or is given."""
    made = [value.name for value in (*graph.input, *graph.initializer)]
    return made + [name for node in graph.node for name in node.output]


def _in_order(reads: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the nodes in topological order.

    Of those that may be next, the first is taken; nodes of a cycle are last.
    """
    order = sorted(reads)
    if all(max(reads[index], default=-1) < index for index in order):
        return order  # as nearly every tool writes them
    waits = {index: set(read) for index, read in reads.items()}
    readers: dict[int, list[int]] = {index: [] for index in reads}
    for index, read in waits.items():
        for other in sorted(read):
            readers[other].append(index)
    ready = sorted(index for index, read in waits.items() if not read)
    order = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for reader in readers[index]:
            waits[reader].discard(index)
            if not waits[reader]:
                heappush(ready, reader)
    return order + sorted(reads.keys() - set(order))


def described(node: Node) -> str:
    """Return how messages name a node."""
    return describe_node(node.op_type, node.name, tuple(node.output))


def light_copy(node: Node) -> Node:
    """Return a node's copy with empty graphs in its attributes."""
    attributes = [
        attribute if attribute.g is None else attribute.replaced(g=Graph())
        for attribute in node.attribute
    ]
    return node.replaced(attribute=attributes)


def _mentioned(node: Node) -> Iterator[str]:
    """Yield every name a node or its graphs could read."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.g is not None:
            for inner in attribute.g.node:
                yield from _mentioned(inner)
            yield from (value.name for value in attribute.g.output)


def tensor_of(node: Node) -> Tensor | None:
    """Return a valid Constant's tensor, None for another node."""
    if node.op_type != "Constant" or node.domain or node.input or len(node.attribute) != 1:
        return None
    (attribute,) = node.attribute
    is_valid = (
        attribute.name == "value"
        and attribute.type == TENSOR
        and not attribute.ref_attr_name
        and len(node.output) == 1
        and bool(node.output[0])
    )
    return attribute.t if is_valid else None


def describe_node(op_type: str, name: str, outputs: tuple[str, ...]) -> str:
    """Return a node's name for messages.

    It is its name, else its first output.
    """
    named = f"node {name!r}" if name else f"node of the output {outputs[0] if outputs else ''!r}"
    return f"{named} ({op_type})"
