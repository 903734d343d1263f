# SPDX-License-Identifier: MIT
"""Casts between types, with ONNX's rules for small ones.

These are of 8 bits and less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.parsing.conversion import cast
from armnn.types import ActivationFunction, BinaryOperation, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.tensors import data_type_of

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation


@operator("Cast")
def cast_to(operation: Operation) -> Value:
    """Add Cast."""
    return _cast(operation, data_type_of(operation.integer("to")))


@operator("CastLike")
def cast_like(operation: Operation) -> Value:
    """Add Cast to the type of another value."""
    return _cast(operation, operation.input(1).info.data_type)


@operator("BitCast")
def bit_cast(operation: Operation) -> Value:
    """Add BitCast."""
    value, data_type = operation.input(), data_type_of(operation.integer("to"))
    given = value.info.data_type
    if given.bits != data_type.bits:
        raise operation.error(
            f"{data_type.arm_name} has {data_type.bits} bits: expected {given.bits}, as "
            f"{given.arm_name} has"
        )
    return operation.network.add_bit_cast(value, name=operation.layer_name(), output=data_type)


def _cast(operation: Operation, data_type: DataType) -> Value:
    """Cast, with saturation of 8-bit floats on request.

    Saturation makes the largest float of values beyond it. From real numbers to integers of less
    than 8 bits, the lower bits of a wider integer are kept.
    """
    value = operation.input()
    if data_type is DataType.FLOAT8_E8M0FNU and value.info.data_type is not data_type:
        return _cast_to_powers(operation, value)
    if not value.info.data_type.is_float:
        return cast(operation, value, data_type)
    if data_type.is_float:
        return saturated_cast(operation, value, data_type, operation.flag("saturate", True))
    if data_type.is_integer and data_type.bits < 8:
        value = cast(operation, value, DataType.SIGNED32, "wide")
    return cast(operation, value, data_type)


def saturated_cast(
    operation: Operation, value: Value, data_type: DataType, saturate: bool
) -> Value:
    """Cast real numbers to a float type.

    Those of four bits always saturate.
    """
    if value.info.data_type is data_type:
        return value
    if data_type.bits < 8:
        limit, clipped = _LARGEST_OF_FOUR_BITS, ActivationFunction.BOUNDED_RELU
        value = activation(operation, value, clipped, limit, -limit, "saturated")
    return operation.network.add_cast(
        value,
        saturate=saturate and data_type.bits == 8,
        name=operation.layer_name(),
        output=data_type,
    )


def _cast_to_powers(operation: Operation, value: Value) -> Value:
    """Round to a power of two by ``round_mode``, then cast.

    The cast is exact. A number is a power of two times one from 1 up to 2, and the mode says from
    which factor on the next power is taken.
    """
    mode = operation.text("round_mode", _FROM, "up") if operation.has("round_mode") else "up"
    real = cast(operation, value, DataType.FLOAT32, "real")
    bits = operation.network.add_bit_cast(
        real, name=operation.layer_name("bits"), output=DataType.SIGNED32
    )
    added = operation.number(_FROM[mode], bits, "added")
    moved = binary(operation, BinaryOperation.ADD, bits, added, "moved")
    exponent = operation.number(0x7F800000, bits, "exponent")
    power = binary(operation, BinaryOperation.BITWISE_AND, moved, exponent, "power")
    rounded = operation.network.add_bit_cast(
        power, name=operation.layer_name("rounded"), output=DataType.FLOAT32
    )
    nan = operation.network.add_is_nan(real, name=operation.layer_name("is_nan"))
    rounded = operation.network.add_where(nan, real, rounded, name=operation.layer_name("or_nan"))
    return operation.network.add_cast(
        rounded,
        saturate=operation.flag("saturate", True),
        name=operation.layer_name(),
        output=DataType.FLOAT8_E8M0FNU,
    )


_FROM = {"up": 0x007FFFFF, "down": 0, "nearest": 0x00400000}
"""What is added to the bits of a Float32 so that its exponent is the rounded one."""

_LARGEST_OF_FOUR_BITS = 6.0
