# SPDX-License-Identifier: MIT
"""Copies, control flow, markers and compiled layers.

No model file asks for them.
"""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import merged_shapes
from armnn.layers._spec import Inputs, Shapes, layer, result, same_axis, slot
from armnn.tensor import format_shape

_MOVED = "the runtime moves the bytes itself"


_CONTROL_FLOW = "control flow has no kernel until its condition is known"


@layer(11, inputs=[slot("input", "The tensor to look at.")], outputs=[result(axis=same_axis)])
class DebugDescriptor(Descriptor):
    """The unchanged input, which is reported."""


@layer(
    33,
    inputs=[slot("input", "The tensor to copy.")],
    outputs=[result(axis=same_axis)],
    no_kernel=_MOVED,
)
class MemCopyDescriptor(Descriptor):
    """A copy into another backend's memory, made by the optimizer."""


@layer(
    34,
    inputs=[slot("input", "The tensor to import.")],
    outputs=[result(axis=same_axis)],
    no_kernel=_MOVED,
)
class MemImportDescriptor(Descriptor):
    """A tensor whose memory another backend imports; the optimizer makes it."""


def _merged(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [merged_shapes([inputs.shape("input"), inputs.shape("other")])]


@layer(
    35,
    inputs=[
        slot("input", "The result of one branch."),
        slot("other", "The result of the other branch, of the same shape."),
    ],
    outputs=[result(axis=same_axis)],
    infer=_merged,
    no_kernel=_CONTROL_FLOW,
)
class MergeDescriptor(Descriptor):
    """The input of the branch that was taken."""


def _switched(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    condition = inputs.shape("condition")
    if any(isinstance(size, int) and size != 1 for size in condition or ()):
        raise ShapeError(
            f"the input 'condition' has shape {format_shape(condition)}: expected one Boolean"
        )
    return [inputs.shape("input"), inputs.shape("input")]


@layer(
    60,
    inputs=[
        slot("input", "The tensor that is passed on."),
        slot("condition", "One Boolean.", shapes_output=True),
    ],
    outputs=[
        result("output_false", "Has the input if the condition does not hold.", axis=same_axis),
        result("output_true", "Has the input if the condition holds.", axis=same_axis),
    ],
    infer=_switched,
    no_kernel=_CONTROL_FLOW,
)
class SwitchDescriptor(Descriptor):
    """The input passed to one of two branches."""


def _nothing(_descriptor: Descriptor, _inputs: Inputs) -> Shapes:
    return []


@layer(30, inputs=[slot("input", "The memory.")], outputs=[], infer=_nothing, no_kernel=_MOVED)
class MapDescriptor(Descriptor):
    """A mark: the host reads the input's memory from here."""


@layer(63, inputs=[slot("input", "The memory.")], outputs=[], infer=_nothing, no_kernel=_MOVED)
class UnmapDescriptor(Descriptor):
    """A mark: the backend owns the input's memory from here."""


_MOST_OUTPUTS = 1 << 16
"""No operator has more; each would be a value of the network at once."""


def _pre_compiled(descriptor: PreCompiledDescriptor, _inputs: Inputs) -> Shapes:
    return [None] * descriptor.num_output_slots


@layer(
    43,
    inputs=[slot("inputs", "The inputs of the sub-graph.", variadic=True)],
    outputs=[result("output", "The maker says each of them.", like="", variadic=True)],
    infer=_pre_compiled,
    no_kernel="the backend that compiled it runs it",
    count_outputs=lambda descriptor: descriptor.num_output_slots,
)
class PreCompiledDescriptor(Descriptor):
    """A subgraph that a backend compiled into its own object.

    Attributes:
        num_output_slots: How many outputs there are.
    """

    num_output_slots: int = parameter(1, at_least=0, at_most=_MOST_OUTPUTS)


def _stand_in(descriptor: StandInDescriptor, _inputs: Inputs) -> Shapes:
    return [None] * descriptor.num_outputs


@layer(
    57,
    inputs=[slot("inputs", "The inputs of the operator.", variadic=True)],
    outputs=[result("output", "The maker says each of them.", like="", variadic=True)],
    infer=_stand_in,
    no_kernel="it stands in for an operator that the parser does not know",
    count_outputs=lambda descriptor: descriptor.num_outputs,
)
class StandInDescriptor(Descriptor):
    """An operator that a parser does not know.

    Attributes:
        num_outputs: How many outputs there are.
    """

    num_outputs: int = parameter(0, at_least=0, at_most=_MOST_OUTPUTS)
