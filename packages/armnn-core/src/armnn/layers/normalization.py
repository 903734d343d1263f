# SPDX-License-Identifier: MIT
"""Normalisation over channels, windows, axes or groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import PLANAR, normalized_axis, require_shape, with_channels
from armnn.layers._spec import Inputs, Shapes, layer, parts_on_demand, slot
from armnn.types import DataLayout

if TYPE_CHECKING:
    from armnn.layers.normalization_axes import (
        LayerNormalizationDescriptor as LayerNormalizationDescriptor,
    )
    from armnn.layers.normalization_axes import (
        RmsNormalizationDescriptor as RmsNormalizationDescriptor,
    )
    from armnn.layers.normalization_channels import (
        GroupNormalizationDescriptor as GroupNormalizationDescriptor,
    )
    from armnn.layers.normalization_channels import (
        InstanceNormalizationDescriptor as InstanceNormalizationDescriptor,
    )
    from armnn.layers.normalization_channels import (
        L2NormalizationDescriptor as L2NormalizationDescriptor,
    )
    from armnn.layers.normalization_channels import (
        NormalizationDescriptor as NormalizationDescriptor,
    )
else:
    __getattr__ = parts_on_demand(__name__)


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
        slot("mean", "[C]."),
        slot("variance", "[C]."),
        slot("beta", "[C], what is added."),
        slot("gamma", "[C], the factor."),
    ],
    infer=_batch_normalization,
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


def _softmax(descriptor: SoftmaxDescriptor, inputs: Inputs) -> Shapes:
    shape = inputs.shape("input")
    normalized_axis(descriptor.axis, len(shape))
    return [shape]


@layer(52, inputs=[slot("input", "Of any rank but 0.")], infer=_softmax)
class SoftmaxDescriptor(Descriptor):
    """exp(beta * x), divided by its sum along ``axis``.

    Attributes:
        beta: The factor in the exponent.
        axis: The axis of the sum; counted from the end if negative.
    """

    beta: float = 1.0
    axis: int = -1


@layer(27, inputs=[slot("input", "Of any rank but 0.")], infer=_softmax)
class LogSoftmaxDescriptor(SoftmaxDescriptor):
    """The logarithm of Softmax."""
