# SPDX-License-Identifier: MIT
"""Conversions between data types: Cast, QuantizeLinear, DequantizeLinear, ...

ONNX keeps scale and zero point beside a tensor of plain integers; here they are a part of its
type. ONNX rounds halves to even, the Quantize layer, as in Arm NN, away from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import (
    NotKnownYetError,
    RefusedError,
    add_layer,
    cast,
    reshape,
    transpose,
)
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, BinaryOperation, DataType, UnaryOperation
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.graph import FewBits
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.schemas import MICROSOFT
from armnn_parser_onnx.tensors import data_type_of

_UNSIGNED8 = 2  # TensorProto.UINT8, what is made unless the node says otherwise


@operator("QuantizeLinear")
def quantize(operation: Operation) -> Value:
    """Add Quantize for quantized output types, else the arithmetic."""
    value = operation.input()
    declared = data_type_of(operation.integer("output_dtype", 0) or _UNSIGNED8)
    stored = operation.data_type(2) if operation.has_input(2) else declared
    if not _layer_quantizes(operation, stored):
        return _quantize_by_arithmetic(operation, stored)
    info = _quantized_info(operation, stored)
    if not value.info.data_type.is_float:
        value = cast(operation, value, DataType.FLOAT32, "real")
    return add_layer(operation, "Quantize", [value], output=info)


def _layer_quantizes(operation: Operation, stored: DataType) -> bool:
    """Return whether Quantize supports the scale and zero point.

    Both have to be known.
    """
    scale, point = operation.constant(1), operation.constant(2)
    if stored not in _STORED or scale is None or operation.integer("precision", 0) != 0:
        return False
    if operation.has_input(2) and (point is None or (stored is DataType.SIGNED16 and point.any())):
        return False
    numbers = scale.astype(np.float64)
    usable = ((numbers > 0) & (numbers < np.inf)).all()
    return bool(usable) and not operation.integer("block_size", 0)


@operator("DequantizeLinear", moves_data=True)
def dequantize(operation: Operation) -> Value:
    """Add Dequantize for quantized input types, else the arithmetic."""
    given, scale = operation.data_type(0), operation.data_type(1)
    number = operation.integer("output_dtype", 0)
    real = data_type_of(number) if number else scale
    real = real if real.bits > 8 else DataType.FLOAT32
    data = operation.constant(0)
    if given.is_quantized:
        value = operation.input()
        stored = DataType.from_numpy(value.info.data_type.numpy_dtype)
        _, *own = _quantization(operation, stored)
        if own != [value.info.scales, value.info.zero_points, value.info.axis]:
            raise RefusedError("its scale or zero point is not the one that its input has")
    elif data is not None and _layer_quantizes(operation, given):
        info = _quantized_info(operation, given)
        value = operation.network.add_constant(data, info, name=operation.layer_name("stored"))
    else:
        made = _dequantize_by_arithmetic(operation, real)
        weights = _weights_of_few_bits(operation, given, real)
        if weights is not None:
            operation.graph.few_bits[made] = weights
        return made
    return add_layer(operation, "Dequantize", [value], output=real)


def _weights_of_few_bits(operation: Operation, given: DataType, real: DataType) -> FewBits | None:
    """Return the blocks of a constant matrix as products read them, None of other tensors."""
    size, kind = operation.integer("block_size", 0), _FEW_BITS.get(given)
    data, scales, points = (operation.constant(index) for index in range(3))
    if kind is None or size < 16 or size & (size - 1) or data is None or scales is None:
        return None
    if data.ndim != 2 or scales.ndim != 2 or real is not operation.data_type(1):
        return None
    if operation.has_input(2) and points is None:
        return None
    bits, added = kind
    axis = operation.axis(operation.integer("axis", 1), 2)
    if points is None:
        points = None if added else np.zeros(scales.shape, np.uint8)
    else:
        points = points.astype(np.int16) + added
    numbers = data.astype(np.int16) + added
    if axis == 0:  # the numbers of a column, one behind the other
        numbers, scales = numbers.T, np.ascontiguousarray(scales.T)
        points = None if points is None else points.T
    packed = None if points is None else _packed_numbers(points, bits)
    return FewBits(_packed_numbers(numbers, bits), scales, packed, bits, size, axis == 1)


_FEW_BITS = {
    DataType.INT2: (2, 2),
    DataType.UINT2: (2, 0),
    DataType.INT4: (4, 8),
    DataType.UINT4: (4, 0),
    DataType.SIGNED8: (8, 128),
    DataType.UNSIGNED8: (8, 0),
}
"""The bits of a type, and the offset that makes its numbers unsigned."""


_STORED = {
    DataType.UNSIGNED8: DataType.QASYMM_U8,
    DataType.SIGNED8: DataType.QASYMM_S8,
    DataType.SIGNED16: DataType.QSYMM_S16,
}


def _quantized_info(operation: Operation, stored: DataType) -> TensorInfo:
    """Return the node's quantized type.

    Scale, zero point and axis of the node describe it.
    """
    data_type, scales, zero_points, axis = _quantization(operation, stored)
    return TensorInfo(operation.shape(), data_type, scales, zero_points, axis)


def _quantization(
    operation: Operation, stored: DataType
) -> tuple[DataType, tuple[float, ...], tuple[int, ...], int | None]:
    """Return a node's type, scales, zero points and axis."""
    scales = operation.known(1)
    points = operation.known(2) if operation.has_input(2) else np.zeros(scales.shape, np.int8)
    if points.shape != scales.shape:
        raise operation.error(
            f"the zero points have shape {list(points.shape)}: expected that of the scales, "
            f"{list(scales.shape)}"
        )
    data_type = _STORED[stored]
    numbers = tuple(scales.reshape(-1).astype(np.float64).tolist())
    zeros = tuple(points.reshape(-1).astype(np.int64).tolist())
    if len(numbers) == 1:
        return data_type, numbers, zeros, None
    if scales.ndim != 1:
        raise operation.error(f"the scales have shape {list(scales.shape)}: expected one axis")
    axis = operation.axis(operation.integer("axis", 1), len(operation.shape()))
    if data_type is DataType.QASYMM_S8 and not any(zeros):
        data_type = DataType.QSYMM_S8
    return data_type, numbers, zeros, axis


def _quantize_by_arithmetic(operation: Operation, stored: DataType) -> Value:
    """Add round(x / scale) + zero point, saturated.

    Halves are rounded to even; floats are cast.
    """
    value, scale, point = operation.input(), operation.input(1), operation.optional_input(2)
    number = operation.integer("precision", 0)
    precision = data_type_of(number) if number else _arithmetic_type(scale)
    value = cast(operation, value, precision, "real")
    scale = _for_each(operation, cast(operation, scale, precision, "scale"), "scale_of_each")
    quotient = binary(operation, BinaryOperation.DIV, value, scale, "quotient")
    if stored.is_float:
        return _saturated_cast(operation, quotient, stored, operation.flag("saturate", True))
    quotient = cast(operation, quotient, DataType.FLOAT32, "wide")
    quotient = unary(operation, UnaryOperation.ROUND, quotient, "steps")
    if point is not None:
        point = cast(operation, point, DataType.FLOAT32, "zero_point")
        point = _for_each(operation, point, "zero_point_of_each")
        quotient = binary(operation, BinaryOperation.ADD, quotient, point, "moved")
    limits = ml_dtypes.iinfo(stored.numpy_dtype)  # type: ignore[no-untyped-call]  # has no annotations
    clipped = activation(
        operation,
        quotient,
        ActivationFunction.BOUNDED_RELU,
        float(limits.max),
        float(limits.min),
        "clipped",
    )
    whole = cast(operation, clipped, DataType.SIGNED32, "whole")
    return cast(operation, whole, stored)


def _arithmetic_type(scale: Value) -> DataType:
    """Return the scale's type.

    The powers of two of 8 bits are used as Float32.
    """
    data_type = scale.info.data_type
    return data_type if data_type.bits > 8 else DataType.FLOAT32


def _dequantize_by_arithmetic(operation: Operation, real: DataType) -> Value:
    """Add (x - zero point) * scale, the difference in integers."""
    value, scale, zero_point = (
        operation.input(),
        operation.input(1),
        operation.optional_input(2),
    )
    known = _known_biases(value, scale, zero_point)
    if known is not None and real is DataType.FLOAT32:
        return operation.network.add_constant(known, name=operation.layer_name())
    wide = real if value.info.data_type.is_float else DataType.SIGNED32
    value = cast(operation, value, wide, "wide")
    if zero_point is not None:
        point = cast(operation, zero_point, wide, "zero_point")
        point = _for_each(operation, point, "zero_point_of_each")
        value = binary(operation, BinaryOperation.SUB, value, point, "difference")
    value = cast(operation, value, real, "real")
    scale = _for_each(operation, cast(operation, scale, real, "scale"), "scale_of_each")
    return binary(operation, BinaryOperation.MUL, value, scale)


def _known_biases(
    value: Value, scale: Value, zero_point: Value | None
) -> NDArray[np.float32] | None:
    """Return a Signed32 constant's real values, None of others.

    Each convolution has one: as layers, they would be made, computed one by one and removed again.
    """
    stored, step = value.constant, scale.constant
    point = np.array(0, np.int32) if zero_point is None else zero_point.constant
    if stored is None or step is None or point is None:
        return None
    if [each.dtype.name for each in (stored, point, step)] != ["int32", "int32", "float32"]:
        return None
    if any(each.shape not in ((), (1,), stored.shape) for each in (point, step)):
        return None
    with np.errstate(all="ignore"):  # as where the layers are computed
        return np.asarray(np.subtract(stored, point).astype(np.float32) * step)


def _for_each(operation: Operation, numbers: Value, part: str) -> Value:
    """Shape the numbers so that they broadcast.

    There is one number, one per index of the node's axis or one per block.
    """
    shape = operation.shape_of(numbers)
    if shape in ((), (1,)):
        return numbers
    data = operation.shape()
    axis = operation.axis(operation.integer("axis", 1), len(data))
    block = operation.integer("block_size", 0)
    if len(shape) != len(data):
        return reshape(operation, numbers, (-1, *(1,) * (len(data) - axis - 1)), part)
    size, blocks = data[axis], shape[axis]
    if not block:
        return numbers
    if not isinstance(size, int) or not isinstance(blocks, int):
        raise NotKnownYetError("the number of its blocks is not known")
    if block < 0 or -(-size // block) != blocks:
        raise operation.error(
            f"the attribute 'block_size' is {block}: {size} elements along the axis {axis} do not "
            f"make {blocks} blocks of it"
        )
    of_each = operation.integers_constant((np.arange(size) // block).tolist(), "blocks")
    return operation.network.add_gather(
        numbers, of_each, axis=axis, name=operation.layer_name(part)
    )


@operator("DynamicQuantizeLinear")
def dynamic_quantize(operation: Operation) -> Sequence[Value]:
    """Add DynamicQuantize."""
    value, name = operation.input(), operation.layer_name()
    return operation.network.add("DynamicQuantize", [value], name=name).outputs


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
        return _saturated_cast(operation, value, data_type, operation.flag("saturate", True))
    if data_type.is_integer and data_type.bits < 8:
        value = cast(operation, value, DataType.SIGNED32, "wide")
    return cast(operation, value, data_type)


def _saturated_cast(
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
"""The number that is added to the bits of a Float32 so that its exponent is the rounded one."""


_LARGEST_OF_FOUR_BITS = 6.0


@operator("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(operation: Operation) -> Value:
    """Add Gather of bytes, scales and zero points, and DequantizeBlocks of the gathered rows."""
    rank, kind = len(operation.shape()), operation.data_type(0)
    gathered = operation.axis(operation.integer("gather_axis"), rank)
    blocked = operation.axis(operation.integer("quantize_axis"), rank)
    bits, block_size = operation.integer("bits"), operation.integer("block_size")
    if kind is DataType.UNSIGNED8 and bits not in (2, 4, 8):
        raise RefusedError(f"its numbers have {bits} bits")
    if kind is not DataType.UNSIGNED8 and kind not in (DataType.INT4, DataType.UINT4):
        raise RefusedError(f"its numbers are {kind.arm_name}")
    if block_size < 16 or block_size & (block_size - 1):
        raise operation.error(
            f"the attribute 'block_size' is {block_size}: expected a power of two of 16 or more"
        )
    if (gathered, blocked) != (0, rank - 1):
        return _gathered_from_whole(operation, kind, gathered, blocked)
    if kind is DataType.UNSIGNED8:
        data, points = operation.input(), operation.optional_input(3)
        size = operation.shape_of(data)[-1]
        if not isinstance(size, int):
            raise NotKnownYetError("the length of its rows is not known")
        size = size * 8 // bits
    else:
        bits, size = 4, operation.known(0).shape[-1]
        data, points = _packed_fours(operation, kind, -1)
    found = [
        None
        if value is None
        else operation.network.add_gather(
            value, operation.input(1), axis=0, name=operation.layer_name(part)
        )
        for value, part in ((data, "rows"), (operation.input(2), "scales"), (points, "zero_points"))
    ]
    return add_layer(
        operation,
        "DequantizeBlocks",
        found,
        bits=bits,
        block_size=block_size,
        size=size,
    )


def _gathered_from_whole(
    operation: Operation, kind: DataType, gathered: int, blocked: int
) -> Value:
    """Add Gather of a table that is dequantized as a whole, for axes that are not the usual ones.

    Raises:
        RefusedError: The numbers are packed into bytes along the last axis.
    """
    if kind is DataType.UNSIGNED8:
        raise RefusedError(
            "it gathers bytes along another axis than the first, or blocks are not along the last"
        )
    rows, points = _packed_fours(operation, kind, blocked)
    scales = operation.network.add_constant(
        np.moveaxis(operation.known(2), blocked, -1), name=operation.layer_name("scales")
    )
    whole = add_layer(
        operation,
        "DequantizeBlocks",
        [rows, scales, points],
        "whole",
        bits=4,
        block_size=operation.integer("block_size"),
        size=operation.known(0).shape[blocked],
    )
    axes = [*range(len(operation.shape()) - 1)]
    axes.insert(blocked, len(axes))
    table = transpose(operation, whole, axes, "table")
    return operation.network.add_gather(
        table, operation.input(1), axis=gathered, name=operation.layer_name()
    )


def _packed_fours(operation: Operation, kind: DataType, axis: int) -> tuple[Value, Value | None]:
    """Return rows and zero points of four bits in bytes; those of signed ones are moved by 8.

    Args:
        operation: The operator.
        kind: Its type of four bits.
        axis: The axis of blocks, the last one of what is returned.
    """
    data = np.moveaxis(operation.known(0), axis, -1)
    if operation.has_input(3):
        given = np.moveaxis(operation.known(3), axis, -1)
    else:
        blocks = -(-data.shape[-1] // operation.integer("block_size"))
        given = np.zeros((*data.shape[:-1], blocks), np.int8)
    rows, points = (
        operation.network.add_constant(
            _packed_numbers(each.astype(np.int16) + _FEW_BITS[kind][1], 4),
            name=operation.layer_name(part),
        )
        for each, part in ((data, "packed"), (given, "packed_zero_points"))
    )
    return rows, points


def _packed_numbers(numbers: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return rows of bytes, the first number of each byte in its lowest bits."""
    per = 8 // bits
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % per)])
    parts = padded.astype(np.uint8).reshape(*numbers.shape[:-1], padded.shape[-1] // per, per)
    shifted = parts << np.arange(0, 8, bits, dtype=np.uint8)
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(shifted, -1)
    return packed
