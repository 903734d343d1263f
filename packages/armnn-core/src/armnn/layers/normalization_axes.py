# SPDX-License-Identifier: MIT
"""Normalisation over the last axes."""

from __future__ import annotations

from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import normalized_axis, require_broadcast
from armnn.layers._spec import Inputs, Shapes, layer, slot


def _layer_normalization(
    descriptor: LayerNormalizationDescriptor | RmsNormalizationDescriptor, inputs: Inputs
) -> Shapes:
    shape = inputs.shape("input")
    normalized_axis(descriptor.axis, len(shape))
    for input_slot in inputs.spec.inputs[1:]:
        if inputs.get(input_slot.name) is not None:
            require_broadcast(inputs, input_slot.name, shape)
    return [shape]


_NORMALIZED = slot("input", "Of any rank but 0.")
_FACTOR = slot("gamma", "The factor, broadcasts to the input; 1 if absent.", optional=True)
_OFFSET = slot("beta", "What is added, broadcasts to the input; 0 if absent.", optional=True)


@layer(1002, inputs=[_NORMALIZED, _FACTOR, _OFFSET], infer=_layer_normalization)
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


@layer(1003, inputs=[_NORMALIZED, _FACTOR], infer=_layer_normalization)
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
