# SPDX-License-Identifier: MIT
"""The graph of a network: values, layers and their owner."""

from __future__ import annotations

from armnn.graph._operands import Operand
from armnn.graph.aliases import Aliased, Aliases
from armnn.graph.deferred import DeferredOperator
from armnn.graph.layer import Layer, Value
from armnn.graph.network import Network
from armnn.graph.survey import Operator, Survey

__all__ = [
    "Aliased",
    "Aliases",
    "DeferredOperator",
    "Layer",
    "Network",
    "Operand",
    "Operator",
    "Survey",
    "Value",
]
