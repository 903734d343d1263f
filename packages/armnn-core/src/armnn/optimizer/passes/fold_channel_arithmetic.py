# SPDX-License-Identifier: MIT
"""Arithmetic with per-channel constants, folded into the convolution before.

It becomes part of the weights.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._huge_pages import HugePages
from armnn.graph import Layer, Network, Value
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer.passes._linear import LinearLayer
from armnn.optimizer.passes._pattern import (
    BINARY,
    binary_operation,
    bypass,
    discard_unread,
    may_absorb,
    only_reader,
    walk,
)
from armnn.types import ActivationFunction, BinaryOperation

PerChannel: TypeAlias = NDArray[np.float64]


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
    return sum(_fold(network, layer, pages) for layer in layers)


def _fold(network: Network, layer: Layer, pages: HugePages) -> int:
    descriptor = layer.descriptor
    if isinstance(descriptor, ActivationDescriptor) and not _is_linear(descriptor):
        return 0  # as most are
    for position, source in enumerate(layer.inputs[:2]):
        if source is None or only_reader(source) is not layer:
            continue
        if any(value is None or value.constant is None for value in _others(layer, position)):
            continue
        linear = LinearLayer.of(source.producer)
        if (
            linear is None
            or source.info != layer.output.info
            or not may_absorb(linear.layer, layer)
        ):
            continue
        change = _factor_and_offset(layer, position, linear)
        if change is not None:
            return fold_with_followers(network, linear, layer, *change, pages)
    return 0


def _is_linear(activation: ActivationDescriptor) -> bool:
    return activation.function is ActivationFunction.LINEAR


def _others(layer: Layer, position: int) -> tuple[Value | None, ...]:
    """Return the inputs besides one."""
    return layer.inputs[:position] + layer.inputs[position + 1 :]


def fold_with_followers(
    network: Network,
    linear: LinearLayer,
    layer: Layer,
    factor: PerChannel,
    offset: PerChannel,
    pages: HugePages,
) -> int:
    """Fold a layer, and the arithmetic behind it, at once.

    So weights are scaled once. What they cannot hold together is folded without the followers.

    Args:
        network: The network.
        linear: The layer before.
        layer: Its only reader.
        factor: What the reader multiplies each channel by.
        offset: What it adds then.
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


def _followers(linear: LinearLayer, layer: Layer) -> tuple[list[Layer], PerChannel, PerChannel]:
    """Return the arithmetic behind a layer, and what it does."""
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
    layer: Layer, position: int, linear: LinearLayer
) -> tuple[PerChannel, PerChannel] | None:
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
    constant: NDArray[np.generic], linear: LinearLayer, rank: int | None
) -> PerChannel | None:
    """Return a constant per channel, None if otherwise shaped.

    It must not vary along another axis.
    """
    if rank is None:
        return None
    size = ((1,) * (rank - constant.ndim) + constant.shape)[linear.channel_axis]
    if constant.size != size:
        return None
    return np.broadcast_to(constant.astype(np.float64).reshape(-1), (linear.channels,))
