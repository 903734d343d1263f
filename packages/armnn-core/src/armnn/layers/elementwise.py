# SPDX-License-Identifier: MIT
"""Arithmetic, comparison and logic on each element, with broadcasting."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import broadcast_inputs
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, result, slot
from armnn.types import (
    BinaryOperation,
    ComparisonOperation,
    DataType,
    FusedKernelType,
    LogicalBinaryOperation,
    UnaryOperation,
)

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


@layer(17, inputs=[slot("input", "The operand; Boolean for LogicalNot.")])
class ElementwiseUnaryDescriptor(Descriptor):
    """A function of each element.

    Attributes:
        operation: The function. Round takes halves to the even neighbor, angles are in radians,
            BitwiseNot takes integers.
    """

    operation: UnaryOperation = UnaryOperation.ABS


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


@layer(20, inputs=[slot("input", "The operand.")])
class FloorDescriptor(Descriptor):
    """The largest integer that is not above the element."""


def _fused(descriptor: FusedDescriptor, inputs: Inputs) -> Shapes:
    if len(inputs.variadic()) != 4:
        raise ShapeError(f"AddMulAdd takes 4 inputs: got {len(inputs.variadic())}")
    (shape,) = broadcast_inputs(descriptor, inputs)
    return [shape] * descriptor.num_output_slots


@layer(
    75,
    inputs=[slot("inputs", "The operands of the fused layers, in their order.", variadic=True)],
    outputs=[result(like="inputs", variadic=True)],
    infer=_fused,
    count_outputs=lambda descriptor: descriptor.num_output_slots,
    numerics=Numerics(terms=3, sums=True),
)
class FusedDescriptor(Descriptor):
    """Several layers as one, made by backends from a pattern.

    AddMulAdd is (inputs[0] + inputs[1]) * inputs[2] + inputs[3]. Its last output is the result;
    with two outputs the first one is the inner sum.

    Attributes:
        num_output_slots: How many outputs there are, 1 or 2.
        fused_kernel_type: Which layers are fused.
    """

    num_output_slots: int = parameter(2, one_of=(1, 2))
    fused_kernel_type: FusedKernelType = FusedKernelType.ADD_MUL_ADD


@layer(
    1001,
    inputs=[
        slot("condition", "Which operand to take, Boolean."),
        slot("x", "The elements where the condition is true."),
        slot("y", "The elements where the condition is false."),
    ],
    outputs=[result(like="x")],
    infer=broadcast_inputs,
    moves_data=True,
)
class WhereDescriptor(Descriptor):
    """x where condition holds, else y, all broadcast.

    ONNX: Where.
    """


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
