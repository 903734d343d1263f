# SPDX-License-Identifier: MIT
"""Layers linear in constant weights: scale and shift their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Network

    PerChannel: TypeAlias = NDArray[np.float64]

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

    def scale_and_shift(self, network: Network, factor: PerChannel, offset: PerChannel) -> bool:
        """Make the layer compute ``factor * output + offset``.

        Readers of the output are not considered. The arithmetic is in float64. Numbers that the
        types of the weights and the bias cannot hold are left to the layer that has them now.

        Args:
            network: The network of the layer.
            factor: One number per channel of the output.
            offset: One number per channel of the output.

        Returns:
            Whether it was done.
        """
        along_channels = [1] * self.weights.ndim
        along_channels[self.weights_axis] = self.channels
        bias = np.zeros(self.channels, self.weights.dtype) if self.bias is None else self.bias
        factors = factor.reshape(along_channels)
        new_weights = np.empty_like(self.weights)
        with np.errstate(all="ignore"):
            # Rounded to its type on the way: the weights in float64 may be hundreds of megabytes.
            np.multiply(self.weights, factors, out=new_weights, dtype=np.float64, casting="unsafe")
            new_bias = (bias.astype(np.float64) * factor + offset).astype(bias.dtype)
        stored = (new_weights, new_bias)
        if not all(np.isfinite(array).all() for array in stored):
            return False
        name = self.layer.name
        constants = [
            network.add_constant(array, name=network.unique_name(f"{name}.{slot}"))
            for array, slot in zip(stored, ("weights", "bias"), strict=True)
        ]
        network.replace_inputs(self.layer, [self.layer.inputs[0], *constants])
        return True


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
