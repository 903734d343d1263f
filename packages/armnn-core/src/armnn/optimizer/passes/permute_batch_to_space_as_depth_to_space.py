# SPDX-License-Identifier: MIT
"""A swap of batch and channels before BatchToSpaceNd, merged."""

from __future__ import annotations

from armnn.graph import Layer, Network
from armnn.layers.reshaping import BatchToSpaceNdDescriptor, DepthToSpaceDescriptor
from armnn.optimizer.passes._pattern import (
    first_input,
    may_absorb,
    only_reader,
    replace_layer,
    walk,
)
from armnn.optimizer.passes._permutation import axis_order
from armnn.types import DataLayout

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
