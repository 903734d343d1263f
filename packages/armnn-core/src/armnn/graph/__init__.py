# SPDX-License-Identifier: MIT
"""The graph of a network: values, layers and their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._aliases import Aliased, Aliases, aliases_of
from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.graph._operands import Operand
    from armnn.graph.layer import Layer, Value
    from armnn.graph.layer_graph import LayerGraph
    from armnn.graph.network import Network
    from armnn.graph.operators import DeferredOperator, Operator, Survey
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "_operands": "Operand",
            "layer": "Layer Value",
            "layer_graph": "LayerGraph",
            "network": "Network",
            "operators": "DeferredOperator Operator Survey",
        },
    )

__all__ = [
    "Aliased",
    "Aliases",
    "DeferredOperator",
    "Layer",
    "LayerGraph",
    "Network",
    "Operand",
    "Operator",
    "Survey",
    "Value",
    "aliases_of",
]
