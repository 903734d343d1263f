# SPDX-License-Identifier: MIT
"""Arithmetic per channel, folded into weights and bias of the linear layer before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._process_memory import HugePages
from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.layers.matmul import FullyConnectedDescriptor
from armnn.layers.normalization import BatchNormalizationDescriptor
from armnn.optimizer.passes._edits import (
    BINARY,
    binary_operation,
    bypass,
    discard_unread,
    first_input,
    may_absorb,
    only_reader,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation, DataType

_PerChannel: TypeAlias = NDArray[np.float64]

_BLOCK = 1 << 15
"""How many weights are looked at at a time, of which each takes a byte more."""

_CONVERTED = 1024
"""Weights that NumPy converts at a time: their float64 and the factors fit into the first cache."""

_FLOATS = (DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64, DataType.BFLOAT16)


@dataclass(frozen=True, slots=True, eq=False)
class _LinearLayer:
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
    def of(cls, layer: Layer) -> _LinearLayer | None:
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
        self, network: Network, factor: _PerChannel, offset: _PerChannel, pages: HugePages
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

    def _scaled(self, factor: _PerChannel, pages: HugePages) -> NDArray[Any] | None:
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


def fold_channel_arithmetic(network: Network) -> int:
    """Fold arithmetic with constants into the linear layer before.

    It is Add, Sub, Mul, Div and the Linear activation. Which layers these may be is the same as for
    ``fold_batch_normalization``. The constant is one number, or one per channel. Exports of
    PaddlePaddle write biases and scales like that.

    Returns:
        How many layers were folded.
    """
    pages = HugePages()
    layers = walk(network, (ActivationDescriptor, *BINARY))
    return sum(_fold_arithmetic(network, layer, pages) for layer in layers)


def _fold_arithmetic(network: Network, layer: Layer, pages: HugePages) -> int:
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor) and not _is_linear(descriptor):
        return 0  # as most are
    for position, source in enumerate(layer.inputs[:2]):
        if source is None or only_reader(source) is not layer:
            continue
        if any(value is None or value.constant is None for value in _others(layer, position)):
            continue
        linear = _LinearLayer.of(source.producer)
        if (
            linear is None
            or source.info != layer.output.info
            or not may_absorb(linear.layer, layer)
        ):
            continue
        change = _factor_and_offset(layer, position, linear)
        if change is not None:
            return _fold_with_followers(network, linear, layer, *change, pages)
    return 0


def _is_linear(activation: ActivationDescriptor) -> bool:
    return activation.function is ActivationFunction.LINEAR


def _others(layer: Layer, position: int) -> tuple[Value | None, ...]:
    """Return the inputs besides one."""
    return layer.inputs[:position] + layer.inputs[position + 1 :]


def _fold_with_followers(
    network: Network,
    linear: _LinearLayer,
    layer: Layer,
    factor: _PerChannel,
    offset: _PerChannel,
    pages: HugePages,
) -> int:
    """Fold a layer, and the arithmetic behind it, at once.

    So weights are scaled once. What they cannot hold together is folded without the followers.

    Args:
        network: The network.
        linear: The layer before.
        layer: Its only reader.
        factor: The factor of each channel in the reader.
        offset: The offset that it adds then.
        pages: Where the new weights are.

    Returns:
        How many layers were folded.
    """
    layers, factors, offsets = _followers(linear, layer)
    source, before = linear.layer.output, linear.layer.inputs
    if not linear.scale_and_shift(network, factor * factors, offset * factors + offsets, pages):
        if not layers or not linear.scale_and_shift(network, factor, offset, pages):
            return 0
        layers = []
    for each in (layer, *layers):
        bypass(network, each, source)
    discard_unread(network, before)
    return 1 + len(layers)


def _followers(linear: _LinearLayer, layer: Layer) -> tuple[list[Layer], _PerChannel, _PerChannel]:
    """Return the arithmetic layers behind a layer, and their functions."""
    found: list[Layer] = []
    factor, offset = np.ones(linear.channels), np.zeros(linear.channels)
    value = layer.output
    while only_reader(value) is not None:
        ((reader, position),) = value.uses
        change = _factor_and_offset(reader, position, linear)
        if (
            change is None
            or reader.output.info != value.info
            or not may_absorb(linear.layer, reader)
        ):
            break
        factor, offset = factor * change[0], offset * change[0] + change[1]
        found.append(reader)
        value = reader.output
    return found, factor, offset


def _factor_and_offset(
    layer: Layer, position: int, linear: _LinearLayer
) -> tuple[_PerChannel, _PerChannel] | None:
    """Return a layer's factor and offset for one input.

    ``position`` is the number of the input.
    """
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor):
        if not _is_linear(descriptor):
            return None
        return np.full(linear.channels, descriptor.a), np.full(linear.channels, descriptor.b)
    operation = binary_operation(layer)
    constant = layer.inputs[1 - position] if operation is not None else None
    if constant is None or constant.constant is None:
        return None
    numbers = _per_channel(constant.constant, linear, layer.output.info.rank)
    if numbers is None:
        return None
    one, zero = np.ones_like(numbers), np.zeros_like(numbers)
    match operation, position:
        case BinaryOperation.ADD, _:
            return one, numbers
        case BinaryOperation.MUL, _:
            return numbers, zero
        case BinaryOperation.SUB, 0:
            return one, -numbers
        case BinaryOperation.SUB, 1:
            return -one, numbers
        case BinaryOperation.DIV, 0 if numbers.all():
            return 1 / numbers, zero
        case _:
            return None


def _per_channel(
    constant: NDArray[np.generic], linear: _LinearLayer, rank: int | None
) -> _PerChannel | None:
    """Return a constant per channel, None if otherwise shaped.

    It must not vary along another axis.
    """
    if rank is None:
        return None
    size = ((1,) * (rank - constant.ndim) + constant.shape)[linear.channel_axis]
    if constant.size != size:
        return None
    return np.broadcast_to(constant.astype(np.float64).reshape(-1), (linear.channels,))


def fold_batch_normalization(network: Network) -> int:
    """Fold BatchNormalization into the layer before it.

    That is a Convolution2d (grouped or not), DepthwiseConvolution2d, TransposeConvolution2d,
    Convolution3d or FullyConnected layer in floating point whose weights are constant and whose
    output nothing else reads (Arm NN: FuseBatchNormIntoConvolution2D, ...DepthwiseConvolution2D).

    Returns:
        How many normalizations were folded.
    """
    pages = HugePages()
    layers = walk(network, BatchNormalizationDescriptor)
    return sum(_fold_normalization(network, layer, pages) for layer in layers)


def _fold_normalization(network: Network, layer: Layer, pages: HugePages) -> int:
    descriptor = layer.descriptor
    if not isinstance(descriptor, BatchNormalizationDescriptor):
        return 0
    source = first_input(layer)
    linear = _LinearLayer.of(source.producer)
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
    return _fold_with_followers(network, linear, layer, factor, offset, pages)
