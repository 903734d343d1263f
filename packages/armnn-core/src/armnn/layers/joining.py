# SPDX-License-Identifier: MIT
"""Tensors put together and taken apart: Concat, Stack and Splitter."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import apply, merged_shapes, normalized_axis, same_dimension
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.tensor import Shape, format_shape


def _operands(inputs: Inputs) -> list[Shape]:
    shapes = [info.shape for info in inputs.variadic() if info.shape is not None]
    if not shapes:
        raise ShapeError("the layer has no inputs: expected at least one")
    return shapes


def _concatenated(descriptor: ConcatDescriptor, inputs: Inputs) -> Shapes:
    shapes = _operands(inputs)
    axis = normalized_axis(descriptor.axis, len(shapes[0]))
    merged = merged_shapes(shapes, open_axis=axis)
    # An empty input adds nothing, so that what the others add up to may keep its name.
    sizes = [shape[axis] for shape in shapes if shape[axis] != 0] or [0]
    total = sizes[0] if len(sizes) == 1 else apply(lambda *known: sum(known), *sizes)
    return [(*merged[:axis], total, *merged[axis + 1 :])]


@layer(
    6,
    inputs=[slot("inputs", "Alike in all axes but ``axis``.", variadic=True)],
    outputs=[result(like="inputs")],
    infer=_concatenated,
    moves_data=True,
)
class ConcatDescriptor(Descriptor):
    """The inputs joined along an axis.

    Arm NN: OriginsDescriptor.

    Attributes:
        axis: The axis; counted from the end if negative.
    """

    axis: int = 0


def _stacked(descriptor: StackDescriptor, inputs: Inputs) -> Shapes:
    shapes = _operands(inputs)
    merged = merged_shapes(shapes)
    axis = normalized_axis(descriptor.axis, len(merged) + 1)
    return [(*merged[:axis], len(shapes), *merged[axis:])]


@layer(
    56,
    inputs=[slot("inputs", "All of one shape.", variadic=True)],
    outputs=[result(like="inputs")],
    infer=_stacked,
    moves_data=True,
)
class StackDescriptor(Descriptor):
    """The inputs one after the other along a new axis.

    Attributes:
        axis: Where the new axis is in the output; counted from the end if negative.
    """

    axis: int = 0


def _split(descriptor: SplitterDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    axis = normalized_axis(descriptor.axis, len(shape))
    if not same_dimension(shape[axis], sum(descriptor.sizes)):
        raise ShapeError(
            f"the sizes {list(descriptor.sizes)} add up to {sum(descriptor.sizes)}, but the axis "
            f"{axis} of the input of shape {format_shape(shape)} has {shape[axis]}"
        )
    return [(*shape[:axis], size, *shape[axis + 1 :]) for size in descriptor.sizes]


@layer(
    55,
    inputs=[slot("input", "A tensor of rank 1 or more.")],
    outputs=[result("output", "One for each of ``sizes``.", variadic=True)],
    infer=_split,
    moves_data=True,
    count_outputs=lambda descriptor: len(descriptor.sizes),
)
class SplitterDescriptor(Descriptor):
    """The input split into parts along an axis.

    Arm NN: ViewsDescriptor with an axis.

    Attributes:
        axis: The axis; counted from the end if negative.
        sizes: The size of each part along the axis.
    """

    axis: int = 0
    sizes: tuple[int, ...] = parameter((), at_least=0)
