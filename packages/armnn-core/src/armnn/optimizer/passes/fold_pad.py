# SPDX-License-Identifier: MIT
"""A Pad, folded into the window behind it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from armnn.graph import Layer, Network
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
)
from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.layers.reshaping import PadDescriptor
from armnn.optimizer.passes._edits import (
    awaits_parameters,
    first_input,
    may_absorb,
    rewire,
    walk,
)
from armnn.tensor import TensorInfo
from armnn.types import OutputShapeRounding, PaddingMethod, PaddingMode, PoolingAlgorithm

_Pooling: TypeAlias = Pooling2dDescriptor | Pooling3dDescriptor
_Convolution: TypeAlias = Convolution2dDescriptor | Convolution3dDescriptor

_FIELDS = (("pad_front", "pad_back"), ("pad_top", "pad_bottom"), ("pad_left", "pad_right"))
"""The parameters for the padding (before, after) depth, height and width."""


def fold_pad(network: Network) -> int:
    """Fold Pad layers into convolutions and poolings.

    (Arm NN: FoldPadIntoConvolution2d, ...DepthwiseConvolution2d, ...Pooling2d.) The Pad writes real
    zeros around the spatial axes, or in front of a maximum pooling minus infinity or the lowest
    quantized value, as the pooling's own padding does. Averages count what a Pad writes, so their
    own padding must count as well. A Pad that others read too stays for them.

    Returns:
        How many layers took over a Pad.
    """
    changes = 0
    for layer in walk(network, _Convolution | _Pooling):
        while _skip_pad(network, layer):
            changes += 1
    return changes


def _skip_pad(network: Network, layer: Layer) -> bool:
    descriptor = layer.descriptor
    if not isinstance(descriptor, _Convolution | _Pooling):
        return False
    if isinstance(descriptor, ConvolutionIntegerDescriptor):
        return False  # around its input it adds the zero point, which a Pad need not
    padded = first_input(layer)
    pad = padded.producer
    if not isinstance(pad.descriptor, PadDescriptor) or not may_absorb(layer, pad):
        return False
    source = first_input(pad)
    if (
        awaits_parameters(pad)
        or not source.info.is_type_space_match(padded.info)
        or pad.descriptor.padding_mode is not PaddingMode.CONSTANT
        or not _is_neutral(pad.descriptor.pad_value, descriptor, source.info)
    ):
        return False
    amounts = dict(enumerate(pad.descriptor.pad_list))
    inside = [amounts.pop(axis) for axis in descriptor.data_layout.spatial_axes]
    if any(pair != (0, 0) for pair in amounts.values()):
        return False
    if isinstance(descriptor, _Pooling):
        pooling = _pooling_over_padding(descriptor, source.info)
        if pooling is None:
            return False
        descriptor = pooling
    wider = _with_more_padding(descriptor, inside)
    if _is_maximum(wider) and not _sees_input(wider):
        return False
    return rewire(network, layer, [source, *layer.inputs[1:]], wider)


def _is_maximum(descriptor: _Convolution | _Pooling) -> bool:
    return isinstance(descriptor, _Pooling) and descriptor.pool_type is PoolingAlgorithm.MAX


def _is_neutral(value: float, descriptor: _Convolution | _Pooling, info: TensorInfo) -> bool:
    """Return whether the layer's own padding has a number's effect."""
    if not _is_maximum(descriptor):
        return value == 0
    if not info.is_quantized:
        return info.data_type.is_float and value == -math.inf
    lowest = np.iinfo(info.data_type.numpy_dtype).min
    return not info.is_per_axis and value <= (lowest - info.zero_point) * info.scale


def _sees_input(descriptor: _Convolution | _Pooling) -> bool:
    """Return whether each window has an element of the input.

    Backends may differ in the maximum of padding alone.
    """
    reach = descriptor.window if isinstance(descriptor, _Pooling) else ()
    return all(dilation == 1 for dilation in descriptor.dilations) and all(
        max(pair) < size for pair, size in zip(descriptor.padding, reach, strict=True)
    )


def _pooling_over_padding(descriptor: _Pooling, info: TensorInfo) -> _Pooling | None:
    """Return the pooling with padding counted, None if that differs.

    A maximum counts nothing.

    A window of size zero is as large as the input, so it would shrink. Where the output size is
    rounded up, a window must start in the input or in the padding before it; which ones do changes
    with the Pad, and only known shapes tell whether it matters.
    """
    if 0 in descriptor.window:
        return None
    if descriptor.output_shape_rounding is OutputShapeRounding.CEILING and not info.is_static:
        return None
    if _is_maximum(descriptor):
        return descriptor
    if descriptor.padding_method is PaddingMethod.EXCLUDE and any(
        pair != (0, 0) for pair in descriptor.padding
    ):
        return None
    return replace(descriptor, padding_method=PaddingMethod.IGNORE_VALUE)


def _with_more_padding(
    descriptor: _Convolution | _Pooling, amounts: list[tuple[int, int]]
) -> _Convolution | _Pooling:
    fields: dict[str, Any] = {
        name: own + more
        for names, pair, amount in zip(
            _FIELDS[-len(amounts) :], descriptor.padding, amounts, strict=True
        )
        for name, own, more in zip(names, pair, amount, strict=True)
    }
    return replace(descriptor, **fields)
