# SPDX-License-Identifier: MIT
"""The name that armnn-core 1.2.0 had for :class:`armnn.graph.Network`."""

from armnn.graph.network import Network as LayerGraph

__all__ = ["LayerGraph"]
