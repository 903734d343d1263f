# SPDX-License-Identifier: MIT
"""The drawn layers that a backend claims."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from armnn.single_layer import prepare
from armnn_conformance.graphs._draw import Candidate, Draw, candidates_of, drawn_layers
from armnn_conformance.graphs._graph import Graph, GraphNode, computed

if TYPE_CHECKING:
    from armnn.types import DataType
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

    def node(self, made: Candidate) -> GraphNode | None:
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
