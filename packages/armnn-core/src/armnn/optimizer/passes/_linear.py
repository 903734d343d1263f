# SPDX-License-Identifier: MIT
"""Layers linear in constant weights: scale and shift their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._huge_pages import HugePages
from armnn.graph import Layer, Network
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn.types import DataType

PerChannel: TypeAlias = NDArray[np.float64]

_BLOCK = 1 << 15
"""How many weights are looked at at a time, of which each takes a byte more."""

_CONVERTED = 1024
"""Weights that NumPy converts at a time: their float64 and the factors fit into the first cache."""

_FLOATS = (DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64, DataType.BFLOAT16)


@dataclass(frozen=True, slots=True, eq=False)
class LinearLayer:
    """A convolution or fully connected layer with constant weights.

    It is in floating point; the bias is constant as well.

    Attributes:
        layer: The layer.
        weights: Its weights.
        bias: Its bias, None if it has none.
        weights_axis: The axis of the weights that counts the channels of the output.
        channel_axis: The axis of the output that counts them.
    """

    layer: Layer
    weights: NDArray[Any]
    bias: NDArray[Any] | None
    weights_axis: int
    channel_axis: int

    @property
    def channels(self) -> int:
        """The number of channels of the output."""
        return int(self.weights.shape[self.weights_axis])

    @classmethod
    def of(cls, layer: Layer) -> LinearLayer | None:
        """Return a layer as linear, None if it is not."""
        axes = _axes(layer)
        if axes is None:
            return None
        weights, bias = layer.constant("weights"), layer.constant("bias")
        if weights is None or (bias is None and layer.input("bias") is not None):
            return None
        infos = [value.info for value in (*layer.inputs, layer.output) if value is not None]
        if any(info.data_type not in _FLOATS for info in infos):
            return None
        return cls(layer, weights, bias, *axes)

    def scale_and_shift(
        self, network: Network, factor: PerChannel, offset: PerChannel, pages: HugePages
    ) -> bool:
        """Make the layer compute ``factor * output + offset``.

        Readers of the output are not considered. The arithmetic is in float64. Numbers that the
        types of the weights and the bias cannot hold are left to the layer that has them now.

        Args:
            network: The network of the layer.
            factor: One number per channel of the output.
            offset: One number per channel of the output.
            pages: Where the new weights are.

        Returns:
            Whether it was done.
        """
        weights = self._scaled(factor, pages)
        bias = np.zeros(self.channels, self.weights.dtype) if self.bias is None else self.bias
        with np.errstate(all="ignore"):
            new_bias = (bias.astype(np.float64) * factor + offset).astype(bias.dtype)
        if weights is None or not np.isfinite(new_bias).all():
            return False
        values = [self.layer.inputs[1], None]
        for index, (slot, array) in enumerate((("weights", weights), ("bias", new_bias))):
            if array is not self.weights:
                name = network.unique_name(f"{self.layer.name}.{slot}")
                values[index] = network.add_constant(array, name=name)
        network.replace_inputs(self.layer, [self.layer.inputs[0], *values])
        return True

    def _scaled(self, factor: PerChannel, pages: HugePages) -> NDArray[Any] | None:
        """Return the scaled weights, None if one is not finite.

        Each is rounded once, from float64: NumPy converts some thousands at a time, where the
        weights in float64 may be hundreds of megabytes. A shift alone leaves the weights as they
        are.
        """
        weights = self.weights
        scaled = weights
        if not (factor == 1.0).all():
            scaled = _empty_like(weights, pages)
            along_channels = [1] * weights.ndim
            along_channels[self.weights_axis] = self.channels
            factors = factor.reshape(along_channels)
            with np.errstate(all="ignore"):
                np.setbufsize(_CONVERTED)  # until the end of this block
                np.multiply(weights, factors, out=scaled, dtype=np.float64, casting="unsafe")
        rows = max(1, len(weights) * _BLOCK // max(1, weights.size))
        for start in range(0, len(weights), rows):
            if not np.isfinite(scaled[start : start + rows]).all():
                return None
        return scaled


def _empty_like(weights: NDArray[Any], pages: HugePages) -> NDArray[Any]:
    made: NDArray[Any] = np.frombuffer(pages.empty(weights.nbytes), weights.dtype)
    return made.reshape(weights.shape)


def _axes(layer: Layer) -> tuple[int, int] | None:
    """Return the channel axes of weights and output."""
    descriptor = layer.descriptor
    match descriptor:
        case ConvolutionIntegerDescriptor():
            return None  # a Convolution2d by its fields, but of integers and without a bias
        case DepthwiseConvolution2dDescriptor():
            return 3, descriptor.data_layout.channel_axis
        case Convolution2dDescriptor() | TransposeConvolution2dDescriptor():
            return 0, descriptor.data_layout.channel_axis
        case Convolution3dDescriptor():
            return 4, descriptor.data_layout.channel_axis
        case FullyConnectedDescriptor():
            return (0 if descriptor.transpose_weight_matrix else 1), 1
        case _:
            return None
