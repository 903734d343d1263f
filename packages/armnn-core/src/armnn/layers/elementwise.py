# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic on each element, with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import broadcast_inputs
from armnn.layers._spec import layer, parts_on_demand, slot
from armnn.types import BinaryOperation

if TYPE_CHECKING:
    from armnn.layers.elementwise_comparing import ComparisonDescriptor as ComparisonDescriptor
    from armnn.layers.elementwise_comparing import (
        LogicalBinaryDescriptor as LogicalBinaryDescriptor,
    )
    from armnn.layers.elementwise_comparing import WhereDescriptor as WhereDescriptor
    from armnn.layers.elementwise_fused import FusedDescriptor as FusedDescriptor
    from armnn.layers.elementwise_unary import (
        ElementwiseUnaryDescriptor as ElementwiseUnaryDescriptor,
    )
    from armnn.layers.elementwise_unary import FloorDescriptor as FloorDescriptor
    from armnn.layers.elementwise_unary import IsInfDescriptor as IsInfDescriptor
    from armnn.layers.elementwise_unary import IsNaNDescriptor as IsNaNDescriptor
else:
    __getattr__ = parts_on_demand(__name__)

_OPERANDS = (slot("input", "The first operand."), slot("other", "The second operand."))


@layer(1, inputs=_OPERANDS, infer=broadcast_inputs)
class AdditionDescriptor(Descriptor):
    """input + other, broadcast."""


@layer(59, inputs=_OPERANDS, infer=broadcast_inputs)
class SubtractionDescriptor(Descriptor):
    """input - other, broadcast."""


@layer(37, inputs=_OPERANDS, infer=broadcast_inputs)
class MultiplicationDescriptor(Descriptor):
    """input * other, broadcast."""


@layer(16, inputs=_OPERANDS, infer=broadcast_inputs)
class DivisionDescriptor(Descriptor):
    """input / other, broadcast; integers are rounded towards zero."""


@layer(31, inputs=_OPERANDS, infer=broadcast_inputs)
class MaximumDescriptor(Descriptor):
    """The larger of input and other, broadcast."""


@layer(36, inputs=_OPERANDS, infer=broadcast_inputs)
class MinimumDescriptor(Descriptor):
    """The smaller of input and other, broadcast."""


@layer(72, inputs=_OPERANDS, infer=broadcast_inputs)
class ElementwiseBinaryDescriptor(Descriptor):
    """A function of each pair of elements, broadcast.

    Attributes:
        operation: The function. SqDiff is (input - other)^2, Power is input^other. Mod is the
            remainder with the sign of the divisor, Fmod the one with the sign of the dividend,
            FloorDiv the quotient rounded down. The bitwise ones and the shifts take integers; a
            shift by the width or more leaves nothing but the sign.
    """

    operation: BinaryOperation = BinaryOperation.ADD
