# SPDX-License-Identifier: MIT
"""Blocks of plane or batch, and groups of channels, moved."""

from __future__ import annotations

import math

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import PLANAR, divided, normalized_axis, plus, product, require_rank
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.tensor import Shape, TensorInfo, format_shape
from armnn.types import DataLayout

_ANY = slot("input", "Of any rank.")


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
                f"the crops {(before, after)} take more than the axis {axis} of the input of shape "
                f"{format_shape(shape)} holds in blocks of {size}"
            )
    output[0] = divided(shape, 0, math.prod(block))
    return [tuple(output)]


@layer(
    4,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W]; without W for a block of one axis.")],
    infer=_batch_to_space,
    moves_data=True,
)
class BatchToSpaceNdDescriptor(Descriptor):
    """The batch moved into blocks of the plane, then cropped.

    The inverse of SpaceToBatchNd (TensorFlow: BatchToSpaceND).

    Attributes:
        block_shape: The size of a block along each spatial axis.
        crops: What is cut off (before, after) each spatial axis.
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
