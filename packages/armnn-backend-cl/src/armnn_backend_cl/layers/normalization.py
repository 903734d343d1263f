# SPDX-License-Identifier: MIT
"""Normalization of rows: each by its own mean, variance or maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from armnn.layers.normalization import (
    GroupNormalizationDescriptor,
    InstanceNormalizationDescriptor,
    L2NormalizationDescriptor,
    LayerNormalizationDescriptor,
    NormalizationDescriptor,
    RmsNormalizationDescriptor,
    SoftmaxDescriptor,
)
from armnn.types import (
    DataLayout,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
)
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.elements import REALS, accessors, elements_of
from armnn_backend_cl.launches import In, Launch, Out, Refused
from armnn_backend_cl.layers.pooling import pixels
from armnn_backend_cl.layers.table import lowers, program, require, shape_of
from armnn_backend_cl.views import View, outer_and_inner, walked

if TYPE_CHECKING:
    from armnn.graph import Layer


@lowers("Softmax", "LogSoftmax")
def softmax(layer: Layer) -> Sequence[Launch]:
    """Compute softmax along an axis, or its logarithm."""
    d = cast("SoftmaxDescriptor", layer.descriptor)
    mode = "SOFTMAX" if layer.type == "Softmax" else "LOG_SOFTMAX"
    view = View.of(shape_of(layer.input_infos[0]))
    return _normalized(layer, mode, view, [d.axis % len(view.shape)], d.beta)


@lowers("LayerNormalization")
def layer_normalization(layer: Layer) -> Sequence[Launch]:
    """Normalize by mean and variance over an axis and those behind it."""
    d = cast("LayerNormalizationDescriptor", layer.descriptor)
    view = View.of(shape_of(layer.input_infos[0]))
    axes = range(d.axis % len(view.shape), len(view.shape))
    return _normalized(layer, "STANDARDIZE", view, axes, d.eps)


@lowers("RmsNormalization")
def rms_normalization(layer: Layer) -> Sequence[Launch]:
    """Divide by the root mean square over an axis and those behind it."""
    d = cast("RmsNormalizationDescriptor", layer.descriptor)
    view = View.of(shape_of(layer.input_infos[0]))
    axes = range(d.axis % len(view.shape), len(view.shape))
    return _normalized(layer, "RMS", view, axes, d.eps)


@lowers("L2Normalization")
def l2_normalization(layer: Layer) -> Sequence[Launch]:
    """Divide by the norm over the channels."""
    d = cast("L2NormalizationDescriptor", layer.descriptor)
    view = View.of(shape_of(layer.input_infos[0]))
    axis = 1 if d.data_layout is DataLayout.NCHW else len(view.shape) - 1
    return _normalized(layer, "L2", view, [axis], d.eps)


@lowers("InstanceNormalization")
def instance_normalization(layer: Layer) -> Sequence[Launch]:
    """Normalize each channel of each image by its own mean and variance."""
    d = cast("InstanceNormalizationDescriptor", layer.descriptor)
    view, axes = View.of(shape_of(layer.input_infos[0])), d.data_layout.spatial_axes
    return _normalized(layer, "STANDARDIZE", view, axes, d.eps, factor=d.gamma, offset=d.beta)


@lowers("Normalization")
def normalization(layer: Layer) -> Sequence[Launch]:
    """Divide by a power of the squares of the neighbors."""
    d = cast("NormalizationDescriptor", layer.descriptor)
    require(layer, *REALS)
    if d.norm_method_type is not NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS:
        raise Refused(
            f"norm_method_type is {d.norm_method_type.arm_name}, expected LocalBrightness"
        )
    view = pixels(shape_of(layer.input_infos[0]), d.data_layout)
    _, height, width, channels = view.shape
    sizes = (channels, width, height, 0, 0, 0, 0, 0)
    steps = (*view.strides[::-1], 0, 0, 0, 0)
    radius, numbers = d.norm_size // 2, (float(d.alpha), float(d.beta), float(d.k))
    is_across = d.norm_channel_type is NormalizationAlgorithmChannel.ACROSS
    macros = {"ACROSS": 1} if is_across else {}
    text = accessors(x=elements_of(layer.input_infos[0]), y=elements_of(layer.output_infos[0]))
    arguments = (In(0), Out(0), view.size, sizes, steps, radius, *numbers)
    source = program(text, "local_response.cl", **macros)
    return [Launch(source, "local_response", arguments, view.size)]


@lowers("GroupNormalization")
def group_normalization(layer: Layer) -> Sequence[Launch]:
    """Normalize each group of channels of each item by its own mean and variance."""
    d = cast("GroupNormalizationDescriptor", layer.descriptor)
    shape = shape_of(layer.input_infos[0])
    channel = d.channel_axis % len(shape)
    members = shape[channel] // d.num_groups
    view = View.of(shape).split(channel, d.num_groups, members)
    axes = [axis for axis in range(1, len(shape) + 1) if axis != channel]
    per_channel = View.of([shape[channel], *[1] * (len(shape) - 1 - channel)]).broadcast(shape)
    scale = per_channel.split(channel, d.num_groups, members)
    return _normalized(layer, "STANDARDIZE", view, axes, d.eps, scale)


def _normalized(
    layer: Layer,
    mode: str,
    view: View,
    axes: Sequence[int],
    parameter: float,
    scale: View | None = None,
    factor: float = 1.0,
    offset: float = 0.0,
) -> Sequence[Launch]:
    """Return a launch of ``normalize.cl``.

    Args:
        layer: Its input, and gamma and beta if it has them.
        mode: A macro of the kernel.
        view: The input, and the output too.
        axes: Those of a row.
        parameter: Of the mode.
        scale: Gamma and beta along the axes of the view; those of a row without it.
        factor: What each result of a normalization is multiplied by.
        offset: What is added to it.
    """
    require(layer, *REALS)
    outer, inner = outer_and_inner(view, axes)
    if scale is None:
        scale = View.of(inner.shape).broadcast(view.shape)
    gamma_outer, gamma_inner = outer_and_inner(scale, axes)
    outer_sizes, outer_strides = walked(outer, gamma_outer)
    sizes, strides = walked(inner, gamma_inner)
    given = layer.input_infos
    macros: dict[str, object] = {"GROUP": GROUP, mode: 1}
    if sizes[1] == 1:
        macros["STRAIGHT"] = 1
    gamma = 1 if len(given) > 1 and given[1] is not None else 0
    beta = 2 if len(given) > 2 and given[2] is not None else 0
    macros |= {"SCALED": 1} if gamma else {}
    macros |= {"SHIFTED": 1} if beta else {}
    text = accessors(
        x=elements_of(given[0]),
        gamma=elements_of(given[gamma]),
        beta=elements_of(given[beta]),
        y=elements_of(layer.output_infos[0]),
    )
    arguments = (
        In(0),
        In(gamma),
        In(beta),
        Out(0),
        inner.size,
        outer_sizes,
        outer_strides[0],
        sizes,
        strides[0],
        outer_strides[1],
        strides[1],
        float(parameter),
        float(factor),
        float(offset),
    )
    rows = outer.size if inner.size else 0
    source = program(text, "tree.cl", "normalize.cl", **macros)
    return [Launch(source, "normalize_rows", arguments, rows, groups=True)]
