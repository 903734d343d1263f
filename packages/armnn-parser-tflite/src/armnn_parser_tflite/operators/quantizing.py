# SPDX-License-Identifier: MIT
"""From one data type to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import RefusedError

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_tflite.operation import Operation


@operator("QUANTIZE", newest=6)
def quantize(operation: Operation) -> Value:
    """Add Quantize, also from one scale to another."""
    info = operation.info()
    value = operation.input()
    if not info.is_quantized:
        raise RefusedError(f"no layer quantises to {info.data_type.arm_name}")
    if not (value.info.is_quantized or value.info.data_type.is_float):
        raise RefusedError(f"it quantises {value.info.data_type.arm_name}, which has no scale here")
    return operation.network.add_quantize(value, name=operation.layer_name(), output=info)


@operator("DEQUANTIZE", newest=9)
def dequantize(operation: Operation) -> Value:
    """Add Dequantize, or Cast for Float16, which models store weights in."""
    value, real = operation.input(), operation.info().data_type
    if value.info.data_type.is_float:
        return operation.network.add_cast(value, name=operation.layer_name(), output=real)
    if not value.info.is_quantized:
        raise RefusedError(f"its input is {value.info.data_type.arm_name} without a scale")
    return operation.network.add_dequantize(value, name=operation.layer_name(), output=real)


@operator("CAST", newest=9)
def cast(operation: Operation) -> Value:
    """Add Cast."""
    value, info = operation.input(), operation.info()
    if value.info.is_quantized or info.is_quantized:
        raise RefusedError("it casts the stored numbers of a quantised tensor")
    return operation.network.add_cast(value, name=operation.layer_name(), output=info.data_type)


@operator("DENSIFY")
def densify(operation: Operation) -> Value:
    """Return the input: sparse constants are made dense when they are read."""
    return operation.input()
