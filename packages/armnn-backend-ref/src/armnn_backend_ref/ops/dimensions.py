# SPDX-License-Identifier: MIT
"""Tensors of and from numbers: Rank, Shape, Fill and Range."""

from __future__ import annotations

import numpy as np

from armnn.layers import Descriptor
from armnn.layers.dimensions import FillDescriptor, range_length
from armnn.tensor import TensorInfo
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.quantizing import to_type


@op("Rank")
def rank(_d: Descriptor, x: Array) -> Array:
    """Return the number of axes, as a scalar."""
    return np.array(x.ndim, np.int32)


@op("Shape")
def shape(_d: Descriptor, x: Array) -> Array:
    """Return the size of each axis."""
    return np.array(x.shape, np.int64)


@op("Fill", typed=True)
def fill(d: FillDescriptor, outputs: tuple[TensorInfo, ...], _shape: Array) -> Array:
    """Return a tensor filled with ``d.value``.

    It is a real value whatever the type, and saturates.
    """
    (info,) = outputs
    dtype = np.dtype(np.float32) if info.is_quantized else info.data_type.numpy_dtype
    return np.broadcast_to(to_type(np.asarray(d.value), dtype), info.static_shape)


@op("Range")
def range_(_d: Descriptor, start: Array, limit: Array, delta: Array) -> Array:
    """Count from ``start`` to before ``limit`` in steps of ``delta``."""
    length = range_length(start.item(), limit.item(), delta.item())
    steps = np.arange(length).astype(start.dtype)
    numbers: Array = start.reshape(()) + steps * delta.reshape(())
    return numbers
