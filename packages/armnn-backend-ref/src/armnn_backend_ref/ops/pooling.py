# SPDX-License-Identifier: MIT
"""Pooling over two and three spatial axes, one by one.

The maximum or sum of a box is that of its rows' maxima or sums, so that a window of KH x KW takes
KH + KW passes over the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.tensor import TensorInfo
from armnn.types import PaddingMethod, PoolingAlgorithm
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops._windows import sliding


@op("Pooling2d", typed=True)
def pooling2d(d: Pooling2dDescriptor, outputs: Sequence[TensorInfo], x: Array) -> Array:
    """Compute maximum, average or L2 pooling over height and width."""
    return _pool(d, x, outputs[0].static_shape)


@op("Pooling3d", typed=True)
def pooling3d(d: Pooling3dDescriptor, outputs: Sequence[TensorInfo], x: Array) -> Array:
    """Compute maximum, average or L2 pooling over three axes.

    The axes are depth, height and width.
    """
    return _pool(d, x, outputs[0].static_shape)


def _pool(d: Pooling2dDescriptor | Pooling3dDescriptor, x: Array, shape: tuple[int, ...]) -> Array:
    """Pool along each spatial axis in turn.

    As in Arm NN, a window that reads only padding gives zero. Where sums overflow, they are
    computed in float64; squares are, as they vanish sooner.
    """
    is_max = d.pool_type is PoolingAlgorithm.MAX
    if d.pool_type is PoolingAlgorithm.L2 and x.dtype == np.float32:
        return _pool(d, x.astype(np.float64), shape).astype(x.dtype)
    combine, start = (np.maximum, _lowest(x.dtype)) if is_max else (np.add, 0)
    result = np.square(x) if d.pool_type is PoolingAlgorithm.L2 else x
    read = covered = np.ones((), int)
    whole = []  # axes with one place, which reads all there is: reduced at once, that is faster
    for axis, wanted, stride, dilation, (before, after) in zip(
        d.data_layout.spatial_axes, d.window, d.strides, d.dilations, d.padding, strict=True
    ):
        length, places = x.shape[axis], shape[axis]
        size = wanted if wanted else length
        if places == 1 and dilation == 1 and size - before >= length:
            whole.append(axis)
            read = read * length
            covered = covered * min(size, before + length + after)
            continue
        result = sliding(
            combine,
            start,
            result,
            axis,
            places,
            size,
            stride=stride,
            before=before,
            dilation=dilation,
        )
        first = (np.arange(places) * stride - before).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        read = read * _common(first, size, dilation, 0, length)
        covered = covered * _common(first, size, dilation, -before, length + after)
    if whole:
        result = combine.reduce(result, tuple(whole), x.dtype, keepdims=True, initial=start)
    if not is_max:
        if x.dtype == np.float32 and not np.isfinite(result).all():
            return _pool(d, x.astype(np.float64), shape).astype(x.dtype)
        divisor = covered if d.padding_method is PaddingMethod.IGNORE_VALUE else read
        result /= np.maximum(divisor, 1).astype(x.dtype)
    if d.pool_type is PoolingAlgorithm.L2:
        np.sqrt(result, out=result)
    return result if read.all() else np.where(read > 0, result, np.zeros((), x.dtype))


def _common(first: Array, size: int, dilation: int, low: int, high: int) -> Array:
    """Return how many window positions are in range, per place.

    ``size`` positions, ``dilation`` apart, begin at ``first``.
    """
    below, up_to = (np.clip(-((first - end) // dilation), 0, size) for end in (low, high))
    common: Array = up_to - below
    return common


def _lowest(dtype: np.dtype[Any]) -> float:
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)
