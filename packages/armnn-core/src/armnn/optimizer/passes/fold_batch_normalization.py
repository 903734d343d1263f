# SPDX-License-Identifier: MIT
"""Batch normalisation folded into the convolution before it.

It becomes part of weights and bias.
"""

from __future__ import annotations

import numpy as np

from armnn._huge_pages import HugePages
from armnn.graph import Layer, Network
from armnn.layers.normalization import BatchNormalizationDescriptor
from armnn.optimizer.passes._linear import LinearLayer
from armnn.optimizer.passes._pattern import first_input, may_absorb, only_reader, walk
from armnn.optimizer.passes.fold_channel_arithmetic import fold_with_followers


def fold_batch_normalization(network: Network) -> int:
    """Fold BatchNormalization into the layer before it.

    That is a Convolution2d (grouped or not), DepthwiseConvolution2d, TransposeConvolution2d,
    Convolution3d or FullyConnected layer in floating point whose weights are constant and whose
    output nothing else reads (Arm NN: FuseBatchNormIntoConvolution2D, ...DepthwiseConvolution2D).

    Returns:
        How many normalisations were folded.
    """
    pages = HugePages()
    layers = walk(network, BatchNormalizationDescriptor)
    return sum(_fold(network, layer, pages) for layer in layers)


def _fold(network: Network, layer: Layer, pages: HugePages) -> int:
    descriptor = layer.descriptor
    if not isinstance(descriptor, BatchNormalizationDescriptor):
        return 0
    source = first_input(layer)
    linear = LinearLayer.of(source.producer)
    rank = source.info.rank
    if (
        linear is None
        or rank is None
        or descriptor.channel_axis % rank != linear.channel_axis
        or only_reader(source) is not layer
        or source.info != layer.output.info
        or not may_absorb(linear.layer, layer)
    ):
        return 0
    statistics = [layer.constant(name) for name in ("mean", "variance", "beta", "gamma")]
    known = [array.astype(np.float64) for array in statistics if array is not None]
    if len(known) != len(statistics):
        return 0
    mean, variance, beta, gamma = known
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + descriptor.eps)
        offset = beta - mean * factor
    return fold_with_followers(network, linear, layer, factor, offset, pages)
