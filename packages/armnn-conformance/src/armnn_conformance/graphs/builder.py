# SPDX-License-Identifier: MIT
"""Grows graphs of claimed layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from armnn.types import DataType
from armnn_conformance.graphs._draw import Candidate, Draw, candidates_of
from armnn_conformance.graphs.claims import SHAPES
from armnn_conformance.graphs.elementwise import joined
from armnn_conformance.graphs.reshaping import concatenated

if TYPE_CHECKING:
    from armnn_conformance.graphs._graph import Graph, GraphNode, GraphValue
    from armnn_conformance.graphs.claims import Claims

DATA_TYPES: Final = (
    DataType.FLOAT32,
    DataType.QASYMM_S8,
    DataType.QASYMM_U8,
    DataType.FLOAT16,
    DataType.QSYMM_S16,
    DataType.BFLOAT16,
    DataType.FLOAT64,
)
"""What graphs are drawn of; the first two that a backend claims."""

_GROWTH_LIMIT: Final = 4000
"""Elements of a value that may be read; larger ones would take long."""

_SHAPE_TRIES: Final = 4


class Builder:
    """Grows one graph.

    Attributes:
        graph: What was added until now.
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
            graph: What is grown.
            claims: What the backend claims.
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
            Candidate(node.descriptor, operands, node.oracle, outputs=len(node.outputs))
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

    def _add(self, made: Candidate) -> GraphValue | None:
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
