# SPDX-License-Identifier: MIT
"""Convolutions whose windows are moved element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armnn.parsing.conversion import RefusedError, reshape, static_shape, transpose
from armnn.types import BinaryOperation, DataLayout, GridPadding, ResizeMethod
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.weights import static_weights
from armnn_parser_onnx.window import Window, read_window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation

_MOST_PLACES = 2**24


@operator("DeformConv")
def deformed_convolution(operation: Operation) -> Value:
    """Add GridSample for the windows, then a 1x1 convolution.

    GridSample reads what each window reads. The offsets move the places where a window reads (Dai
    et al. 2017), a mask weighs what it reads.
    """
    weights, shape = static_weights(operation), static_shape(operation.input())
    if len(shape) != 4:
        raise RefusedError(f"no layer computes it along {len(shape) - 2} axes")
    window = read_window(operation, weights[2:], shape[2:])
    offsets = static_shape(operation.input(2))
    kernel, groups = math.prod(weights[2:]), operation.integer("offset_group")
    output = _output(window, shape[2:])
    wanted = (shape[0], groups * kernel * 2, *output)
    if groups < 1 or shape[1] % groups or offsets != wanted:
        raise operation.error(
            f"the offsets have shape {list(offsets)}: expected {list(wanted)}, and {shape[1]} "
            f"channels in {groups} groups"
        )
    if math.prod((*wanted, shape[1])) > _MOST_PLACES * groups * 2:
        raise RefusedError(f"it reads more than {_MOST_PLACES} places")
    grid = _grid(operation, window, shape, output)
    image = reshape(
        operation, operation.input(), (shape[0] * groups, shape[1] // groups, *shape[2:]), "groups"
    )
    read = operation.network.add_grid_sample(
        image,
        grid,
        method=ResizeMethod.BILINEAR,
        padding_mode=GridPadding.ZEROS,
        name=operation.layer_name("read"),
    )
    if operation.has_input(4):
        mask = reshape(
            operation,
            operation.input(4),
            (shape[0] * groups, 1, kernel * output[0], output[1]),
            "mask",
        )
        read = binary(operation, BinaryOperation.MUL, read, mask, "masked")
    columns = reshape(operation, read, (shape[0], shape[1] * kernel, *output), "columns")
    flat = reshape(
        operation, operation.input(1), (weights[0], weights[1] * kernel, 1, 1), "flat_weights"
    )
    return operation.network.add_convolution2d(
        columns,
        flat,
        operation.optional_input(3),
        data_layout=DataLayout.NCHW,
        name=operation.layer_name(),
    )


def _output(window: Window, spatial: tuple[int, ...]) -> tuple[int, int]:
    height, width = (
        (length + before + after - dilation * (size - 1) - 1) // stride + 1
        for length, size, stride, dilation, before, after in zip(
            spatial,
            window.size,
            window.strides,
            window.dilations,
            window.before,
            window.after,
            strict=True,
        )
    )
    return height, width


def _grid(
    operation: Operation, window: Window, shape: tuple[int, ...], output: tuple[int, int]
) -> Value:
    """Return all windows' places, [N * groups, kernel * rows, columns, 2]."""
    groups, kernel = operation.integer("offset_group"), math.prod(window.size)
    # The offsets are [N, groups, kernel, (y, x), rows, columns].
    apart = reshape(
        operation, operation.input(2), (shape[0] * groups, kernel, 2, *output), "offsets"
    )
    moved = transpose(operation, apart, (0, 1, 3, 4, 2), "offsets_last")
    places = binary(
        operation,
        BinaryOperation.ADD,
        moved,
        operation.number(_places(window, output), moved, "places"),
        "moved",
    )
    # GridSample counts from -1 to 1 between the outer borders of the pixels.
    sizes = np.array(shape[2:], np.float64)
    factor = operation.number(2 / sizes, places, "factor")
    offset = operation.number(1 / sizes - 1, places, "offset")
    scaled = binary(operation, BinaryOperation.MUL, places, factor, "scaled")
    grid = binary(operation, BinaryOperation.ADD, scaled, offset, "grid_yx")
    turned = operation.network.add_gather(
        grid,
        operation.integers_constant([1, 0], "xy"),
        axis=4,
        name=operation.layer_name("grid_xy"),
    )
    return reshape(operation, turned, (shape[0] * groups, kernel * output[0], output[1], 2), "grid")


def _places(window: Window, output: tuple[int, int]) -> NDArray[np.float64]:
    """Return undeformed places: [kernel, rows, columns, (y, x)]."""
    axes = [
        np.arange(size)[:, np.newaxis] * dilation + np.arange(count) * stride - before
        for size, count, stride, dilation, before in zip(
            window.size, output, window.strides, window.dilations, window.before, strict=True
        )
    ]
    rows = axes[0][:, np.newaxis, :, np.newaxis]
    columns = axes[1][np.newaxis, :, np.newaxis, :]
    places = np.stack(np.broadcast_arrays(rows, columns), -1).astype(np.float64)
    return places.reshape(-1, *output, 2)
