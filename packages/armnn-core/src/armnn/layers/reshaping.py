# SPDX-License-Identifier: MIT
"""Elements in another order or shape, repeated or padded."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import filled_length, inferred_dimension, product, same_dimension
from armnn.layers._spec import (
    Inputs,
    Shapes,
    filling,
    layer,
    parts_on_demand,
    result,
    same_axis,
    slot,
)
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape

if TYPE_CHECKING:
    from armnn.layers.reshaping_blocks import BatchToSpaceNdDescriptor as BatchToSpaceNdDescriptor
    from armnn.layers.reshaping_blocks import ChannelShuffleDescriptor as ChannelShuffleDescriptor
    from armnn.layers.reshaping_blocks import DepthToSpaceDescriptor as DepthToSpaceDescriptor
    from armnn.layers.reshaping_blocks import SpaceToBatchNdDescriptor as SpaceToBatchNdDescriptor
    from armnn.layers.reshaping_blocks import SpaceToDepthDescriptor as SpaceToDepthDescriptor
    from armnn.layers.reshaping_padding import BroadcastToDescriptor as BroadcastToDescriptor
    from armnn.layers.reshaping_padding import PadDescriptor as PadDescriptor
    from armnn.layers.reshaping_padding import ReverseV2Descriptor as ReverseV2Descriptor
    from armnn.layers.reshaping_padding import TileDescriptor as TileDescriptor
else:
    __getattr__ = parts_on_demand(__name__)

_ANY = slot("input", "Of any rank.")


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
    # What is copied stands on both sides, so it says nothing of what is left.
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
    inputs=[_ANY, filling("target_shape", "[rank of the output].")],
    outputs=[result(axis=same_axis)],
    infer=_reshaped,
    moves_data=True,
)
class ReshapeDescriptor(Descriptor):
    """The same elements in the same order, in another shape.

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
