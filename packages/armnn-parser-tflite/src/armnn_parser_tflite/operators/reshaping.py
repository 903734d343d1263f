# SPDX-License-Identifier: MIT
"""Elements in another order or shape, repeated or padded."""

from __future__ import annotations

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, add_layer, reshape, transpose
from armnn.types import DataLayout, PaddingMode
from armnn_parser_tflite._bindings import MirrorPadMode
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation
from armnn_parser_tflite.shapes import with_axis, without_axes

_LARGEST = 2**24


@operator("RESHAPE", complex_numbers=True)
def reshape_to(operation: Operation) -> Value:
    """Add Reshape to the second input's or options' shape.

    Older files have the shape in the options.
    """
    parts = (2,) if operation.is_complex() else ()
    if not operation.has_input(1):
        target = operation.options("ReshapeOptions").integers("NewShape")
        # Older converters write the shape of a scalar as one zero.
        return reshape(operation, operation.input(), (() if target == (0,) else target) + parts)
    wanted = operation.integers(1)
    if wanted.constant is not None:
        return reshape(operation, operation.input(), operation.known_integers(1) + parts)
    if parts:
        raise RefusedError("it gives complex numbers a computed shape")
    return operation.network.add_reshape(operation.input(), wanted, name=operation.layer_name())


@operator("SQUEEZE", newest=2, complex_numbers=True)
def squeeze(operation: Operation) -> Value:
    """Add Reshape without axes of one element.

    They are all of these, or those that are named.
    """
    shape = operation.shape()
    given = operation.options("SqueezeOptions").integers("SqueezeDims")
    axes = [operation.axis(axis, len(shape) - operation.is_complex()) for axis in given]
    if not given:
        axes = [axis for axis, dim in enumerate(shape) if dim == 1]
    return without_axes(operation, operation.input(), axes)


@operator("EXPAND_DIMS")
def expand_dims(operation: Operation) -> Value:
    """Add Reshape with one more axis."""
    axis = operation.axis(operation.known_integer(1), len(operation.shape()) + 1)
    return with_axis(operation, operation.input(), axis)


@operator("TRANSPOSE", newest=8)
def transpose_axes(operation: Operation) -> Value:
    """Add Transpose."""
    rank = len(operation.shape())
    order = [operation.axis(axis, rank) for axis in operation.known_integers(1)]
    return transpose(operation, operation.input(), order)


@operator("PAD", newest=6)
def pad(operation: Operation) -> Value:
    """Add Pad with zeros, the zero point where quantized."""
    inputs = [operation.input(), operation.integers(1)]
    return add_layer(operation, "Pad", inputs, output=operation.info())


@operator("PADV2", newest=6)
def pad_with(operation: Operation) -> Value:
    """Add Pad with the value in the third input."""
    return operation.network.add_pad(
        operation.input(),
        operation.integers(1),
        operation.input(2),
        name=operation.layer_name(),
        output=operation.info(),
    )


_MIRROR_MODES = {
    MirrorPadMode.REFLECT: PaddingMode.REFLECT,
    MirrorPadMode.SYMMETRIC: PaddingMode.SYMMETRIC,
}


@operator("MIRROR_PAD", newest=3)
def mirror_pad(operation: Operation) -> Value:
    """Add Pad with the mirror image."""
    mode = operation.options("MirrorPadOptions").integer("Mode")
    if mode not in _MIRROR_MODES:
        raise operation.error(f"the mode is {mode}: expected REFLECT (0) or SYMMETRIC (1)")
    return operation.network.add_pad(
        operation.input(),
        operation.integers(1),
        padding_mode=_MIRROR_MODES[mode],
        name=operation.layer_name(),
        output=operation.info(),
    )


@operator("TILE", newest=3)
def tile(operation: Operation) -> Value:
    """Add Tile."""
    return operation.network.add_tile(
        operation.input(), operation.integers(1), name=operation.layer_name()
    )


@operator("BROADCAST_TO", newest=4)
def broadcast_to(operation: Operation) -> Value:
    """Add BroadcastTo."""
    return operation.network.add_broadcast_to(
        operation.input(), operation.integers(1), name=operation.layer_name()
    )


@operator("REVERSE_V2", newest=4)
def reverse_v2(operation: Operation) -> Value:
    """Add ReverseV2."""
    return operation.network.add_reverse_v2(
        operation.input(), operation.integers(1), name=operation.layer_name()
    )


@operator("SPACE_TO_DEPTH", newest=2)
def space_to_depth(operation: Operation) -> Value:
    """Add SpaceToDepth."""
    return operation.network.add_space_to_depth(
        operation.input(),
        block_size=_block_size(operation, "SpaceToDepthOptions"),
        data_layout=DataLayout.NHWC,
        name=operation.layer_name(),
    )


@operator("DEPTH_TO_SPACE", newest=2)
def depth_to_space(operation: Operation) -> Value:
    """Add DepthToSpace."""
    return operation.network.add_depth_to_space(
        operation.input(),
        block_size=_block_size(operation, "DepthToSpaceOptions"),
        data_layout=DataLayout.NHWC,
        name=operation.layer_name(),
    )


def _block_size(operation: Operation, kind: str) -> int:
    size = operation.options(kind).integer("BlockSize")
    if not 0 < size <= _LARGEST:
        raise operation.error(f"the block size is {size}: expected 1 to {_LARGEST}")
    return size


@operator("SPACE_TO_BATCH_ND", newest=4)
def space_to_batch_nd(operation: Operation) -> Value:
    """Add SpaceToBatchNd."""
    return operation.network.add_space_to_batch_nd(
        operation.input(),
        block_shape=operation.known_integers(1),
        pad_list=_pairs(operation, 2),
        data_layout=DataLayout.NHWC,
        name=operation.layer_name(),
    )


@operator("BATCH_TO_SPACE_ND", newest=4)
def batch_to_space_nd(operation: Operation) -> Value:
    """Add BatchToSpaceNd."""
    return operation.network.add_batch_to_space_nd(
        operation.input(),
        block_shape=operation.known_integers(1),
        crops=_pairs(operation, 2),
        data_layout=DataLayout.NHWC,
        name=operation.layer_name(),
    )


def _pairs(operation: Operation, index: int) -> list[tuple[int, int]]:
    numbers = operation.known_integers(index)
    if len(numbers) != 2 * len(operation.known_integers(1)):
        raise operation.error(
            f"its input {index} has {len(numbers)} numbers: expected two for each axis of the block"
        )
    return list(zip(numbers[::2], numbers[1::2], strict=True))
