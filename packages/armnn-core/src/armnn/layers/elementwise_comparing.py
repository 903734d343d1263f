# SPDX-License-Identifier: MIT
"""Comparison, logic and choice between elements, with broadcasting."""

from __future__ import annotations

from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import broadcast_inputs
from armnn.layers._spec import layer, result, slot
from armnn.types import ComparisonOperation, DataType, LogicalBinaryOperation

_OPERANDS = (slot("input", "The first operand."), slot("other", "The second operand."))


@layer(5, inputs=_OPERANDS, outputs=[result(data_types=[DataType.BOOLEAN])], infer=broadcast_inputs)
class ComparisonDescriptor(Descriptor):
    """Whether each pair of elements fulfils a relation, broadcast.

    Attributes:
        operation: The relation.
    """

    operation: ComparisonOperation = ComparisonOperation.EQUAL


@layer(
    26, inputs=_OPERANDS, outputs=[result(data_types=[DataType.BOOLEAN])], infer=broadcast_inputs
)
class LogicalBinaryDescriptor(Descriptor):
    """A logical function of each pair of Boolean elements, broadcast.

    Attributes:
        operation: The function.
    """

    operation: LogicalBinaryOperation = LogicalBinaryOperation.LOGICAL_AND


@layer(
    1001,
    inputs=[
        slot("condition", "Which operand to take, Boolean."),
        slot("x", "What is taken where the condition holds."),
        slot("y", "What is taken elsewhere."),
    ],
    outputs=[result(like="x")],
    infer=broadcast_inputs,
    moves_data=True,
)
class WhereDescriptor(Descriptor):
    """x where condition holds, else y, all broadcast.

    ONNX: Where.
    """
