# SPDX-License-Identifier: MIT
"""Families of graphs, by how their layers are connected."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from armnn_conformance.graphs._draw import Draw
from armnn_conformance.graphs._graph import Graph, GraphNode, GraphValue
from armnn_conformance.graphs.builder import DATA_TYPES, Builder
from armnn_conformance.graphs.claims import SHAPES
from armnn_conformance.operands import decode, store

if TYPE_CHECKING:
    from armnn.types import DataType
    from armnn_conformance.cases import LayerCase
    from armnn_conformance.graphs.claims import Claims

_TYPES_DRAWN = 2
_LENGTH = 4
_LARGE = ((2, 40, 36, 8), (512, 48), (16, 32, 48), (24000,))
_LARGE_LIMIT = 60000
_LARGE_CONSTANT = 5000
"""Elements: a backend may copy a small constant and keep a large one."""


Family: TypeAlias = Callable[[Builder], None]


def _chain(b: Builder) -> None:
    x = b.input()
    for _ in range(_LENGTH):
        following = b.after(x)
        x = x if following is None else following


def _diamond(b: Builder) -> None:
    top = b.after(b.input())
    x = b.join(b.same_shape(top), b.same_shape(top))
    b.after(x)


def _fan_out(b: Builder) -> None:
    x = b.after(b.input())
    for _ in range(3):
        b.after(b.after(x))


def _intermediate(b: Builder) -> None:
    x = b.input()
    for _ in range(_LENGTH):
        x = b.after(x) or x
        b.show(x if x not in b.graph.inputs else None)


def _input_is_output(b: Builder) -> None:
    x = b.input()
    b.show(x)
    b.after(b.after(x))


def _repeated_input(b: Builder) -> None:
    x = b.input()
    y = b.after(x)
    b.after(b.join(y, y))
    b.join(x, x)


def _shared_constant(b: Builder) -> None:
    x = b.input()
    for _ in range(3 * _LENGTH):
        y = b.after(x)
        if y is None:
            return
        node = b.graph.nodes[-1]
        if any(value is not None and value.constant for value in node.inputs):
            b.again(node, b.same_shape(x))
            b.again(node, y)
            b.again(node, x)
            return
        b.graph.nodes.pop()


def _large_constant(b: Builder) -> None:
    x = b.input()
    for _ in range(8 * _LENGTH):
        y = b.after(x)
        if y is None:
            return
        sizes = [v.real.size for v in b.graph.nodes[-1].inputs if v is not None and v.constant]
        if max(sizes, default=0) >= _LARGE_CONSTANT:
            b.after(y)
            return
        b.graph.nodes.pop()


def _several_outputs(b: Builder) -> None:
    first, second = b.input(), b.input()
    x, y = b.after(first), b.after(second)
    b.show(b.after(y), x, b.after(x))
    b.join(x, y)


FAMILIES: Final[dict[str, tuple[Family, int]]] = {
    "chain": (_chain, 3),
    "diamond": (_diamond, 2),
    "fan-out": (_fan_out, 2),
    "intermediate outputs": (_intermediate, 2),
    "an input as output": (_input_is_output, 1),
    "a repeated input": (_repeated_input, 2),
    "a shared constant": (_shared_constant, 3),
    "several inputs and outputs": (_several_outputs, 2),
    "odd sizes": (_chain, 3),
    "any batch": (_chain, 2),
}
"""The families, each with how many graphs are drawn of it for a data type."""

EVERY_LAYER: Final = "every layer"
ANY_BATCH: Final = "any batch"
BEHIND_CASES: Final = "behind cases"
IN_THREADS: Final = "in threads"
STORED: Final = "stored"
ALL_FAMILIES: Final = (*FAMILIES, EVERY_LAYER, BEHIND_CASES, STORED, IN_THREADS)
"""The families, and what else is done with graphs."""

_SHAPES_OF: Final = {
    "odd sizes": ((1, 1, 1, 1), (1, 7, 1, 3), (3, 1, 5, 1), (1, 1), (13, 1), (1, 11, 1), (1,)),
    ANY_BATCH: tuple(shape for shape in SHAPES if len(shape) > 1),
}
"""The inputs' shapes of families that do not have the usual ones."""


def graphs_of(family: str, claims: Claims) -> Iterator[Graph]:
    """Yield a family's graphs of at least two claimed layers."""
    types = claimed_types(claims)
    for data_type in types:
        if family == EVERY_LAYER:
            drawn = _every_layer(claims, data_type)
        else:
            make, count = FAMILIES[family]
            count = count if data_type is types[0] else 1
            shapes = _SHAPES_OF.get(family, SHAPES)
            drawn = (
                _drawn(family, make, number, claims, data_type, shapes=shapes)
                for number in range(count)
            )
        yield from (graph for graph in drawn if len(graph.nodes) > 1)


def large_graphs(claims: Claims) -> Iterator[Graph]:
    """Yield graphs whose layers take a while, for threads."""
    for data_type in claimed_types(claims)[:1]:
        for family in ("chain", "diamond"):
            make, number = FAMILIES[family][0], _LENGTH
            shapes, limit = _LARGE, _LARGE_LIMIT
            yield _drawn(family, make, number, claims, data_type, shapes=shapes, limit=limit)


def graph_with_large_constant(claims: Claims) -> Graph | None:
    """Return a claimed graph with a large constant, if any."""
    for data_type in claimed_types(claims)[:1]:
        shapes, limit = _LARGE, _LARGE_LIMIT
        name, make = "a large constant", _large_constant
        graph = _drawn(name, make, 0, claims, data_type, shapes=shapes, limit=limit)
        return graph if graph.nodes else None
    return None


def graphs_behind(cases: Iterable[LayerCase], claims: Claims) -> Iterator[Graph]:
    """Yield graphs of two cases with claimed layers behind them."""
    for number, some in enumerate(_pairs(case for case in cases if _is_exact(case))):
        graph = Graph(f"cases {number} {some[0].data_type.arm_name}")
        builder = Builder(graph, claims, Draw(some[0].data_type, seed_of("cases", number)))
        for case in some:
            node = _node_of(case)
            graph.inputs += [v for v in node.inputs if v is not None and not v.constant]
            graph.nodes.append(node)
            builder.after(node.outputs[0])
        builder.show(*(output for node in graph.nodes for output in node.outputs))
        if len(graph.nodes) > 1:
            yield graph


def claimed_types(claims: Claims) -> list[DataType]:
    """Return the data types that graphs are drawn of."""
    found: list[DataType] = []
    for data_type in DATA_TYPES:
        if len(found) < _TYPES_DRAWN and any(claims.some_read(data_type, r) for r in (4, 2, 3, 1)):
            found.append(data_type)
    return found


def seed_of(family: str, number: int) -> list[int]:
    """Return the seed of a graph, the same each time."""
    return [zlib.crc32(family.encode()), number]


def _drawn(
    family: str, make: Family, number: int, claims: Claims, data_type: DataType, **how: Any
) -> Graph:
    graph = Graph(f"{family} {number} {data_type.arm_name}")
    draw = Draw(data_type, seed_of(family, number))
    builder = Builder(graph, claims, draw, any_batch=family == ANY_BATCH, **how)
    make(builder)
    builder.show_the_rest()
    return graph


def _every_layer(claims: Claims, data_type: DataType) -> Iterator[Graph]:
    """Yield graphs that together contain every claimed layer type."""
    waiting, number = list(claims.layers), 0
    while waiting:
        graph = Graph(f"{EVERY_LAYER} {number} {data_type.arm_name}")
        builder = Builder(graph, claims, Draw(data_type, seed_of(EVERY_LAYER, number)))
        x = builder.input()
        some, waiting, number = waiting[:_LENGTH], waiting[_LENGTH:], number + 1
        for layer in some:
            x = builder.after(x, layer) or _on_its_own(builder, layer) or x
        if len(graph.nodes) == 1:
            builder.after(x)
        builder.show_the_rest()
        yield graph


def _on_its_own(builder: Builder, layer: str) -> GraphValue | None:
    """Add a layer behind an input of its own."""
    for _ in SHAPES:
        x = builder.input()
        made = builder.after(x, layer)
        if made is not None:
            return made
        builder.graph.inputs.pop()
    return None


def _pairs(cases: Iterable[LayerCase]) -> Iterator[list[LayerCase]]:
    """Yield two cases at a time, at the end one."""
    rest = iter(cases)
    while some := list(itertools.islice(rest, 2)):
        yield some


def _is_exact(case: LayerCase) -> bool:
    """Return whether all expected elements are finite."""
    return not case.open_outputs and all(
        np.isfinite(expected.astype(np.float64)).all() for expected in case.expected
    )


def _node_of(case: LayerCase) -> GraphNode:
    inputs = [
        None if v is None else GraphValue(v.info, v.real, 0.0, v.stored, v.constant)
        for v in case.inputs
    ]
    outputs = []
    for info, expected in zip(case.outputs, case.expected, strict=True):
        real = expected.astype(np.float64)
        error = case.tolerance.atol + case.tolerance.rtol * float(np.abs(real).max(initial=0.0))
        if info.is_quantized:
            error = (case.tolerance.steps + 0.5) * float(np.max(info.scales))
        elif not info.data_type.is_float:
            error = 0.0
        known = info.with_shape(expected.shape)
        outputs.append(GraphValue(known, decode(store(expected, known), known), error))
    return GraphNode(case.layer, case.descriptor, tuple(inputs), tuple(outputs), None)
