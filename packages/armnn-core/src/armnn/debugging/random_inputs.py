# SPDX-License-Identifier: MIT
"""Random data for the inputs of networks."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo


def random_array(name: str, info: TensorInfo, seed: int) -> NDArray[Any]:
    """Return random values determined by name, shape and seed.

    Real numbers are drawn from the standard normal distribution and quantised values from all
    that can be stored. Plain integers are 0 or 1, which is also an index or a mask to most
    networks.

    Args:
        name: Of the input, so that two inputs of the same shape differ.
        info: The input, with a known shape.
        seed: At least 0.
    """
    generator = np.random.default_rng((seed, zlib.crc32(name.encode())))
    dtype, shape = info.data_type.numpy_dtype, info.static_shape
    if info.data_type.is_float:
        return generator.standard_normal(shape, np.float32).astype(dtype)
    if info.is_quantized:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.integers(0, 2, shape).astype(dtype)
