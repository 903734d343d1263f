# SPDX-License-Identifier: MIT
"""Conversions between floating point types: inverse pairs removed, constants converted once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network
from armnn.layers.quantizing import (
    CastDescriptor,
    ConvertFp16ToFp32Descriptor,
    ConvertFp32ToFp16Descriptor,
)
from armnn.optimizer.passes._edits import bypass, first_input, may_absorb, walk
from armnn.types import DataType

FLOATS = {DataType.FLOAT32: "fp32", DataType.FLOAT16: "fp16", DataType.BFLOAT16: "bf16"}
"""The types that are converted into each other, with Arm NN's short names."""

_CONVERSIONS = (CastDescriptor, ConvertFp16ToFp32Descriptor, ConvertFp32ToFp16Descriptor)
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
    if not isinstance(layer.descriptor, _CONVERSIONS):
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


def cancel_inverse_conversions(network: Network) -> int:
    """Remove conversions that lead back to the type before.

    (Arm NN: OptimizeInverseConversionsFp16, OptimizeInverseConversionsFp32.) Between Float16 and
    Float32 both orders are removed, and so is the rounding in between; of Casts only those that
    widen first, as a Cast that narrows is in the model to round.

    Returns:
        How many conversions were removed.
    """
    return sum(_cancel(network, layer) for layer in walk(network, _CONVERSIONS))


def _cancel(network: Network, layer: Layer) -> bool:
    if not is_conversion(layer):
        return False
    between = first_input(layer)
    first = between.producer
    if not is_conversion(first) or not may_absorb(layer, first):
        return False
    source = first_input(first)
    if source.info != layer.output.info or source.info == between.info:
        return False
    widens = between.info.data_type is DataType.FLOAT32
    if not widens and "Cast" in (layer.type, first.type):
        return False
    bypass(network, layer, source)
    return True


def convert_constants(network: Network) -> int:
    """Convert constants between Float32, Float16 and BFloat16.

    (Arm NN: ConvertConstantsFloatToHalf, ConvertConstantsHalfToFloat, and those of BFloat16.) It
    needs no backend, as ``fold_constants`` does.

    Returns:
        How many conversions were replaced by constants.
    """
    return sum(_convert(network, layer) for layer in walk(network, _CONVERSIONS))


def _convert(network: Network, layer: Layer) -> bool:
    if not is_conversion(layer):
        return False
    data, target = first_input(layer).constant, layer.output.info.data_type
    if data is None:
        return False
    name = layer.name
    made = converted_data(data, target, saturate=False)
    constant = network.add_constant(made, layer.output.info, name=network.unique_name(name))
    bypass(network, layer, constant)
    network.rename(constant.producer, name)
    return True
