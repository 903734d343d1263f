# SPDX-License-Identifier: MIT
"""Several layers on each element as one."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import broadcast_inputs
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.types import FusedKernelType


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
