# SPDX-License-Identifier: MIT
"""Permutations of axes: moved down, composed, removed, merged into BatchToSpaceNd."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.layers.reshaping import (
    BatchToSpaceNdDescriptor,
    DepthToSpaceDescriptor,
    PermuteDescriptor,
    TransposeDescriptor,
)
from armnn.optimizer.passes._edits import (
    binary_operation,
    bypass,
    first_input,
    holds,
    may_absorb,
    only_reader,
    replace_layer,
    rewire,
    walk,
)
from armnn.types import DataLayout

PERMUTATIONS = (PermuteDescriptor, TransposeDescriptor)


def axis_order(layer: Layer) -> tuple[int, ...] | None:
    """Return a permutation's order of axes.

    It holds the input's axis for each of the output's; None for other layers.
    """
    descriptor = layer.descriptor
    if isinstance(descriptor, TransposeDescriptor):
        return descriptor.dim_mappings
    if isinstance(descriptor, PermuteDescriptor):
        return inverse(descriptor.dim_mappings)
    return None


def _descriptor_of_order(
    layer: Layer, order: tuple[int, ...]
) -> PermuteDescriptor | TransposeDescriptor:
    """Return the descriptor of a permutation with that order."""
    if isinstance(layer.descriptor, TransposeDescriptor):
        return TransposeDescriptor(dim_mappings=order)
    return PermuteDescriptor(dim_mappings=inverse(order))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the order that undoes another one."""
    return tuple(order.index(axis) for axis in range(len(order)))


def cancel_inverse_permutes(network: Network) -> int:
    """Cancel each Permute or Transpose with those before it.

    If they do not cancel altogether, one permutation remains. (Arm NN: OptimizeInversePermutes,
    OptimizeInverseTransposes; those only know pairs of one kind that cancel altogether.) A
    permutation that other layers read stays for them.

    Returns:
        How many permutations were skipped or taken out.
    """
    changes = 0
    for layer in walk(network, PERMUTATIONS):
        while _skip_producer(network, layer):
            changes += 1
        changes += _remove_identity(network, layer)
    return changes


def _skip_producer(network: Network, layer: Layer) -> bool:
    """Let a permutation read the input of the permutation before it."""
    order = axis_order(layer)
    if order is None:
        return False
    between = first_input(layer)
    first = between.producer
    earlier = axis_order(first)
    if earlier is None or not may_absorb(layer, first):
        return False
    source = first_input(first)
    if not (
        source.info.is_type_space_match(between.info)
        and between.info.is_type_space_match(layer.output.info)
    ):
        return False
    combined = tuple(earlier[axis] for axis in order)
    return rewire(network, layer, [source], _descriptor_of_order(layer, combined))


def _remove_identity(network: Network, layer: Layer) -> bool:
    order = axis_order(layer)
    if order is None or order != tuple(range(len(order))):
        return False
    source = first_input(layer)
    if source.info != layer.output.info:
        return False
    bypass(network, layer, source)
    return True


_ELEMENTWISE = ("Activation", "ElementwiseUnary", "FakeQuantization", "Floor")


def move_permute_down(network: Network) -> int:
    """Let element-wise layers read the inputs of the permutations before them.

    All operands must be permuted alike, constants aside, and nothing else may read the permuted
    values. Arm NN moves permutations up (MovePermuteUp, MoveTransposeUp), which would part an
    activation from the convolution before it that a backend fuses it with; down, they meet each
    other as well.

    Returns:
        How many layers changed places with permutations.
    """
    if not holds(network, PERMUTATIONS):
        return 0
    return sum(_swap(network, layer) for layer in walk(network))


def _swap(network: Network, layer: Layer) -> bool:
    for value in layer.inputs:
        if value is not None and isinstance(value.producer.descriptor, PERMUTATIONS):
            break
    else:
        return False  # as of most
    if layer.type not in _ELEMENTWISE and binary_operation(layer) is None:
        return False
    output = layer.output
    undo, permutes = _operand_permutations(layer)
    shape = output.info.shape
    if undo is None or shape is None:
        return False
    if all(other.output.info.shape != shape for other in permutes):
        return False  # it would have to move more elements than now
    permute = permutes[0]
    inputs = [_unpermuted(network, value, undo) for value in layer.inputs]
    info = output.info.with_shape(shape[axis] for axis in undo)
    moved = network.add(
        layer.type, inputs, layer.descriptor, name=_spare(network, layer), outputs=[info]
    )
    behind = network.add(
        permute.type,
        [moved.output],
        permute.descriptor,
        name=_spare(network, permute),
        outputs=[output.info],
    )
    names = layer.name, permute.name
    moved.backend_hint, behind.backend_hint = layer.backend_hint, permute.backend_hint
    bypass(network, layer, behind.output)
    network.rename(moved, names[0])
    network.rename(behind, names[1])
    return True


def _operand_permutations(layer: Layer) -> tuple[tuple[int, ...] | None, list[Layer]]:
    """Return a layer's permutations, and the common inverse's layers."""
    values = [value for value in layer.inputs if value is not None]
    permutes = [value.producer for value in values if value.constant is None]
    kinds = dict.fromkeys((axis_order(permute), permute.backend_hint) for permute in permutes)
    order = axis_order(permutes[0]) if len(kinds) == 1 else None
    if order is None or any(value.info.is_per_axis for value in (*values, layer.output)):
        return None, []
    for permute in permutes:
        if only_reader(permute.output) is not layer:
            return None, []
        if not first_input(permute).info.is_type_space_match(permute.output.info):
            return None, []
    return inverse(order), permutes


def _unpermuted(network: Network, value: Value | None, undo: tuple[int, ...]) -> Value | None:
    """Return a permutation's input, or a constant permuted to match."""
    if value is None:
        return None
    if value.constant is None:
        return first_input(value.producer)
    data: NDArray[Any] = value.constant
    if data.size == 1:
        return value
    wide = data.reshape((1,) * (len(undo) - data.ndim) + data.shape).transpose(undo)
    return network.add_constant(
        np.ascontiguousarray(wide),
        value.info.with_shape(wide.shape),
        name=_spare(network, value.producer),
    )


def _spare(network: Network, layer: Layer) -> str:
    return network.unique_name(layer.name)


_CHANNELS_AND_BATCH_SWAPPED = (3, 1, 2, 0)


def permute_batch_to_space_as_depth_to_space(network: Network) -> int:
    """Replace permutation and BatchToSpaceNd by DepthToSpace.

    (Arm NN: PermuteAndBatchToSpaceAsDepthToSpace, TransposeAndBatchToSpaceAsDepthToSpace.) The
    permutation swaps batch and channels. The block must be square, nothing cropped, and the result
    one image of one channel.

    Returns:
        How many pairs were replaced.
    """
    return sum(_replace(network, layer) for layer in walk(network, BatchToSpaceNdDescriptor))


def _replace(network: Network, layer: Layer) -> bool:
    descriptor = layer.descriptor
    if not isinstance(descriptor, BatchToSpaceNdDescriptor):
        return False
    swapped = first_input(layer)
    permute = swapped.producer
    block = descriptor.block_shape
    shape = layer.output.info.shape
    if (
        axis_order(permute) != _CHANNELS_AND_BATCH_SWAPPED
        or only_reader(swapped) is not layer
        or not may_absorb(layer, permute)
        or descriptor.data_layout is not DataLayout.NHWC
        or len(block) != 2
        or block[0] != block[1]
        or any(pair != (0, 0) for pair in descriptor.crops)
        or shape is None
        or (shape[0], shape[-1]) != (1, 1)
    ):
        return False
    source = first_input(permute)
    if not (
        source.info.is_type_space_match(swapped.info)
        and swapped.info.is_type_space_match(layer.output.info)
    ):
        return False
    return replace_layer(
        network,
        layer,
        "DepthToSpace",
        [source],
        DepthToSpaceDescriptor(block_size=block[0], data_layout=DataLayout.NHWC),
    )
