# SPDX-License-Identifier: MIT
"""Between real and stored values.

ONNX keeps scale and zero point beside a tensor of plain integers; here they are a part of its
type. ONNX rounds halves to even, the Quantize layer, as in Arm NN, away from zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import RefusedError
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.operators.elementwise import cast
from armnn_parser_onnx.shapes import reshape
from armnn_parser_onnx.tensors import data_type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation

_UNSIGNED8 = 2  # TensorProto.UINT8, what is made unless the node says otherwise


@operator("QuantizeLinear")
def quantize(operation: Operation) -> Value:
    """Add Quantize."""
    _refuse_blocks(operation)
    if operation.integer("precision", 0) != 0:
        raise RefusedError("it says the precision of the division")
    value = operation.input()
    said = data_type_of(operation.integer("output_dtype", 0) or _UNSIGNED8)
    zero_point = operation.optional_input(2)
    stored = said if zero_point is None else zero_point.info.data_type
    info = _quantized_info(operation, stored)
    if not value.info.data_type.is_float:
        value = cast(operation, value, DataType.FLOAT32, "real")
    return operation.network.add_quantize(value, name=operation.layer_name(), output=info)


@operator("DequantizeLinear", moves_data=True)
def dequantize(operation: Operation) -> Value:
    """Add Dequantize where the input is or can be of a quantised type, else the arithmetic."""
    _refuse_blocks(operation)
    value, scale = operation.input(), operation.input(1)
    said = operation.integer("output_dtype", 0)
    real = data_type_of(said) if said else scale.info.data_type
    if value.info.is_quantized:
        stored = DataType.from_numpy(value.info.data_type.numpy_dtype)
        if not _same_quantization(_quantized_info(operation, stored), value.info):
            raise RefusedError("its scale or zero point is not the one that its input has")
    elif value.constant is not None and value.info.data_type in _STORED:
        info = _quantized_info(operation, value.info.data_type)
        value = operation.network.add_constant(
            value.constant, info, name=operation.layer_name("stored")
        )
    else:
        return _dequantize_by_arithmetic(operation, real)
    return operation.network.add_dequantize(value, name=operation.layer_name(), output=real)


_STORED = {
    DataType.UNSIGNED8: DataType.QASYMM_U8,
    DataType.SIGNED8: DataType.QASYMM_S8,
    DataType.SIGNED16: DataType.QSYMM_S16,
}


def _quantized_info(operation: Operation, stored: DataType) -> TensorInfo:
    """Return the quantised type that scale, zero point and axis of the node describe."""
    if stored not in _STORED:
        raise RefusedError(f"no layer quantises to {stored.arm_name}")
    scales = operation.known(1)
    points = operation.known(2) if operation.has_input(2) else np.zeros(scales.shape, np.int8)
    if points.shape != scales.shape:
        raise operation.error(
            f"the zero points have shape {list(points.shape)}: expected that of the scales, "
            f"{list(scales.shape)}"
        )
    data_type = _STORED[stored]
    if data_type is DataType.QSYMM_S16 and points.any():
        raise RefusedError("16-bit values with a zero point are not supported")
    numbers = [float(scale) for scale in scales.reshape(-1)]
    zeros = [int(point) for point in points.reshape(-1)]
    shape = operation.shape()
    if len(numbers) == 1:
        return TensorInfo(shape, data_type, numbers, zeros)
    if scales.ndim != 1:
        raise operation.error(f"the scales have shape {list(scales.shape)}: expected one axis")
    axis = operation.axis(operation.integer("axis", 1), len(shape))
    if data_type is DataType.QASYMM_S8 and not any(zeros):
        data_type = DataType.QSYMM_S8
    return TensorInfo(shape, data_type, numbers, zeros, axis)


def _same_quantization(first: TensorInfo, second: TensorInfo) -> bool:
    return (first.scales, first.zero_points, first.axis) == (
        second.scales,
        second.zero_points,
        second.axis,
    )


def _dequantize_by_arithmetic(operation: Operation, real: DataType) -> Value:
    """Add (x - zero point) * scale, the difference in integers."""
    value, scale, zero_point = (
        operation.input(),
        operation.input(1),
        operation.optional_input(2),
    )
    if not value.info.data_type.is_float:
        value = cast(operation, value, DataType.SIGNED32, "wide")
    else:
        value = cast(operation, value, real, "wide")
    if zero_point is not None:
        point = cast(operation, zero_point, value.info.data_type, "zero_point")
        point = _along_axis(operation, point, "zero_point_by_axis")
        value = binary(operation, BinaryOperation.SUB, value, point, "difference")
    value = cast(operation, value, real, "real")
    scale = _along_axis(operation, cast(operation, scale, real, "scale"), "scale_by_axis")
    return binary(operation, BinaryOperation.MUL, value, scale)


def _along_axis(operation: Operation, numbers: Value, part: str) -> Value:
    """Shape one number per index of the node's axis so that it broadcasts."""
    shape = numbers.info.shape
    if shape in ((), (1,)):
        return numbers
    rank = len(operation.shape())
    axis = operation.axis(operation.integer("axis", 1), rank)
    return reshape(operation, numbers, (-1, *(1,) * (rank - axis - 1)), part)


def _refuse_blocks(operation: Operation) -> None:
    if operation.integer("block_size", 0) != 0:
        raise RefusedError("it has a scale for each block of elements")


@operator("DynamicQuantizeLinear")
def dynamic_quantize(operation: Operation) -> Sequence[Value]:
    """Add DynamicQuantize."""
    return operation.network.add_dynamic_quantize(operation.input(), name=operation.layer_name())
