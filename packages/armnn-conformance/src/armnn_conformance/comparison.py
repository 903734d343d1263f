# SPDX-License-Identifier: MIT
"""Comparison of a backend's result with the expected one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.tensor import TensorInfo, format_shape
from armnn_conformance.cases import Tolerance
from armnn_conformance.operands import decode, store


def difference(
    stored: NDArray[Any], info: TensorInfo, expected: NDArray[Any], tolerance: Tolerance
) -> str:
    """Return a result's difference from the expected one, or "".

    Args:
        stored: The stored elements of the output.
        info: The output's description.
        expected: The real values: float64, integers or Booleans.
        tolerance: How far the result may be off.
    """
    if stored.shape != expected.shape:
        return f"shape {format_shape(stored.shape)}, expected {format_shape(expected.shape)}"
    if stored.dtype != info.data_type.numpy_dtype:
        return f"{stored.dtype}, expected {info.data_type.numpy_dtype}"
    nearest = store(expected, info)
    if info.is_quantized:
        # Wide integers: the difference of two int16 does not fit into one.
        off = np.abs(stored.astype(np.int64) - nearest.astype(np.int64)) > tolerance.steps
        return _first(off, stored, nearest, f"within {tolerance.steps} steps")
    if info.data_type.is_float:
        off = ~_close(decode(stored, info), expected, decode(nearest, info), tolerance)
        within = f"within {tolerance.rtol:g} relative and {tolerance.atol:g} absolute"
        return _first(off, stored, expected, within)
    return _first(stored != nearest, stored, nearest, "exactly")


def _close(
    actual: NDArray[Any], expected: NDArray[Any], nearest: NDArray[Any], tolerance: Tolerance
) -> NDArray[np.bool_]:
    """Compare elements; ``nearest`` is ``expected`` rounded to the type."""
    with np.errstate(invalid="ignore"):
        near = np.abs(actual - expected) <= tolerance.atol + tolerance.rtol * np.abs(expected)
    near &= np.isfinite(actual) & np.isfinite(nearest)
    both_nan = np.isnan(actual) & np.isnan(expected)
    result: NDArray[np.bool_] = near | both_nan | (actual == nearest)
    return result


def _first(
    off: NDArray[np.bool_], actual: NDArray[Any], expected: NDArray[Any], within: str
) -> str:
    count = int(np.count_nonzero(off))
    if count == 0:
        return ""
    index = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(off)))
    place = index if off.ndim else ()
    return (
        f"{count} of {off.size} elements differ, the first at {list(place)}: got {actual[place]}, "
        f"expected {expected[place]} {within}"
    )
