# SPDX-License-Identifier: MIT
"""The graph of a network: values, layers and their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand
from armnn.graph.aliases import Aliased, Aliases, aliases_of

if TYPE_CHECKING:
    from armnn.graph._operands import Operand
    from armnn.graph.initial_values import initial_value, note_initial_value
    from armnn.graph.layer import Layer, Value
    from armnn.graph.network import LayerGraph, Network
    from armnn.graph.operators import DeferredOperator, Operator, Survey
    from armnn.graph.python_operators import (
        OperatorCall,
        OperatorRegistration,
        Operators,
        registered_operators,
    )
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "_operands": "Operand",
            "initial_values": "initial_value note_initial_value",
            "layer": "Layer Value",
            "network": "LayerGraph Network",
            "operators": "DeferredOperator Operator Survey",
            "python_operators": "OperatorCall OperatorRegistration Operators registered_operators",
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
    "OperatorCall",
    "OperatorRegistration",
    "Operators",
    "Survey",
    "Value",
    "aliases_of",
    "initial_value",
    "note_initial_value",
    "registered_operators",
]
