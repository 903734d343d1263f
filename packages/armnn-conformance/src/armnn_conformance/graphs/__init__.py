# SPDX-License-Identifier: MIT
"""Random graphs of claimed layers, with composed oracles.

A module beside this one registers candidates: functions that draw a layer that may follow a value::

    @candidate(FloorDescriptor)
    def floor(draw: Draw, x: GraphValue) -> LayerDraw:
        return LayerDraw(FloorDescriptor(), (x,), np.floor)

The oracle is computed in float64 from the real values, never by a kernel of a backend.
"""

from __future__ import annotations

from armnn_conformance.graphs._graph import (
    Draw,
    Graph,
    GraphNode,
    GraphValue,
    LayerDraw,
    candidate,
    candidates_of,
    drawn_layers,
)
from armnn_conformance.graphs.families import FAMILIES, graphs_of

__all__ = [
    "FAMILIES",
    "Draw",
    "Graph",
    "GraphNode",
    "GraphValue",
    "LayerDraw",
    "candidate",
    "candidates_of",
    "drawn_layers",
    "graphs_of",
]
