# SPDX-License-Identifier: MIT
"""A network: a graph with a method per layer type."""

from __future__ import annotations

from armnn.graph._builders import LayerBuilders
from armnn.graph.layer_graph import LayerGraph


class Network(LayerGraph, LayerBuilders):
    """A directed acyclic graph of layers (Arm NN: ``INetwork``).

    Layers are made by ``add_<layer>()``, one typed method per layer type, or by :meth:`add`.
    Each checks its arguments and infers its output at once. The attributes are those of
    :class:`LayerGraph`.
    """
