# SPDX-License-Identifier: MIT
"""Reductions and scans: Reduce, Mean, ArgMinMax, CumSum and CumProd."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import filled_length, normalized_axes, normalized_axis
from armnn.layers._spec import Inputs, Numerics, Shapes, along_axis, filling, layer, result, slot
from armnn.tensor import Shape, format_shape
from armnn.types import ArgMinMaxFunction, DataType, ReduceOperation


def _arg_min_max(descriptor: ArgMinMaxDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    axis = normalized_axis(descriptor.axis, len(shape))
    if shape[axis] == 0:
        raise ShapeError(
            f"the axis {descriptor.axis} of the input of shape {format_shape(shape)} has no "
            "element to choose from"
        )
    return [(*shape[:axis], *shape[axis + 1 :])]


@layer(
    2,
    inputs=[slot("input", "A tensor of rank 1 or more.")],
    outputs=[result(data_types=[DataType.SIGNED32, DataType.SIGNED64])],
    infer=_arg_min_max,
    numerics=Numerics(picks=0),
)
class ArgMinMaxDescriptor(Descriptor):
    """The index of the smallest or largest element along ``axis``.

    The axis goes.

    Attributes:
        function: Which element is looked for.
        axis: The axis along which it is looked for; counted from the end if negative.
        select_last_index: Whether the last one of equals is taken rather than the first, as in
            ONNX; Arm NN has the first only. Since Backend API 1.1.
    """

    function: ArgMinMaxFunction = ArgMinMaxFunction.MIN
    axis: int = -1
    select_last_index: bool = parameter(False, since=(1, 1))


def _reduced(descriptor: MeanDescriptor | ReduceDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("axis"):
        return [_reduced_along_unknown(shape, descriptor.keep_dims, filled_length(inputs, "axis"))]
    axes = normalized_axes(descriptor.axis, len(shape)) or tuple(range(len(shape)))
    if descriptor.keep_dims:
        return [tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))]
    return [tuple(dim for axis, dim in enumerate(shape) if axis not in axes)]


def _reduced_along_unknown(shape: Shape, keep_dims: bool, count: int | None) -> Shape | None:
    if count is not None and count > len(shape):
        raise ShapeError(
            f"{count} axes are to be reduced: expected at most {len(shape)}, as many as the input "
            f"of shape {format_shape(shape)} has"
        )
    if keep_dims:
        return tuple(1 if dim == 1 else None for dim in shape)
    if count is None:
        return None
    return (None,) * (len(shape) - count) if count else ()


_INPUTS = (slot("input", "A tensor of any rank."), filling("axis", "A vector of axes."))


@layer(
    32,
    inputs=_INPUTS,
    infer=_reduced,
    numerics=Numerics(linear=True, averages=True),
)
class MeanDescriptor(Descriptor):
    """The average over some axes.

    All axes reduced without ``keep_dims`` leave a scalar (in Arm NN a tensor of one element).

    Attributes:
        axis: The axes, counted from the end if negative; all if empty.
        keep_dims: Whether the axes stay, with one element.
    """

    axis: tuple[int, ...] = ()
    keep_dims: bool = False


@layer(
    50,
    inputs=_INPUTS,
    infer=_reduced,
    numerics=Numerics(sums=True),
)
class ReduceDescriptor(Descriptor):
    """A sum, product, mean, minimum or maximum over axes.

    Shapes are as in Mean.

    Attributes:
        keep_dims: Whether the axes stay, with one element.
        axis: The axes, counted from the end if negative; all if empty.
        reduce_operation: How the elements are summed up.
    """

    keep_dims: bool = False
    axis: tuple[int, ...] = ()
    reduce_operation: ReduceOperation = ReduceOperation.SUM


def _cumulated(descriptor: CumSumDescriptor | CumProdDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if not inputs.awaits("axis"):
        normalized_axis(descriptor.axis, len(shape))
    return [shape]


_CUMULATED = (
    slot("input", "A tensor of rank 1 or more."),
    filling("axis", "A tensor of one integer."),
)


@layer(
    1013,
    inputs=_CUMULATED,
    infer=_cumulated,
    numerics=Numerics(terms=along_axis, sums=True),
)
class CumSumDescriptor(Descriptor):
    """Cumulative sums along an axis.

    ONNX: CumSum.

    Attributes:
        axis: The axis; counted from the end if negative.
        exclusive: Whether the element itself does not count; the first sum is 0.
        reverse: Whether the elements after it count instead.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False


@layer(
    1028,
    inputs=_CUMULATED,
    infer=_cumulated,
    numerics=Numerics(
        terms=along_axis,
        overflows="a partial product may overflow that a later factor would bring back",
    ),
)
class CumProdDescriptor(Descriptor):
    """Cumulative products along an axis.

    ONNX: CumProd.

    Attributes:
        axis: The axis; counted from the end if negative.
        exclusive: Whether the element itself does not count; the first product is 1.
        reverse: Whether the elements after it count instead.
    """

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False
