# SPDX-License-Identifier: MIT
"""Normalization over channels, windows, axes or groups."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    PICTURES,
    PLANAR,
    normalized_axis,
    require_broadcast,
    require_rank,
    require_shape,
    with_channels,
)
from armnn.layers._spec import Inputs, Numerics, Shapes, along_axis, layer, slot, within_item
from armnn.tensor import format_shape
from armnn.types import DataLayout, NormalizationAlgorithmChannel, NormalizationAlgorithmMethod


def _batch_normalization(descriptor: BatchNormalizationDescriptor, inputs: Inputs) -> Shapes:
    (shape,) = with_channels(descriptor, inputs)
    channels = shape[descriptor.channel_axis]
    for name in ("mean", "variance", "beta", "gamma"):
        require_shape(inputs, name, (channels,))
    return [shape]


@layer(
    3,
    inputs=[
        slot("input", "[N,C,...] for NCHW, [N,...,C] for NHWC; usually of rank 4."),
        slot("mean", "Shape [C]."),
        slot("variance", "Shape [C]."),
        slot("beta", "[C], the offset."),
        slot("gamma", "[C], the factor."),
    ],
    infer=_batch_normalization,
    numerics=Numerics(
        terms=within_item,
        overflows="it is computed as x * factor + offset, each of which may overflow",
    ),
)
class BatchNormalizationDescriptor(Descriptor):
    """gamma * (input - mean) / sqrt(variance + eps) + beta (Ioffe and Szegedy 2015).

    Attributes:
        eps: Keeps the divisor from zero.
        data_layout: NCHW if the channels are axis 1, NHWC if they are the last axis.
    """

    eps: float = 1e-4
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)

    @property
    def channel_axis(self) -> int:
        """The axis of the channels at any rank."""
        return 1 if self.data_layout is DataLayout.NCHW else -1


_IMAGE = slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says.")


def _image(_descriptor: Descriptor, inputs: Inputs) -> Shapes:
    return [require_rank(inputs, "input", 4)]


@layer(
    24,
    inputs=[_IMAGE],
    infer=_image,
    numerics=Numerics(terms=within_item),
    axes=PICTURES,
)
class InstanceNormalizationDescriptor(Descriptor):
    """gamma * (x - mean) / sqrt(variance + eps) + beta, per image and channel.

    Mean and variance are those of the plane (Ulyanov et al. 2016).

    Attributes:
        gamma: The factor.
        beta: The offset.
        eps: Keeps the divisor from zero.
        data_layout: NCHW or NHWC.
    """

    gamma: float = 1.0
    beta: float = 0.0
    eps: float = 1e-12
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)


@layer(
    25,
    inputs=[slot("input", "[N,C,...] for NCHW, [N,...,C] for NHWC; usually of rank 4.")],
    infer=with_channels,
    numerics=Numerics(terms=within_item),
    axes=PICTURES,
)
class L2NormalizationDescriptor(Descriptor):
    """x / sqrt(max(sum of x^2 over the channels, eps)).

    Attributes:
        eps: The least sum of squares.
        data_layout: NCHW if the channels are axis 1, NHWC if they are the last axis.
    """

    eps: float = 1e-12
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)


@layer(
    38,
    inputs=[_IMAGE],
    infer=_image,
    numerics=Numerics(terms=within_item),
    axes=PICTURES,
)
class NormalizationDescriptor(Descriptor):
    """Local response normalization by the squares of the neighbors.

    x / (k + alpha * sum of x^2 of the neighbors)^beta. Neighbors outside of the image or of its
    channels do not count.

    Attributes:
        norm_channel_type: Whether neighbors are channels (Across) or a square of pixels (Within).
        norm_method_type: LocalBrightness (Krizhevsky 2012), the formula above. LocalContrast
            (Jarrett 2009) is a name of Arm NN's without a formula: refuse it.
        norm_size: How many neighbors there are along an axis, the element among them; norm_size //
            2 on either side, so an even number counts as the odd one above it.
        alpha: The factor of the sum, not divided by the number of neighbors.
        beta: The exponent.
        k: The number that is added to the sum.
        data_layout: NCHW or NHWC.
    """

    norm_channel_type: NormalizationAlgorithmChannel = NormalizationAlgorithmChannel.ACROSS
    norm_method_type: NormalizationAlgorithmMethod = NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS
    norm_size: int = parameter(0, at_least=0)
    alpha: float = 0.0
    beta: float = 0.0
    k: float = 0.0
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)


def _softmax(descriptor: SoftmaxDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    normalized_axis(descriptor.axis, len(shape))
    return [shape]


@layer(
    52,
    inputs=[slot("input", "A tensor of rank 1 or more.")],
    infer=_softmax,
    numerics=Numerics(terms=along_axis),
)
class SoftmaxDescriptor(Descriptor):
    """exp(beta * x), divided by its sum along ``axis``.

    Attributes:
        beta: The factor in the exponent.
        axis: The axis of the sum; counted from the end if negative.
    """

    beta: float = 1.0
    axis: int = -1


@layer(
    27,
    inputs=[slot("input", "A tensor of rank 1 or more.")],
    infer=_softmax,
    numerics=Numerics(terms=along_axis),
)
class LogSoftmaxDescriptor(SoftmaxDescriptor):
    """The logarithm of Softmax."""


def _layer_normalization(
    descriptor: LayerNormalizationDescriptor | RmsNormalizationDescriptor, inputs: Inputs
) -> Shapes:
    shape = inputs.shape("input")
    normalized_axis(descriptor.axis, len(shape))
    for input_slot in inputs.spec.inputs[1:]:
        if inputs.get(input_slot.name) is not None:
            require_broadcast(inputs, input_slot.name, shape)
    return [shape]


_NORMALIZED = slot("input", "A tensor of rank 1 or more.")


_FACTOR = slot("gamma", "The factor, broadcasts to the input; 1 if absent.", optional=True)


_OFFSET = slot("beta", "The offset, which broadcasts to the input; 0 if absent.", optional=True)


@layer(
    1002,
    inputs=[_NORMALIZED, _FACTOR, _OFFSET],
    infer=_layer_normalization,
    numerics=Numerics(terms=within_item),
)
class LayerNormalizationDescriptor(Descriptor):
    """gamma * (x - mean) / sqrt(variance + eps) + beta.

    Ba et al. 2016, ONNX: LayerNormalization. Mean and variance are those over ``axis`` and all axes
    behind it.

    Attributes:
        axis: The first of the axes; counted from the end if negative.
        eps: Keeps the divisor from zero.
    """

    axis: int = -1
    eps: float = 1e-5


@layer(
    1003,
    inputs=[_NORMALIZED, _FACTOR],
    infer=_layer_normalization,
    numerics=Numerics(terms=within_item),
)
class RmsNormalizationDescriptor(Descriptor):
    """gamma * x / sqrt(mean of x^2 + eps).

    Zhang and Sennrich 2019, ONNX: RMSNormalization. The mean is that over ``axis`` and all axes
    behind it.

    Attributes:
        axis: The first of the axes; counted from the end if negative.
        eps: Keeps the divisor from zero.
    """

    axis: int = -1
    eps: float = 1e-5


def _group_normalization(descriptor: GroupNormalizationDescriptor, inputs: Inputs) -> Shapes:
    (shape,) = with_channels(descriptor, inputs)
    channels = shape[descriptor.channel_axis]
    if isinstance(channels, int) and channels % descriptor.num_groups:
        raise ShapeError(
            f"the {channels} channels of the input of shape {format_shape(shape)} cannot be "
            f"divided into {descriptor.num_groups} groups"
        )
    for name in ("gamma", "beta"):
        require_shape(inputs, name, (channels,))
    return [shape]


@layer(
    1004,
    inputs=[
        slot("input", "[N,C,...] for NCHW, [N,...,C] for NHWC."),
        slot("gamma", "[C], the factor; 1 if absent.", optional=True),
        slot("beta", "[C], the offset; 0 if absent.", optional=True),
    ],
    infer=_group_normalization,
    numerics=Numerics(terms=within_item),
    axes=PICTURES,
)
class GroupNormalizationDescriptor(Descriptor):
    """gamma * (x - mean) / sqrt(variance + eps) + beta.

    Wu and He 2018, ONNX: GroupNormalization. Mean and variance are those of a group of neighboring
    channels of one item of the batch.

    Attributes:
        num_groups: How many groups of channels there are.
        eps: Keeps the divisor from zero.
        data_layout: NCHW if the channels are axis 1, NHWC if they are the last axis.
    """

    num_groups: int = parameter(1, at_least=1)
    eps: float = 1e-5
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)

    @property
    def channel_axis(self) -> int:
        """The axis of the channels at any rank."""
        return 1 if self.data_layout is DataLayout.NCHW else -1
