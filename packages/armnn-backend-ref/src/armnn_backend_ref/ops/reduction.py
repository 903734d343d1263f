# SPDX-License-Identifier: MIT
"""Reductions and scans: Reduce, Mean, ArgMinMax, CumSum and CumProd."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armnn.layers.reduction import (
    ArgMinMaxDescriptor,
    CumProdDescriptor,
    CumSumDescriptor,
    MeanDescriptor,
    ReduceDescriptor,
)
from armnn.types import ArgMinMaxFunction, ReduceOperation
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.elementwise import divide


@op("Reduce")
def reduce(d: ReduceDescriptor, x: Array) -> Array:
    """Reduce ``d.axis`` (all axes if empty) by ``d.reduce_operation``.

    Integers stay integers: sums and products wrap around, means are truncated toward zero. Of no
    elements, the sum is 0, the product 1, the mean NaN (integers: 0), the maximum the lowest and
    the minimum the highest value of the type (ONNX: ReduceMax-18).
    """
    if d.reduce_operation is ReduceOperation.MEAN:
        return _mean(d, x)
    lowest, highest = _limits(x.dtype)
    combine, start = {
        ReduceOperation.SUM: (np.add, 0),
        ReduceOperation.PROD: (np.multiply, 1),
        ReduceOperation.MAX: (np.maximum, lowest),
        ReduceOperation.MIN: (np.minimum, highest),
    }[d.reduce_operation]
    axes = _axes(d, x)
    reduced = combine.reduce(x, axis=axes, keepdims=True, dtype=x.dtype, initial=start)
    return reduced if d.keep_dims else reduced.squeeze(axes)


@op("Mean")
def mean(d: MeanDescriptor, x: Array) -> Array:
    """Return the mean over ``d.axis``, all axes if empty.

    See :func:`reduce`.
    """
    return _mean(d, x)


@op("ArgMinMax")
def arg_min_max(d: ArgMinMaxDescriptor, x: Array) -> Array:
    """Return the index of the extreme element along ``d.axis``.

    NaN counts as extreme. Of equal elements the first is taken, or the last, which is the first
    from behind.
    """
    find = np.argmin if d.function is ArgMinMaxFunction.MIN else np.argmax
    places: Array = find(np.flip(x, d.axis) if d.select_last_index else x, axis=d.axis)
    return x.shape[d.axis] - 1 - places if d.select_last_index else places


@op("CumSum")
def cum_sum(d: CumSumDescriptor, x: Array) -> Array:
    """Return the running sums along ``d.axis``; integers wrap around."""
    return _cumulated(np.add, 0, d, x)


@op("CumProd")
def cum_prod(d: CumProdDescriptor, x: Array) -> Array:
    """Return the running products along ``d.axis``; integers wrap around."""
    return _cumulated(np.multiply, 1, d, x)


def _cumulated(
    combine: np.ufunc, start: int, d: CumSumDescriptor | CumProdDescriptor, x: Array
) -> Array:
    elements = np.moveaxis(x, d.axis, 0)
    if d.reverse:
        elements = elements[::-1]
    results = np.empty_like(elements)
    if d.exclusive:
        results[:1] = start
        combine.accumulate(elements[:-1], 0, x.dtype, out=results[1:])
    else:
        combine.accumulate(elements, 0, x.dtype, out=results)
    return np.moveaxis(results[::-1] if d.reverse else results, 0, d.axis)


def _axes(d: MeanDescriptor | ReduceDescriptor, x: Array) -> tuple[int, ...]:
    return d.axis if d.axis else tuple(range(x.ndim))


def _mean(d: MeanDescriptor | ReduceDescriptor, x: Array) -> Array:
    axes = _axes(d, x)
    total = np.add.reduce(x, axis=axes, keepdims=True)  # integers in 64 bits
    if x.dtype == np.float32 and not np.isfinite(total).all():
        total = np.add.reduce(x, axis=axes, keepdims=True, dtype=np.float64)  # it overflowed
    count = np.asarray(math.prod(x.shape[axis] for axis in axes), total.dtype)
    average = divide(total, count).astype(x.dtype, copy=False)
    return average if d.keep_dims else average.squeeze(axes)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the lowest and the highest value of a type."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind == "b":
        return False, True
    return np.iinfo(dtype).min, np.iinfo(dtype).max
