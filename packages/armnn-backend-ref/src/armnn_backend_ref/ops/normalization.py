# SPDX-License-Identifier: MIT
"""Normalisation: by given statistics, by those of the input itself, and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.types import DataLayout, NormalizationAlgorithmChannel
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops._windows import sliding

if TYPE_CHECKING:
    from armnn.layers.normalization import (
        BatchNormalizationDescriptor,
        GroupNormalizationDescriptor,
        InstanceNormalizationDescriptor,
        L2NormalizationDescriptor,
        LayerNormalizationDescriptor,
        LogSoftmaxDescriptor,
        NormalizationDescriptor,
        RmsNormalizationDescriptor,
        SoftmaxDescriptor,
    )


@op("BatchNormalization")
def batch_normalization(
    d: BatchNormalizationDescriptor,
    x: Array,
    mean: Array,
    variance: Array,
    beta: Array,
    gamma: Array,
) -> Array:
    """Per channel: gamma * (x - mean) / sqrt(variance + eps) + beta."""
    factor = gamma / np.sqrt(variance + variance.dtype.type(d.eps))
    offset = beta - mean * factor
    channel = (-1, *(1,) * (x.ndim - 1 - d.channel_axis % x.ndim))
    y: Array = x * factor.reshape(channel)
    y += offset.reshape(channel)
    return y


@op("InstanceNormalization")
def instance_normalization(d: InstanceNormalizationDescriptor, x: Array) -> Array:
    """Centre and scale each channel of each image by its own mean and variance."""
    if x.size == 0:
        return x
    axes = d.data_layout.spatial_axes
    centred: Array = x - x.mean(axes, keepdims=True)
    variance = np.square(centred).mean(axes, keepdims=True)
    centred *= x.dtype.type(d.gamma) / np.sqrt(variance + x.dtype.type(d.eps))
    centred += x.dtype.type(d.beta)
    return centred


@op("L2Normalization")
def l2_normalization(d: L2NormalizationDescriptor, x: Array) -> Array:
    """Divide by the length of the vector of channels; its square counts as ``eps`` at least."""
    axis = 1 if d.data_layout is DataLayout.NCHW else -1
    squares = np.square(x).sum(axis, keepdims=True)
    y: Array = x / np.sqrt(np.maximum(squares, x.dtype.type(d.eps)))
    return y


@op("Normalization")
def normalization(d: NormalizationDescriptor, x: Array) -> Array:
    """Each x becomes x / (k + alpha * sum of neighbours squared) ** beta (Krizhevsky et al. 2012).

    Neighbours are the elements within ``norm_size // 2`` on either side, itself among them: along
    the channels, or over height and width.
    """
    layout, radius = d.data_layout, d.norm_size // 2
    across = d.norm_channel_type is NormalizationAlgorithmChannel.ACROSS
    squares = np.square(x)
    for axis in (layout.channel_axis,) if across else layout.spatial_axes:
        squares = sliding(np.add, 0, squares, axis, x.shape[axis], 2 * radius + 1, before=radius)
    squares *= x.dtype.type(d.alpha)
    squares += x.dtype.type(d.k)
    y: Array = x * squares ** x.dtype.type(-d.beta)
    return y


@op("Softmax")
def softmax(d: SoftmaxDescriptor, x: Array) -> Array:
    """exp(beta * x) over its sum along the axis, with the maximum taken off beforehand."""
    y = np.exp(_shifted(x, d.beta, d.axis))
    y /= y.sum(d.axis, keepdims=True)
    return y


@op("LogSoftmax")
def log_softmax(d: LogSoftmaxDescriptor, x: Array) -> Array:
    """The logarithm of softmax, which does not underflow where softmax does."""
    y = _shifted(x, d.beta, d.axis)
    y -= np.log(np.exp(y).sum(d.axis, keepdims=True))
    return y


@op("LayerNormalization")
def layer_normalization(
    d: LayerNormalizationDescriptor, x: Array, gamma: Array | None, beta: Array | None
) -> Array:
    """Centre and scale by the mean and variance over ``d.axis`` and the axes behind it."""
    y = _standardized(x, tuple(range(d.axis % x.ndim, x.ndim)), d.eps)
    return _scaled(y, gamma, beta)


@op("RmsNormalization")
def rms_normalization(d: RmsNormalizationDescriptor, x: Array, gamma: Array | None) -> Array:
    """Divide by the root of the mean square over ``d.axis`` and the axes behind it."""
    if x.size == 0:
        return x
    axes = tuple(range(d.axis % x.ndim, x.ndim))
    squares = np.square(x).mean(axes, keepdims=True)
    squares += x.dtype.type(d.eps)
    return _scaled(x / np.sqrt(squares), gamma, None)


@op("GroupNormalization")
def group_normalization(
    d: GroupNormalizationDescriptor, x: Array, gamma: Array | None, beta: Array | None
) -> Array:
    """Centre and scale each group of channels of each item by its own mean and variance."""
    channel = d.channel_axis % x.ndim
    members = x.shape[channel] // d.num_groups
    grouped = x.reshape(*x.shape[:channel], d.num_groups, members, *x.shape[channel + 1 :])
    axes = tuple(axis for axis in range(1, x.ndim + 1) if axis != channel)
    y = _standardized(grouped, axes, d.eps).reshape(x.shape)
    behind = (-1, *(1,) * (x.ndim - 1 - channel))
    return _scaled(y, *(None if a is None else a.reshape(behind) for a in (gamma, beta)))


def _standardized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    if x.size == 0:
        return x
    y: Array = x - x.mean(axes, keepdims=True)
    variance = np.square(y).mean(axes, keepdims=True)
    variance += x.dtype.type(eps)
    y /= np.sqrt(variance)
    return y


def _scaled(y: Array, gamma: Array | None, beta: Array | None) -> Array:
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def _shifted(x: Array, beta: float, axis: int) -> Array:
    """Return beta * x, less its maximum along the axis."""
    y: Array = x * x.dtype.type(beta)
    y -= y.max(axis, keepdims=True, initial=-np.inf)
    return y
