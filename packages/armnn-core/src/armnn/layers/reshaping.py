# SPDX-License-Identifier: MIT
"""Elements in another order or shape, repeated or padded."""

from __future__ import annotations

import functools
import math

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    PICTURES,
    PLANAR,
    broadcast,
    divided,
    filled_length,
    inferred_dimension,
    normalized_axes,
    normalized_axis,
    plus,
    product,
    require_rank,
    same_dimension,
)
from armnn.layers._spec import (
    Inputs,
    Shapes,
    filling,
    layer,
    result,
    same_axis,
    slot,
)
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape
from armnn.types import DataLayout, PaddingMode

_ANY = slot("input", "A tensor of any rank.")


def _reshaped(descriptor: ReshapeDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("target_shape"):
        count = filled_length(inputs, "target_shape")
        return [None if count is None else (None,) * count]
    dims: list[Dimension] = list(descriptor.target_shape)
    copied = [axis for axis, size in enumerate(dims) if size == 0 and descriptor.zero_copies]
    if copied and copied[-1] >= len(shape):
        raise ShapeError(
            f"the target_shape {format_shape(dims)} copies the dimension {copied[-1]}, which the "
            f"input of shape {format_shape(shape)} does not have"
        )
    # Copied dimensions are on both sides, so the wanted one follows from the others.
    given = [dim for axis, dim in enumerate(shape) if axis not in copied]
    wanted = [dim for axis, dim in enumerate(dims) if axis not in copied and dim != -1]
    for axis in copied:
        dims[axis] = shape[axis]
    if -1 in dims:
        dims[dims.index(-1)] = inferred_dimension(given, wanted)
    elif not same_dimension(product(given), product(wanted)):
        raise ShapeError(
            f"the input of shape {format_shape(shape)} has {product(shape)} elements, the "
            f"target_shape {format_shape(dims)} has {product(dims)}: expected as many"
        )
    return [tuple(dims)]


@layer(
    47,
    inputs=[_ANY, filling("target_shape", "A vector with a number for each axis of the output.")],
    outputs=[result(axis=same_axis)],
    infer=_reshaped,
    moves_data=True,
)
class ReshapeDescriptor(Descriptor):
    """Elements in the same order, in another shape.

    Attributes:
        target_shape: The new shape; one dimension may be -1: what is left.
        zero_copies: Whether 0 in ``target_shape`` means the input's dimension (ONNX).
    """

    target_shape: tuple[int, ...] = parameter((), at_least=-1)
    zero_copies: bool = False

    def check(self) -> None:
        """Raise InvalidArgumentError if two dimensions are to be inferred."""
        if self.target_shape.count(-1) > 1:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter 'target_shape' is {self.target_shape!r}, "
                "expected at most one -1"
            )


def _check_mappings(mappings: tuple[int, ...], shape: Shape) -> None:
    if sorted(mappings) != list(range(len(shape))):
        raise ShapeError(
            f"the dim_mappings {list(mappings)} do not name each axis of the input of shape "
            f"{format_shape(shape)} once"
        )


def _permuted(descriptor: PermuteDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    _check_mappings(descriptor.dim_mappings, shape)
    return [tuple(shape[descriptor.dim_mappings.index(axis)] for axis in range(len(shape)))]


def _permuted_axis(
    descriptor: PermuteDescriptor, info: TensorInfo, _shape: Shape | None
) -> int | None:
    axis = info.axis
    return None if axis is None or info.shape is None else descriptor.dim_mappings[axis]


_permuting = functools.partial(layer, inputs=[_ANY], moves_data=True)


@_permuting(41, outputs=[result(axis=_permuted_axis)], infer=_permuted)
class PermuteDescriptor(Descriptor):
    """The axes in another order, said from the input's side.

    Attributes:
        dim_mappings: Axis i of the input becomes axis dim_mappings[i] of the output.
    """

    dim_mappings: tuple[int, ...] = ()


def _transposed(descriptor: TransposeDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    _check_mappings(descriptor.dim_mappings, shape)
    return [tuple(shape[axis] for axis in descriptor.dim_mappings)]


def _transposed_axis(
    descriptor: TransposeDescriptor, info: TensorInfo, _shape: Shape | None
) -> int | None:
    axis = info.axis
    return None if axis is None or info.shape is None else descriptor.dim_mappings.index(axis)


@_permuting(61, outputs=[result(axis=_transposed_axis)], infer=_transposed)
class TransposeDescriptor(Descriptor):
    """The axes in another order, from the output's side.

    Attributes:
        dim_mappings: Axis i of the output is axis dim_mappings[i] of the input.
    """

    dim_mappings: tuple[int, ...] = ()


def _space_to_depth(descriptor: SpaceToDepthDescriptor, inputs: Inputs) -> Shapes:
    shape = require_rank(inputs, "input", 4)
    layout, block = descriptor.data_layout, descriptor.block_size
    output = list(shape)
    for axis in layout.spatial_axes:
        output[axis] = divided(shape, axis, block)
    channels = layout.channel_axis
    output[channels] = product([shape[channels], block * block])
    return [tuple(output)]


@layer(
    54,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says.")],
    infer=_space_to_depth,
    moves_data=True,
    axes=PICTURES,
)
class SpaceToDepthDescriptor(Descriptor):
    """Blocks of the plane moved into the channels.

    Output channel (y * block_size + x) * C + c is channel c at row y, column x of the block.

    Attributes:
        block_size: Height and width of a block.
        data_layout: NHWC or NCHW.
    """

    block_size: int = parameter(1, at_least=1)
    data_layout: DataLayout = parameter(DataLayout.NHWC, one_of=PLANAR)


def _depth_to_space(descriptor: DepthToSpaceDescriptor, inputs: Inputs) -> Shapes:
    shape = require_rank(inputs, "input", 4)
    layout, block = descriptor.data_layout, descriptor.block_size
    output = list(shape)
    for axis in layout.spatial_axes:
        output[axis] = product([shape[axis], block])
    channels = layout.channel_axis
    output[channels] = divided(shape, channels, block * block)
    return [tuple(output)]


@layer(
    12,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says.")],
    infer=_depth_to_space,
    moves_data=True,
    axes=PICTURES,
)
class DepthToSpaceDescriptor(SpaceToDepthDescriptor):
    """Channels moved into blocks of the plane, inverse to SpaceToDepth.

    Attributes:
        column_row_depth: Whether the input's channel c * block_size^2 + y * block_size + x goes to
            row y, column x of the block of channel c instead (ONNX: mode CRD).
    """

    column_row_depth: bool = False


def _space_to_batch(descriptor: SpaceToBatchNdDescriptor, inputs: Inputs) -> Shapes:
    block = descriptor.block_shape
    shape = require_rank(inputs, "input", 2 + len(block))
    output = list(shape)
    first = 1 if descriptor.data_layout is DataLayout.NHWC else 2
    for axis, (size, (before, after)) in enumerate(
        zip(block, descriptor.pad_list, strict=True), start=first
    ):
        output[axis] = plus(shape[axis], before + after)
        output[axis] = divided(output, axis, size)
    output[0] = product([shape[0], math.prod(block)])
    return [tuple(output)]


@layer(
    53,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W]; without W for a block of one axis.")],
    infer=_space_to_batch,
    axes=PICTURES,
)
class SpaceToBatchNdDescriptor(Descriptor):
    """Padded blocks moved into the batch (TensorFlow: SpaceToBatchND).

    Attributes:
        block_shape: The size of a block along each spatial axis.
        pad_list: Zeros (before, after) each spatial axis.
        data_layout: NCHW or NHWC.
    """

    block_shape: tuple[int, ...] = parameter((1, 1), at_least=1)
    pad_list: tuple[tuple[int, int], ...] = parameter(((0, 0), (0, 0)), at_least=0)
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)

    def check(self) -> None:
        """Raise InvalidArgumentError if a parameter is outside of its range."""
        self.require_pairs("pad_list", len(self.block_shape))


def _batch_to_space(descriptor: BatchToSpaceNdDescriptor, inputs: Inputs) -> Shapes:
    block = descriptor.block_shape
    shape = require_rank(inputs, "input", 2 + len(block))
    output = list(shape)
    first = 1 if descriptor.data_layout is DataLayout.NHWC else 2
    for axis, (size, (before, after)) in enumerate(
        zip(block, descriptor.crops, strict=True), start=first
    ):
        output[axis] = plus(product([shape[axis], size]), -before - after)
        cropped = output[axis]
        if isinstance(cropped, int) and cropped < 0:
            raise ShapeError(
                f"the crops {(before, after)} are too large: expected a sum of at most "
                f"{shape[axis]} * {size}, the size of axis {axis} of the input of shape "
                f"{format_shape(shape)} times its block size"
            )
    output[0] = divided(shape, 0, math.prod(block))
    return [tuple(output)]


@layer(
    4,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W]; without W for a block of one axis.")],
    infer=_batch_to_space,
    moves_data=True,
    axes=PICTURES,
)
class BatchToSpaceNdDescriptor(Descriptor):
    """The batch moved into blocks of the plane, then cropped.

    The inverse of SpaceToBatchNd (TensorFlow: BatchToSpaceND).

    Attributes:
        block_shape: The size of a block along each spatial axis.
        crops: How many elements are cut off (before, after) each spatial axis.
        data_layout: NCHW or NHWC.
    """

    block_shape: tuple[int, ...] = parameter((1, 1), at_least=1)
    crops: tuple[tuple[int, int], ...] = parameter(((0, 0), (0, 0)), at_least=0)
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)

    def check(self) -> None:
        """Raise InvalidArgumentError if a parameter is outside of its range."""
        self.require_pairs("crops", len(self.block_shape))


def _channel_shuffle(descriptor: ChannelShuffleDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if descriptor.num_groups == 0:
        raise ShapeError("num_groups is 0: expected at least 1")
    divided(shape, normalized_axis(descriptor.axis, len(shape)), descriptor.num_groups)
    return [shape]


def _unshuffled_axis(
    descriptor: ChannelShuffleDescriptor, info: TensorInfo, shape: Shape | None
) -> int | None:
    if info.axis is None or shape is None or info.axis == descriptor.axis % len(shape):
        return None
    return info.axis


@layer(
    67,
    inputs=[_ANY],
    outputs=[result(axis=_unshuffled_axis)],
    infer=_channel_shuffle,
    moves_data=True,
)
class ChannelShuffleDescriptor(Descriptor):
    """An axis seen as [groups, members] becomes [members, groups] (ShuffleNet).

    Attributes:
        num_groups: The number of groups, at least 1.
        axis: The axis; counted from the end if negative.
    """

    num_groups: int = parameter(0, at_least=0)
    axis: int = 0


def _broadcast_to(descriptor: BroadcastToDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("broadcast_to_shape"):
        count = filled_length(inputs, "broadcast_to_shape")
        return [None if count is None else (None,) * max(count, len(shape))]
    return [broadcast(shape, descriptor.broadcast_to_shape)]


@layer(
    76,
    inputs=[
        _ANY,
        filling("broadcast_to_shape", "A vector with a number for each axis of the target."),
    ],
    outputs=[result(axis=same_axis)],
    infer=_broadcast_to,
    moves_data=True,
)
class BroadcastToDescriptor(Descriptor):
    """The input repeated along axes that have one element.

    Attributes:
        broadcast_to_shape: The target. Where it has 1 or no axis, the input's dimension stays
            (ONNX: Expand).
    """

    broadcast_to_shape: tuple[int, ...] = parameter((), at_least=0)


def _tiled(descriptor: TileDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("multiples"):
        return [(None,) * len(shape)]
    if len(descriptor.multiples) != len(shape):
        raise ShapeError(
            f"the multiples {list(descriptor.multiples)} do not fit the input of shape "
            f"{format_shape(shape)}: expected {len(shape)} of them"
        )
    return [
        tuple(product([dim, count]) for dim, count in zip(shape, descriptor.multiples, strict=True))
    ]


@layer(
    74,
    inputs=[_ANY, filling("multiples", "A vector with a number for each axis of the input.")],
    outputs=[result(axis=same_axis)],
    infer=_tiled,
    moves_data=True,
)
class TileDescriptor(Descriptor):
    """The whole input repeated along its axes.

    Attributes:
        multiples: How often, one number per axis.
    """

    multiples: tuple[int, ...] = parameter((), at_least=0)


def _padded(descriptor: PadDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    if inputs.awaits("pad_list"):
        return [(None,) * len(shape)]
    if len(descriptor.pad_list) != len(shape):
        raise ShapeError(
            f"the pad_list {descriptor.pad_list!r} does not fit the input of shape "
            f"{format_shape(shape)}: expected {len(shape)} pairs"
        )
    room = {PaddingMode.REFLECT: 1, PaddingMode.SYMMETRIC: 0}.get(descriptor.padding_mode)
    for axis, (dim, pair) in enumerate(zip(shape, descriptor.pad_list, strict=True)):
        if room is not None and isinstance(dim, int) and max(pair) > max(dim - room, 0):
            raise ShapeError(
                f"{descriptor.padding_mode.arm_name} padding of {pair} needs more than the {dim} "
                f"elements of the axis {axis}"
            )
    return [
        tuple(plus(dim, sum(pair)) for dim, pair in zip(shape, descriptor.pad_list, strict=True))
    ]


@layer(
    40,
    inputs=[
        _ANY,
        filling("pad_list", "A tensor [rank of the input, 2]."),
        filling("pad_value", "A tensor of one number."),
    ],
    outputs=[result(axis=same_axis)],
    infer=_padded,
)
class PadDescriptor(Descriptor):
    """The input with elements put before and after its axes.

    Attributes:
        pad_list: How many elements (before, after) each axis.
        pad_value: The value of Constant padding: a real value, for a quantized input too, so that 0
            is its zero point (Arm NN takes a stored value there). An integer stays exact.
        padding_mode: Constant; Reflect (the edge is not repeated) or Symmetric (it is).
    """

    pad_list: tuple[tuple[int, int], ...] = parameter((), at_least=0)
    pad_value: float = 0.0
    padding_mode: PaddingMode = PaddingMode.CONSTANT

    def check(self) -> None:
        """Raise InvalidArgumentError unless the list holds pairs of counts."""
        self.require_pairs("pad_list", len(self.pad_list))


def _reversed(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    require_rank(inputs, "axis", 0, 1)
    axes = inputs.value("axis")
    if axes is not None:
        normalized_axes([int(axis) for axis in axes.ravel()], len(shape))
    return [shape]


@layer(
    73,
    inputs=[_ANY, slot("axis", "The axes to turn, counted from the end if negative; integers.")],
    infer=_reversed,
    moves_data=True,
)
class ReverseV2Descriptor(Descriptor):
    """The elements in opposite order along some axes (TensorFlow: ReverseV2)."""
