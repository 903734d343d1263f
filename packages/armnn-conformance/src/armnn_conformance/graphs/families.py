# SPDX-License-Identifier: MIT
"""Families of random graphs of the layers that a backend claims."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from armnn.single_layer import prepare
from armnn.types import DataType
from armnn_conformance.cases import LayerCase
from armnn_conformance.graphs._graph import (
    Draw,
    Graph,
    GraphNode,
    GraphValue,
    LayerDraw,
    candidates_of,
    computed,
    drawn_layers,
)
from armnn_conformance.graphs.elementwise import joined
from armnn_conformance.graphs.reshaping import concatenated
from armnn_conformance.operands import decode, store
from armnn_conformance.subject import Subject

SHAPES: Final = ((1, 5, 7, 3), (2, 4, 6, 4), (3, 6), (2, 3, 5), (7,))
"""Inputs of graphs: sizes that differ, odd ones among them."""

_REFUSALS: Final = 3
"""After which a layer type is not asked about again, for a data type and rank."""


class Claims:
    """A backend's answers about drawn layers, asked on demand.

    Attributes:
        subject: The backend.
        layers: The layer types of which graphs are drawn.
    """

    def __init__(
        self, subject: Subject, layers: Iterable[str], announce: Callable[[str], None]
    ) -> None:
        """Ask later.

        Args:
            subject: The backend.
            layers: The layer types of which graphs may be made.
            announce: Is told what is asked, in case the backend crashes.
        """
        wanted = dict.fromkeys(layers)
        self.subject = subject
        self.layers = [layer for layer in drawn_layers() if layer in wanted]
        self._announce = announce
        self._refusals: dict[tuple[str, DataType, int], int] = {}
        self._claimed: dict[tuple[str, DataType, int], None] = {}
        self._read: dict[tuple[DataType, int], bool] = {}

    def may_read(self, layer: str, data_type: DataType, rank: int) -> bool:
        """Return whether it is worth asking about a layer type."""
        key = layer, data_type, rank
        return key in self._claimed or self._refusals.get(key, 0) < _REFUSALS

    def some_read(self, data_type: DataType, rank: int) -> bool:
        """Return whether some claimed layer reads such a value."""
        key = data_type, rank
        if key not in self._read:
            self._read[key] = any(self._reads(layer, *key) for layer in self.layers)
        return self._read[key]

    def node(self, made: LayerDraw) -> GraphNode | None:
        """Return a candidate with computed outputs, None if refused."""
        read = next(v for v in made.operands if v is not None and not v.constant)
        key = made.layer, read.info.data_type, len(read.shape)
        infos = [read.info.data_type if made.info is None else made.info] * made.outputs
        outputs = computed(made.oracle, made.operands, infos)
        node = GraphNode(made.layer, made.descriptor, made.operands, outputs, made.oracle)
        if not self._takes(node):
            self._refusals[key] = self._refusals.get(key, 0) + 1
            return None
        self._claimed[key] = None
        return node

    def _takes(self, node: GraphNode) -> bool:
        operands = dict.fromkeys(v for v in node.inputs if v is not None and not v.constant)
        alone = Graph(f"{node.layer} alone", [node], list(operands), list(node.outputs))
        self._announce(str(alone))
        return bool(self.subject.supports(prepare(alone.network(), f"0 {node.layer}")))

    def _reads(self, layer: str, data_type: DataType, rank: int) -> bool:
        draw = Draw(data_type, [zlib.crc32(layer.encode()), rank])
        for shape in (shape for shape in SHAPES if len(shape) == rank):
            value = draw.input(shape)
            for _ in range(_REFUSALS):
                if not self.may_read(layer, data_type, rank):
                    return False
                for each in candidates_of(layer, draw, value):
                    if self.node(each) is not None:
                        return True
        return False


DATA_TYPES: Final = (
    DataType.FLOAT32,
    DataType.QASYMM_S8,
    DataType.QASYMM_U8,
    DataType.FLOAT16,
    DataType.QSYMM_S16,
    DataType.BFLOAT16,
    DataType.FLOAT64,
)
"""The layers that graphs are drawn of; the first two that a backend claims."""

_GROWTH_LIMIT: Final = 4000
"""Elements of a value that may be read; larger ones would take long."""

_SHAPE_TRIES: Final = 4


class Builder:
    """Grows one graph.

    Attributes:
        graph: The graph so far.
    """

    def __init__(
        self,
        graph: Graph,
        claims: Claims,
        draw: Draw,
        *,
        shapes: Sequence[Sequence[int]] = SHAPES,
        any_batch: bool = False,
        limit: int = _GROWTH_LIMIT,
    ) -> None:
        """Start with an empty graph.

        Args:
            graph: The graph to grow.
            claims: The layers that the backend claims.
            draw: The source of operands.
            shapes: The shapes of inputs.
            any_batch: Whether the layers must take inputs of another batch.
            limit: Elements of a value that layers may read.
        """
        self.graph = graph
        self._claims = claims
        self._draw = draw
        self._shapes = shapes
        self._any_batch = any_batch
        self._limit = limit

    def input(self) -> GraphValue | None:
        """Add an input that some claimed layer reads, if possible."""
        data_type = self._draw.data_type
        usable = [s for s in self._shapes if self._claims.some_read(data_type, len(s))]
        if not usable:
            return None
        made = self._draw.input(usable[self._draw.number(0, len(usable) - 1)])
        self.graph.inputs.append(made)
        return made

    def after(self, x: GraphValue | None, layer: str = "") -> GraphValue | None:
        """Add a claimed layer behind a value; return its output.

        Args:
            x: The value, None if there is none.
            layer: The layer type, any if left out.
        """
        if x is None or x.real.size > self._limit:
            return None
        if x.info.data_type not in DATA_TYPES or not x.real.size or not x.shape:
            return None
        draw = self._of_type(x.info.data_type)
        layers = [layer] if layer else self._claims.layers
        for at in self._draw.random.permutation(len(layers)):
            if not self._claims.may_read(layers[at], x.info.data_type, len(x.shape)):
                continue
            drawn = list(candidates_of(layers[at], draw, x))
            for number in self._draw.random.permutation(len(drawn)):
                added = self._add(drawn[number])
                if added is not None:
                    return added
        return None

    def join(self, x: GraphValue | None, y: GraphValue | None) -> GraphValue | None:
        """Add a claimed layer of two values of one shape."""
        if x is None or y is None or x.shape != y.shape:
            return None
        for each in (*joined(self._draw, x, y), *concatenated(self._draw, x, y)):
            if each.layer in self._claims.layers:
                added = self._add(each)
                if added is not None:
                    return added
        return None

    def same_shape(self, x: GraphValue | None) -> GraphValue | None:
        """Add a claimed layer that keeps the shape, if possible."""
        for _ in range(_SHAPE_TRIES):
            before = len(self.graph.nodes)
            made = self.after(x)
            if made is None or x is None or made.shape == x.shape:
                return made
            del self.graph.nodes[before:]
        return self.after(x)

    def again(self, node: GraphNode, x: GraphValue | None) -> GraphValue | None:
        """Add a layer again, with the same constants."""
        if x is None or node.oracle is None:
            return None
        read = next(value for value in node.inputs if value is not None and not value.constant)
        if x.shape != read.shape or (read.info.is_quantized and x.info != read.info):
            return None  # a bias is in steps of its data's scale
        operands = tuple(x if value is read else value for value in node.inputs)
        return self._add(
            LayerDraw(node.descriptor, operands, node.oracle, outputs=len(node.outputs))
        )

    def show(self, *values: GraphValue | None) -> None:
        """Make values outputs of the graph."""
        shown = dict.fromkeys([*self.graph.outputs, *(v for v in values if v is not None)])
        self.graph.outputs = list(shown)

    def show_the_rest(self) -> None:
        """Make unread values outputs of the graph."""
        read = {value for node in self.graph.nodes for value in node.inputs}
        made = [value for node in self.graph.nodes for value in node.outputs]
        self.show(*(value for value in made if value not in read))

    def _add(self, made: LayerDraw) -> GraphValue | None:
        if self._any_batch and not made.any_batch:
            return None
        node = self._claims.node(made)
        if node is None:
            return None
        self.graph.nodes.append(node)
        return node.outputs[0]

    def _of_type(self, data_type: DataType) -> Draw:
        if data_type is not self._draw.data_type:
            self._draw = Draw(data_type, [int(self._draw.random.integers(1 << 30))])
        return self._draw


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
"""The families of graphs, and the other checks on graphs."""

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
