# SPDX-License-Identifier: MIT
"""Conversions between floating point types: layers and data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer
from armnn.layers.quantizing import (
    CastDescriptor,
    ConvertFp16ToFp32Descriptor,
    ConvertFp32ToFp16Descriptor,
)
from armnn.types import DataType

FLOATS = {DataType.FLOAT32: "fp32", DataType.FLOAT16: "fp16", DataType.BFLOAT16: "bf16"}
"""The types that are converted into each other, with Arm NN's short names."""

CONVERSIONS = (CastDescriptor, ConvertFp16ToFp32Descriptor, ConvertFp32ToFp16Descriptor)
"""The descriptors of layers that may convert between them."""

_KINDS = {
    (DataType.FLOAT16, DataType.FLOAT32): "ConvertFp16ToFp32",
    (DataType.FLOAT32, DataType.FLOAT16): "ConvertFp32ToFp16",
}


def conversion_between(source: DataType, target: DataType) -> str:
    """Return the layer type of a conversion."""
    return _KINDS.get((source, target), "Cast")


def is_conversion(layer: Layer) -> bool:
    """Return whether a layer converts between types of FLOATS."""
    if not isinstance(layer.descriptor, CONVERSIONS):
        return False
    (info,) = layer.input_infos
    return info is not None and {info.data_type, layer.output.info.data_type} <= FLOATS.keys()


def converted_data(data: NDArray[Any], target: DataType, *, saturate: bool) -> NDArray[Any]:
    """Return an array in another floating point type.

    Args:
        data: The array.
        target: One of FLOATS.
        saturate: Whether a finite number beyond the type becomes its largest one, else infinity.
    """
    with np.errstate(over="ignore"):
        made = data.astype(target.numpy_dtype)
    lost = np.isinf(made) & np.isfinite(data) if saturate else None
    if lost is not None and lost.any():
        made[lost] = np.nextafter(made[lost], made.dtype.type(0))
    return made
