# SPDX-License-Identifier: MIT
"""Single values to and from quantised integers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_INTEGERS = ("uint8", "int8", "int16", "int32")


def quantize(value: float, scale: float, offset: int, target_dtype: str) -> int:
    """Return the stored value of a real one.

    It is rounded half away from zero and clipped.

    Args:
        value: The real value.
        scale: The step between two stored values.
        offset: The stored value that means 0.
        target_dtype: "uint8", "int8", "int16" or "int32".

    Raises:
        ValueError: It is another type, or the value is not a number.
    """
    info = _range_of(target_dtype, "target")
    if math.isnan(value):
        raise ValueError("the value is NaN: it has no stored value")
    # In float32, half away from zero, as Arm NN rounds.
    steps = np.float32(value) / np.float32(scale)
    if not np.isfinite(steps):
        return int(info.max if steps > 0 else info.min)
    rounded = math.floor(abs(float(steps)) + 0.5)
    stored = int(math.copysign(rounded, float(steps))) + int(offset)
    return min(max(stored, int(info.min)), int(info.max))


def dequantize(value: int, scale: float, offset: int, from_dtype: str) -> float:
    """Return the real value of a stored one.

    It is ``(value - offset) * scale``.

    Args:
        value: The stored value, a number of Python's or NumPy's.
        scale: The step between two stored values.
        offset: The stored value that means 0.
        from_dtype: "uint8", "int8", "int16" or "int32".

    Raises:
        ValueError: It is another type, or it cannot store the value.
    """
    info = _range_of(from_dtype, "value")
    if not info.min <= value <= info.max:
        raise ValueError(
            f"Value is not within range of the given datatype {from_dtype}: got {value}, expected "
            f"{info.min} to {info.max}"
        )
    return float(np.float32(int(value) - int(offset)) * np.float32(scale))


def _dequantize(dtype: str, value: float, scale: float, offset: int) -> float:
    return dequantize(int(value), scale, offset, dtype)


BINDINGS: dict[str, Callable[[float, float, int], float]] = {
    **{f"Quantize_{each}_t": functools.partial(quantize, target_dtype=each) for each in _INTEGERS},
    **{f"Dequantize_{dtype}_t": functools.partial(_dequantize, dtype) for dtype in _INTEGERS},
}
"""One function per type, such as ``Quantize_int8_t(value, scale, offset)``."""


def _range_of(dtype: str, what: str) -> np.iinfo[Any]:
    if dtype not in _INTEGERS:
        raise ValueError(
            f"Unexpected {what} datatype {dtype} given. Expected one of {', '.join(_INTEGERS)}."
        )
    return np.iinfo(dtype)
