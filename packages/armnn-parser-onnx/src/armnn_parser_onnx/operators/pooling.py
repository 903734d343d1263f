# SPDX-License-Identifier: MIT
"""Sums over sliding windows and over whole images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from armnn.parsing.conversion import RefusedError, add_layer
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataLayout,
    OutputShapeRounding,
    PaddingMethod,
    PoolingAlgorithm,
    ReduceOperation,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.window import Window, kernel_shape, read_window

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation


@operator("MaxPool", moves_data=True)
def max_pool(operation: Operation) -> Sequence[Value]:
    """Add Pooling2d or Pooling3d, and optionally the maxima's places."""
    pooled = _pool(operation, operation.input(), PoolingAlgorithm.MAX)
    if not any(operation.outputs[1:]):
        return [pooled]
    from armnn_parser_onnx.operators.pooling_inverse import places_of_maxima  # late: few ask

    return [pooled, places_of_maxima(operation, pooled)]


@operator("AveragePool")
def average_pool(operation: Operation) -> Value:
    """Add Pooling2d or Pooling3d."""
    included = operation.flag("count_include_pad")
    method = PaddingMethod.IGNORE_VALUE if included else PaddingMethod.EXCLUDE
    return _pool(operation, operation.input(), PoolingAlgorithm.AVERAGE, method)


@operator("LpPool")
def lp_pool(operation: Operation) -> Value:
    """Add Pooling2d or Pooling3d, times the window's size.

    The pooling gives a mean over the window.
    """
    power, size = operation.integer("p"), math.prod(kernel_shape(operation))
    if power < 1:
        raise operation.error(f"the attribute 'p' is {power}: expected at least 1")
    if operation.flag("ceil_mode"):
        raise RefusedError("with ceil_mode the windows at the end are smaller than the others")
    value, method = operation.input(), PaddingMethod.IGNORE_VALUE
    if power == 2:
        mean = _pool(operation, value, PoolingAlgorithm.L2, method, "mean")
        return activation(operation, mean, ActivationFunction.LINEAR, math.sqrt(size))
    value = unary(operation, UnaryOperation.ABS, value, "absolute")
    if power > 1:
        value = _to_power(operation, value, power, "powers")
    mean = _pool(operation, value, PoolingAlgorithm.AVERAGE, method, "mean")
    if power == 1:
        return activation(operation, mean, ActivationFunction.LINEAR, float(size))
    total = activation(operation, mean, ActivationFunction.LINEAR, float(size), part="sum")
    return _to_power(operation, total, 1 / power, "")


def _to_power(operation: Operation, value: Value, exponent: float, part: str) -> Value:
    number = operation.number(exponent, value, "exponent")
    return binary(operation, BinaryOperation.POWER, value, number, part)


def _pool(
    operation: Operation,
    value: Value,
    algorithm: PoolingAlgorithm,
    method: PaddingMethod = PaddingMethod.EXCLUDE,
    part: str = "",
) -> Value:
    size = kernel_shape(operation)
    shape = operation.shape()
    if not 3 <= len(shape) <= 5:
        raise operation.error(f"the input has rank {len(shape)}: expected 3 to 5")
    window = read_window(operation, size, shape[2:])
    ceiling = operation.flag("ceil_mode")
    rounding = OutputShapeRounding.CEILING if ceiling else OutputShapeRounding.FLOOR
    if len(size) == 3:
        return _pool3d(operation, value, window, algorithm, method, rounding, part)
    if len(size) == 1:
        from armnn_parser_onnx.shapes import with_spatial_axes, without_spatial_axes  # late: few

        image = with_spatial_axes(operation, value, 2)
        window = window.padded_to(2)
        pooled = _pool2d(operation, image, window, algorithm, method, rounding, "image")
        return without_spatial_axes(operation, pooled, 3)
    return _pool2d(operation, value, window, algorithm, method, rounding, part)


def _pool2d(
    operation: Operation,
    value: Value,
    window: Window,
    algorithm: PoolingAlgorithm,
    method: PaddingMethod,
    rounding: OutputShapeRounding,
    part: str,
) -> Value:
    return add_layer(
        operation,
        "Pooling2d",
        [value],
        part,
        pool_type=algorithm,
        pad_top=window.before[0],
        pad_left=window.before[1],
        pad_bottom=window.after[0],
        pad_right=window.after[1],
        pool_height=window.size[0],
        pool_width=window.size[1],
        stride_y=window.strides[0],
        stride_x=window.strides[1],
        dilation_y=window.dilations[0],
        dilation_x=window.dilations[1],
        output_shape_rounding=rounding,
        padding_method=method,
        data_layout=DataLayout.NCHW,
    )


def _pool3d(
    operation: Operation,
    value: Value,
    window: Window,
    algorithm: PoolingAlgorithm,
    method: PaddingMethod,
    rounding: OutputShapeRounding,
    part: str,
) -> Value:
    return operation.network.add_pooling3d(
        value,
        pool_type=algorithm,
        pad_front=window.before[0],
        pad_top=window.before[1],
        pad_left=window.before[2],
        pad_back=window.after[0],
        pad_bottom=window.after[1],
        pad_right=window.after[2],
        pool_depth=window.size[0],
        pool_height=window.size[1],
        pool_width=window.size[2],
        stride_z=window.strides[0],
        stride_y=window.strides[1],
        stride_x=window.strides[2],
        dilation_z=window.dilations[0],
        dilation_y=window.dilations[1],
        dilation_x=window.dilations[2],
        output_shape_rounding=rounding,
        padding_method=method,
        data_layout=DataLayout.NCDHW,
        name=operation.layer_name(part),
    )


def _spatial_axes(operation: Operation) -> tuple[int, ...]:
    rank = len(operation.shape())
    if rank < 2:
        raise operation.error(f"the input has rank {rank}: expected [N, C, ...]")
    return tuple(range(2, rank))


@operator("GlobalAveragePool")
def global_average_pool(operation: Operation) -> Value:
    """Add Mean over the spatial axes, whatever their size is."""
    axes = _spatial_axes(operation)
    if not axes:
        return operation.input()
    return add_layer(operation, "Mean", [operation.input()], axis=axes, keep_dims=True)


@operator("GlobalMaxPool")
def global_max_pool(operation: Operation) -> Value:
    """Add Reduce with Max over the spatial axes."""
    axes = _spatial_axes(operation)
    return _reduced(operation, operation.input(), axes, ReduceOperation.MAX)


@operator("GlobalLpPool")
def global_lp_pool(operation: Operation) -> Value:
    """Add the norm of the spatial axes."""
    axes, power = _spatial_axes(operation), operation.integer("p")
    if power < 1:
        raise operation.error(f"the attribute 'p' is {power}: expected at least 1")
    value = operation.input()
    if power == 2:
        value = activation(operation, value, ActivationFunction.SQUARE, part="square")
        total = _reduced(operation, value, axes, ReduceOperation.SUM, "sum")
        return unary(operation, UnaryOperation.SQRT, total)
    value = unary(operation, UnaryOperation.ABS, value, "absolute")
    if power == 1:
        return _reduced(operation, value, axes, ReduceOperation.SUM)
    value = _to_power(operation, value, power, "powers")
    total = _reduced(operation, value, axes, ReduceOperation.SUM, "sum")
    return _to_power(operation, total, 1 / power, "")


def _reduced(
    operation: Operation,
    value: Value,
    axes: tuple[int, ...],
    function: ReduceOperation,
    part: str = "",
) -> Value:
    if not axes:
        return value
    return operation.network.add_reduce(
        value,
        axis=axes,
        keep_dims=True,
        reduce_operation=function,
        name=operation.layer_name(part),
    )
