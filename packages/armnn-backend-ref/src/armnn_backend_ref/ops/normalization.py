# SPDX-License-Identifier: MIT
"""Normalization by given statistics, by the input's own, and softmax."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

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
from armnn.types import DataLayout, NormalizationAlgorithmChannel
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops._windows import sliding

_LEAST = 2.0**-100
"""Below, a sum of squares in float32 may have lost all of them to underflow."""


class _OutOfRangeError(ArithmeticError):
    """Float32 overflowed while its own squares were summed."""


def _wide_if_needed(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute in float64 where squares of float32 exceed its range.

    3e38 is a legal value, whose square overflows; those of small numbers underflow.
    """

    @functools.wraps(function)
    def compute(d: Any, *arrays: Array | None) -> Array:
        try:
            return function(d, *arrays)
        except _OutOfRangeError:
            wide = [None if array is None else array.astype(np.float64) for array in arrays]
            assert arrays[0] is not None  # the input
            return function(d, *wide).astype(arrays[0].dtype)

    return compute


def _root(squares: Array) -> Array:
    """Return the square root.

    Raises:
        _OutOfRangeError: The squares are float32 and not within its range.
    """
    narrow = squares.dtype == np.float32
    if narrow and not ((squares >= _LEAST) & (squares < np.inf)).all():
        raise _OutOfRangeError
    root: Array = np.sqrt(squares)
    return root


@op("BatchNormalization")
def batch_normalization(
    d: BatchNormalizationDescriptor,
    x: Array,
    mean: Array,
    variance: Array,
    beta: Array,
    gamma: Array,
) -> Array:
    """Compute gamma * (x - mean) / sqrt(variance + eps) + beta.

    The parameters are per channel.
    """
    factor = gamma / np.sqrt(variance + variance.dtype.type(d.eps))
    offset = beta - mean * factor
    channel = (-1, *(1,) * (x.ndim - 1 - d.channel_axis % x.ndim))
    y: Array = x * factor.reshape(channel)
    y += offset.reshape(channel)
    return y


@op("InstanceNormalization")
@_wide_if_needed
def instance_normalization(d: InstanceNormalizationDescriptor, x: Array) -> Array:
    """Normalize each channel of each image on its own.

    Mean and variance are those of the channel in the image.
    """
    if x.size == 0:
        return x
    axes = d.data_layout.spatial_axes
    centered: Array = x - x.mean(axes, keepdims=True)
    variance = np.square(centered).mean(axes, keepdims=True)
    centered *= x.dtype.type(d.gamma) / _root(variance + x.dtype.type(d.eps))
    centered += x.dtype.type(d.beta)
    return centered


@op("L2Normalization")
@_wide_if_needed
def l2_normalization(d: L2NormalizationDescriptor, x: Array) -> Array:
    """Divide by the L2 norm over the channels.

    The square of the norm counts as ``eps`` at least.
    """
    axis = 1 if d.data_layout is DataLayout.NCHW else -1
    squares = np.square(x).sum(axis, keepdims=True)
    y: Array = x / _root(np.maximum(squares, x.dtype.type(d.eps)))
    return y


@op("Normalization")
@_wide_if_needed
def normalization(d: NormalizationDescriptor, x: Array) -> Array:
    """Compute x / (k + alpha * neighbors) ** beta (Krizhevsky 2012).

    ``neighbors`` is the sum of their squares. Neighbors are the elements within ``norm_size //
    2`` on either side, itself among them: along the channels, or over height and width.
    """
    layout, radius = d.data_layout, d.norm_size // 2
    across = d.norm_channel_type is NormalizationAlgorithmChannel.ACROSS
    squares = np.square(x)
    for axis in (layout.channel_axis,) if across else layout.spatial_axes:
        squares = sliding(np.add, 0, squares, axis, x.shape[axis], 2 * radius + 1, before=radius)
    if x.dtype == np.float32 and not np.isfinite(squares).all():
        raise _OutOfRangeError
    squares *= x.dtype.type(d.alpha)
    squares += x.dtype.type(d.k)
    y: Array = x * squares ** x.dtype.type(-d.beta)
    return y


@op("Softmax")
def softmax(d: SoftmaxDescriptor, x: Array) -> Array:
    """Compute softmax of beta * x along the axis.

    The maximum is subtracted before the exponential.
    """
    y = np.exp(_shifted(x, d.beta, d.axis))
    y /= y.sum(d.axis, keepdims=True)
    return y


@op("LogSoftmax")
def log_softmax(d: LogSoftmaxDescriptor, x: Array) -> Array:
    """Compute the logarithm of softmax.

    It does not underflow where softmax does.
    """
    y = _shifted(x, d.beta, d.axis)
    y -= np.log(np.exp(y).sum(d.axis, keepdims=True))
    return y


@op("LayerNormalization")
@_wide_if_needed
def layer_normalization(
    d: LayerNormalizationDescriptor, x: Array, gamma: Array | None, beta: Array | None
) -> Array:
    """Normalize by mean and variance over ``d.axis`` and later axes."""
    y = _standardized(x, tuple(range(d.axis % x.ndim, x.ndim)), d.eps)
    return _scaled(y, gamma, beta)


@op("RmsNormalization")
@_wide_if_needed
def rms_normalization(d: RmsNormalizationDescriptor, x: Array, gamma: Array | None) -> Array:
    """Divide by the root mean square over ``d.axis`` and later."""
    if x.size == 0:
        return x
    axes = tuple(range(d.axis % x.ndim, x.ndim))
    squares = np.square(x).mean(axes, keepdims=True)
    squares += x.dtype.type(d.eps)
    return _scaled(x / _root(squares), gamma, None)


@op("GroupNormalization")
@_wide_if_needed
def group_normalization(
    d: GroupNormalizationDescriptor, x: Array, gamma: Array | None, beta: Array | None
) -> Array:
    """Normalize each channel group of each item on its own.

    Mean and variance are those of the group in the item.
    """
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
    y /= _root(variance)
    return y


def _scaled(y: Array, gamma: Array | None, beta: Array | None) -> Array:
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def _shifted(x: Array, beta: float, axis: int) -> Array:
    """Return beta * x, less its maximum along the axis."""
    factor = x.dtype.type(beta)
    if beta < 0:
        top = x.min(axis, keepdims=True, initial=np.inf)
    else:
        top = x.max(axis, keepdims=True, initial=-np.inf)
    y: Array = (x - top) * factor  # the other way round, beta * x may overflow
    if abs(beta) < 1 and np.isinf(x - top).any():
        # The difference overflowed, or x is infinite: with a small beta the products do not.
        y = np.where(np.isinf(x - top), x * factor - top * factor, y)
    return y
