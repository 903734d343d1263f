# SPDX-License-Identifier: MIT
"""Elements selected by rank, mask or index: TopK, OneHot, Unique, ..."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import normalized_axis, require_rank, require_shape
from armnn.layers._spec import Inputs, Numerics, Shapes, filling, layer, result, slot
from armnn.tensor import Dimension, format_shape
from armnn.types import DataType, ScatterNdFunction


def _top(descriptor: TopKDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    axis = normalized_axis(descriptor.axis, len(shape))
    size: Dimension = None if inputs.awaits("k") else descriptor.k
    of = shape[axis]
    if isinstance(size, int) and isinstance(of, int) and size > of:
        raise ShapeError(
            f"k is {size} along an axis of {of} elements: expected at most as many as the axis has"
        )
    return [(*shape[:axis], size, *shape[axis + 1 :])] * 2


@layer(
    1012,
    inputs=[slot("input", "A tensor of rank 1 or more."), filling("k", "A tensor of one integer.")],
    outputs=[
        result("values", "The elements."),
        result(
            "indices",
            "Where they stand along the axis.",
            data_types=[DataType.SIGNED64, DataType.SIGNED32],
        ),
    ],
    infer=_top,
    numerics=Numerics(picks=1),
)
class TopKDescriptor(Descriptor):
    """The k largest or smallest elements, with their indices.

    ONNX: TopK. Of equal elements those with the lower index come first; NaN counts as the largest.

    Attributes:
        k: How many elements.
        axis: The axis; counted from the end if negative.
        largest: Whether the largest ones are taken, else the smallest.
        sorted: Whether they stand in order, else in any.
    """

    k: int = parameter(1, at_least=0)
    axis: int = -1
    largest: bool = True
    sorted: bool = True


def _one_hot(descriptor: OneHotDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("indices")
    require_shape(inputs, "values", (2,))
    axis = normalized_axis(descriptor.axis, len(shape) + 1)
    depth: Dimension = None if inputs.awaits("depth") else descriptor.depth
    return [(*shape[:axis], depth, *shape[axis:])]


@layer(
    1015,
    inputs=[
        slot("indices", "Integers of any rank."),
        slot("values", "[2], the value elsewhere and the value at the index."),
        filling("depth", "A tensor of one integer."),
    ],
    outputs=[result(like="values")],
    infer=_one_hot,
    moves_data=True,
)
class OneHotDescriptor(Descriptor):
    """One value at each index of a new axis.

    The other elements have the other value (ONNX: OneHot). An index outside of the axis gives a
    line of the other value.

    Attributes:
        depth: The size of the new axis.
        axis: Where the output has it; counted from the end if negative.
        wrap_negative: Whether negative indices count from the end (ONNX), else they are outside
            (TensorFlow Lite).
    """

    depth: int = parameter(0, at_least=0)
    axis: int = -1
    wrap_negative: bool = True


def _triangle(_descriptor: TriluDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if len(shape) < 2:
        raise ShapeError(f"the input has shape {format_shape(shape)}: expected rank 2 or more")
    return [shape]


@layer(
    1016,
    inputs=[slot("input", "Shape [...,rows,columns]."), filling("k", "A tensor of one integer.")],
    infer=_triangle,
)
class TriluDescriptor(Descriptor):
    """The upper or lower triangle of matrices.

    The other elements are zero (ONNX: Trilu).

    Attributes:
        upper: Whether the upper triangle stays, else the lower one.
        k: The diagonal that bounds it, which stays: 0 the main one, 1 the one above it.
    """

    upper: bool = True
    k: int = 0


def _gathered(descriptor: GatherElementsDescriptor, inputs: Inputs) -> Shapes:
    _require_inside(inputs, descriptor.axis)
    return [inputs.shape("indices")]


def _require_inside(inputs: Inputs, axis: int) -> None:
    """Check that indices fit the input on all other axes.

    Raises:
        ShapeError: They do, or have another rank.
    """
    shape, indices = inputs.shape("input"), inputs.shape("indices")
    axis = normalized_axis(axis, len(shape))
    beyond = [
        isinstance(count, int) and isinstance(size, int) and count > size
        for place, (count, size) in enumerate(zip(indices, shape, strict=False))
        if place != axis
    ]
    if len(indices) != len(shape) or any(beyond):
        raise ShapeError(
            f"the indices have shape {format_shape(indices)}: expected that of the input, "
            f"{format_shape(shape)}, or a smaller one, and any size of axis {axis}"
        )


@layer(
    1017,
    inputs=[
        slot("input", "A tensor of rank 1 or more."),
        slot("indices", "Integers, of the same rank; counted from the end if negative."),
    ],
    outputs=[result("output", "A tensor of the shape of the indices.")],
    infer=_gathered,
    moves_data=True,
)
class GatherElementsDescriptor(Descriptor):
    """The elements named by indices along an axis.

    The other coordinates are those of the index (ONNX: GatherElements). output[i][j] is
    input[indices[i][j]][j] for axis 0.

    Attributes:
        axis: The axis that the indices speak of; counted from the end if negative.
    """

    axis: int = 0


def _scattered(descriptor: ScatterElementsDescriptor, inputs: Inputs) -> Shapes:
    _require_inside(inputs, descriptor.axis)
    require_shape(inputs, "updates", inputs.shape("indices"))
    return [inputs.shape("input")]


@layer(
    1018,
    inputs=[
        slot("input", "A tensor of rank 1 or more."),
        slot("indices", "Integers, of the same rank; counted from the end if negative."),
        slot("updates", "A tensor of the shape of the indices."),
    ],
    infer=_scattered,
)
class ScatterElementsDescriptor(Descriptor):
    """The input with updates at indices along an axis.

    ONNX: ScatterElements. output[indices[i][j]][j] is updates[i][j] for axis 0. Where an index
    occurs more than once, Update leaves the last update; the other functions combine all.

    Attributes:
        axis: The axis that the indices speak of; counted from the end if negative.
        function: How an update and what is there become one.
    """

    axis: int = 0
    function: ScatterNdFunction = ScatterNdFunction.UPDATE


def _compressed(descriptor: CompressDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    axis = normalized_axis(descriptor.axis, len(shape))
    (count,) = require_rank(inputs, "condition", 1)
    size = shape[axis]
    if isinstance(count, int) and isinstance(size, int) and count > size:
        raise ShapeError(
            f"the condition has {count} elements: expected at most {size}, the size of axis {axis} "
            f"of the input of shape {format_shape(shape)}"
        )
    return [(*shape[:axis], None, *shape[axis + 1 :])]


@layer(
    1026,
    inputs=[
        slot("input", "A tensor of rank 1 or more."),
        slot("condition", "[n], Boolean: the slices kept; those beyond its end are dropped."),
    ],
    outputs=[result("output", "Along the axis as many elements as the condition holds for.")],
    infer=_compressed,
    moves_data=True,
    data_dependent=True,
)
class CompressDescriptor(Descriptor):
    """The slices along an axis for which a condition holds.

    ONNX: Compress.

    Attributes:
        axis: The axis; counted from the end if negative.
    """

    axis: int = 0


def _uniques(descriptor: UniqueDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    axis = normalized_axis(descriptor.axis, len(shape))
    values = (*shape[:axis], None, *shape[axis + 1 :])
    return [values, (None,), (shape[axis],), (None,)]


_PLACES = (DataType.SIGNED64, DataType.SIGNED32)


@layer(
    1029,
    inputs=[slot("input", "A tensor of rank 1 or more.")],
    outputs=[
        result("values", "Each different slice once."),
        result("indices", "Where each stands first along the axis.", data_types=_PLACES),
        result("inverse_indices", "Which of the values each slice is.", data_types=_PLACES),
        result("counts", "How often each occurs.", data_types=_PLACES),
    ],
    infer=_uniques,
    data_dependent=True,
    numerics=Numerics(decides=True),
)
class UniqueDescriptor(Descriptor):
    """The unique slices along an axis.

    ONNX: Unique; TensorFlow: UniqueV2.

    Attributes:
        axis: The axis; counted from the end if negative.
        sorted: Whether the values are in rising order, else in that of their first occurrence.
    """

    axis: int = 0
    sorted: bool = True
