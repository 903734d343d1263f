# SPDX-License-Identifier: MIT
"""Pooling over windows and whole images, Col2Im and MaxUnpool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import RefusedError, add_layer, reshape, static_shape
from armnn.types import (
    ActivationFunction,
    ArgMinMaxFunction,
    BinaryOperation,
    DataType,
    OutputShapeRounding,
    PaddingMethod,
    PoolingAlgorithm,
    ReduceOperation,
    ScatterNdFunction,
    UnaryOperation,
)
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import activation, binary
from armnn_parser_onnx.operators.convolution import Window, kernel_shape, per_axis, read_window
from armnn_parser_onnx.operators.elementwise import unary
from armnn_parser_onnx.shapes import with_spatial_axes, without_spatial_axes


@operator("MaxPool", moves_data=True)
def max_pool(operation: Operation) -> Sequence[Value]:
    """Add Pooling2d or Pooling3d, and optionally the maxima's places."""
    pooled = _pool(operation, operation.input(), PoolingAlgorithm.MAX)
    if not any(operation.outputs[1:]):
        return [pooled]
    return [pooled, _places_of_maxima(operation, pooled)]


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
    if len(size) > 1:
        return _pooled(operation, value, window, algorithm, method, part)
    image = with_spatial_axes(operation, value, 2)
    pooled = _pooled(operation, image, window.padded_to(2), algorithm, method, "image")
    return without_spatial_axes(operation, pooled, 3)


def _pooled(
    operation: Operation,
    value: Value,
    window: Window,
    algorithm: PoolingAlgorithm,
    method: PaddingMethod,
    part: str,
) -> Value:
    axes, ceiling = len(window.size), operation.flag("ceil_mode")
    sizes = zip(("pool_depth", "pool_height", "pool_width")[3 - axes :], window.size, strict=True)
    parameters = window.parameters(
        pool_type=algorithm,
        padding_method=method,
        output_shape_rounding=OutputShapeRounding.CEILING if ceiling else OutputShapeRounding.FLOOR,
        **dict(sizes),
    )
    return add_layer(operation, f"Pooling{axes}d", [value], part, **parameters)


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


_MOST_PLACES = 2**24


_LARGEST_IMAGE = 2**40


def _places_of_maxima(operation: Operation, pooled: Value) -> Value:
    """Return each window's first maximum as a flat input index.

    Args:
        operation: A MaxPool.
        pooled: Its first output.

    Raises:
        NotKnownYetError: A dimension is not known.
        RefusedError: There are too many places.
    """
    value, network = operation.input(), operation.network
    shape, output = static_shape(value), static_shape(pooled)
    window = read_window(operation, kernel_shape(operation), shape[2:])
    table = _places(window, shape[2:], output[2:])
    windows, size = table.shape
    pixels = math.prod(shape[2:])
    flat = reshape(operation, value, (*shape[:2], pixels), "pixels")
    padded = network.add_pad(
        flat,
        pad_list=((0, 0), (0, 0), (0, 1)),
        pad_value=_lowest(value.info.data_type),
        name=operation.layer_name("padded"),
    )
    order = operation.integers_constant(table.reshape(-1).tolist(), "places")
    read = network.add_gather(padded, order, axis=2, name=operation.layer_name("read"))
    read = reshape(operation, read, (*shape[:2], windows, size), "windows")
    first = network.add_arg_min_max(
        read,
        function=ArgMinMaxFunction.MAX,
        axis=3,
        name=operation.layer_name("first"),
        output=DataType.SIGNED64,
    )
    starts = operation.integers_constant((np.arange(windows) * size).tolist(), "starts")
    chosen = binary(operation, BinaryOperation.ADD, first, starts, "chosen")
    if operation.flag("storage_order"):
        table = _column_major(table, shape[2:])
    known = operation.integers_constant(table.reshape(-1).tolist(), "numbers")
    number = network.add_gather(known, chosen, axis=0, name=operation.layer_name("number"))
    planes = np.arange(shape[0] * shape[1]).reshape(*shape[:2], 1) * pixels
    offset = network.add_constant(planes, name=operation.layer_name("planes"))
    total = binary(operation, BinaryOperation.ADD, number, offset, "total")
    return reshape(operation, total, output, "indices")


def _places(window: Window, spatial: Sequence[int], output: Sequence[int]) -> NDArray[np.int64]:
    """Return the pixel that each window position reads.

    In padding it is the number behind the last pixel.

    Raises:
        RefusedError: There are too many.
    """
    if math.prod((*window.size, *output)) > _MOST_PLACES:
        raise RefusedError(f"its windows have more than {_MOST_PLACES} places")
    rank = len(spatial)
    places = np.zeros((1,) * (2 * rank), np.int64)
    outside = np.zeros((1,) * (2 * rank), np.bool_)
    for axis, (length, count) in enumerate(zip(spatial, output, strict=True)):
        starts = np.arange(count) * window.strides[axis] - window.before[axis]
        read = starts[:, None] + np.arange(window.size[axis]) * window.dilations[axis]
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = count, window.size[axis]
        read = read.reshape(shape)
        places = places * length + read
        outside = outside | (read < 0) | (read >= length)
    pixels: NDArray[np.int64] = np.where(outside, math.prod(spatial), places)
    return pixels.reshape(math.prod(output), math.prod(window.size))


def _column_major(table: NDArray[np.int64], spatial: Sequence[int]) -> NDArray[np.int64]:
    """Return pixel numbers with the first spatial axis fastest."""
    pixels = math.prod(spatial)
    numbers = np.arange(pixels).reshape(tuple(reversed(spatial))).T.reshape(-1)
    known: NDArray[np.int64] = np.append(numbers, pixels)[table]
    return known


def _lowest(data_type: DataType) -> Any:
    if data_type.is_float:
        return -math.inf
    return int(np.iinfo(data_type.numpy_dtype).min)


@operator("MaxUnpool")
def max_unpool(operation: Operation) -> Value:
    """Add ScatterElements into zeros of the shape that was pooled."""
    value, network = operation.input(), operation.network
    shape, size = static_shape(value), kernel_shape(operation)
    rank = len(size)
    strides = per_axis(operation, "strides", rank, default=1, least=1)
    pads = per_axis(operation, "pads", 2 * rank, default=0, least=0)
    if len(shape) != rank + 2:
        raise operation.error(f"the input has rank {len(shape)}: expected {rank + 2}")
    spatial = [
        (length - 1) * stride - pads[axis] - pads[rank + axis] + window
        for axis, (length, stride, window) in enumerate(zip(shape[2:], strides, size, strict=True))
    ]
    inferred = (*shape[:2], *spatial)
    if min(inferred) < 1 or math.prod(inferred) > _MOST_PLACES:
        raise operation.error(
            f"the input of shape {list(shape)} was pooled from {list(inferred)}: expected no empty "
            f"axes and at most {_MOST_PLACES} elements"
        )
    zeros = network.add_constant(
        np.zeros(math.prod(inferred), value.info.data_type.numpy_dtype),
        name=operation.layer_name("zeros"),
    )
    wanted = operation.known_integers(2)
    scattered = network.add_scatter_elements(
        zeros,
        reshape(operation, operation.input(1), (-1,), "places"),
        reshape(operation, value, (-1,), "values"),
        axis=0,
        name=operation.layer_name("scattered"),
    )
    image = reshape(operation, scattered, inferred, "" if wanted is None else "image")
    if wanted is None:
        return image
    if len(wanted) != len(inferred) or any(
        more < least for more, least in zip(wanted, inferred, strict=True)
    ):
        raise operation.error(
            f"the output shape is {list(wanted)}: expected at least {list(inferred)}"
        )
    missing = [(0, more - least) for more, least in zip(wanted, inferred, strict=True)]
    return network.add_pad(image, pad_list=missing, name=operation.layer_name())


@operator("Col2Im")
def col2im(operation: Operation) -> Value:
    """Add ScatterElements that sums the columns into zeros."""
    value, network = operation.input(), operation.network
    image, window = _block_window(operation)
    shape = static_shape(value)
    counts = window.counts(image)
    columns, blocks = math.prod(counts), math.prod(window.size)
    if len(shape) != 3 or min(counts) < 1 or shape[2] != columns or shape[1] % blocks:
        raise operation.error(
            f"the input has shape {list(shape)}: expected [N, channels * {blocks}, {columns}] for "
            f"an image of {list(image)}"
        )
    channels, pixels = shape[1] // blocks, math.prod(image)
    places = _places(window, image, counts).T.reshape(-1)
    target = (shape[0], channels, blocks * columns)
    indices = network.add_broadcast_to(
        network.add_constant(places, name=operation.layer_name("places")),
        broadcast_to_shape=target,
        name=operation.layer_name("places_of_each"),
    )
    zeros = network.add_broadcast_to(
        operation.number([0], value, "zero"),
        broadcast_to_shape=(*target[:2], pixels + 1),
        name=operation.layer_name("zeros"),
    )
    summed = network.add_scatter_elements(
        zeros,
        indices,
        reshape(operation, value, target, "columns"),
        axis=2,
        function=ScatterNdFunction.ADD,
        name=operation.layer_name("summed"),
    )
    inside = network.add_strided_slice(
        summed,
        begin=(0, 0, 0),
        end=(*target[:2], pixels),
        stride=(1, 1, 1),
        name=operation.layer_name("inside"),
    )
    return reshape(operation, inside, (*target[:2], *image))


def _block_window(operation: Operation) -> tuple[tuple[int, ...], Window]:
    """Return the image's shape and the columns' window."""
    image = operation.known_integers(1) or ()
    block = operation.known_integers(2) or ()
    small = len(block) == len(image) and min((*image, *block), default=0) >= 1
    if not small or math.prod((*image, *block)) > _LARGEST_IMAGE:
        raise operation.error(
            f"the image is {list(image)} and the block {list(block)}: expected as many numbers of "
            "both, each at least 1, and no larger image than any memory holds"
        )
    rank = len(image)
    pads = per_axis(operation, "pads", 2 * rank, default=0, least=0)
    window = Window(
        size=block,
        strides=per_axis(operation, "strides", rank, default=1, least=1),
        dilations=per_axis(operation, "dilations", rank, default=1, least=1),
        before=pads[:rank],
        after=pads[rank:],
    )
    return image, window
