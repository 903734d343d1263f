# SPDX-License-Identifier: MIT
"""Functions of each element."""

from __future__ import annotations

from armnn.layers._descriptor import Descriptor
from armnn.layers._spec import layer, result, slot
from armnn.types import DataType, UnaryOperation


@layer(17, inputs=[slot("input", "The operand; Boolean for LogicalNot.")])
class ElementwiseUnaryDescriptor(Descriptor):
    """A function of each element.

    Attributes:
        operation: The function. Round takes halves to the even neighbour, angles are in radians,
            BitwiseNot takes integers.
    """

    operation: UnaryOperation = UnaryOperation.ABS


@layer(20, inputs=[slot("input", "The operand.")])
class FloorDescriptor(Descriptor):
    """The largest integer that is not above the element."""


@layer(
    1005,
    inputs=[slot("input", "Floating point numbers.")],
    outputs=[result(data_types=[DataType.BOOLEAN])],
)
class IsNaNDescriptor(Descriptor):
    """Whether each element is not a number (ONNX: IsNaN)."""


@layer(
    1006,
    inputs=[slot("input", "Floating point numbers.")],
    outputs=[result(data_types=[DataType.BOOLEAN])],
)
class IsInfDescriptor(Descriptor):
    """Whether each element is infinite (ONNX: IsInf).

    Attributes:
        detect_positive: Whether positive infinity counts.
        detect_negative: Whether negative infinity counts.
    """

    detect_positive: bool = True
    detect_negative: bool = True
