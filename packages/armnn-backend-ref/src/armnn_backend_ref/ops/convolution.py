# SPDX-License-Identifier: MIT
"""Convolutions of two and three spatial axes: grouped, depthwise, transposed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from armnn.layers.convolution import (
    Convolution2dDescriptor,
    Convolution3dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
    TransposeConvolution2dDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataLayout
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops._windows import Window, overlap

BLOCK_BYTES = 2 << 20
"""How much memory a block of the work may take."""

_PASSES = 4
"""How many tensors of the size of the output the sums across channels have in hand."""


def sum_along_planes(x: Array, taps: Array, bias: Array | None, window: Window, y: Array) -> None:
    """Write the convolution of each plane into ``y``.

    A plane is copied, padded, into one run of elements for each residue of the strides. A tap then
    reads one run for all places of the window. The places at the end of a row, where the window
    would stick out, are computed, too, and dropped.

    Args:
        x: [N,C,H,W].
        taps: [KH,KW,C,M], the M kernels of each channel.
        bias: [C,M].
        window: How the kernels move.
        y: [N,C,M,H',W']; what it holds is overwritten.
    """
    outer = y.shape[3:]
    strides = [max(stride, 1) for stride in window.stride]
    rows, row = (
        -(-((places - 1) * stride + (size - 1) * dilation + 1) // stride)
        for places, stride, size, dilation in zip(
            outer, strides, window.size, window.dilation, strict=True
        )
    )
    run = outer[0] * row
    elements = math.prod(strides) * (rows + 1) * row + 2 * y.shape[2] * run
    block = max(1, BLOCK_BYTES // (len(x) * elements * y.itemsize))
    for first in range(0, x.shape[1], block):
        channels = slice(first, first + block)
        planes = _padded_planes(x[:, channels], window, strides, rows, row)
        kernels = taps[:, :, channels, :, np.newaxis]
        sums = np.zeros((*planes.shape[:2], y.shape[2], run), y.dtype)
        products = np.empty_like(sums)
        for position in itertools.product(*map(range, window.size)):
            steps = [at * by for at, by in zip(position, window.dilation, strict=True)]
            (down, down_rest), (right, right_rest) = map(divmod, steps, strides)
            start = down * row + right
            read = planes[:, :, down_rest, right_rest, start : start + run]
            np.multiply(read[:, :, np.newaxis], kernels[position], out=products)
            sums += products
        kept = sums.reshape(*sums.shape[:3], outer[0], row)[..., : outer[1]]
        offset = 0 if bias is None else bias[channels, :, np.newaxis, np.newaxis]
        np.add(kept, offset, out=y[:, channels])


def _padded_planes(x: Array, window: Window, strides: list[int], rows: int, row: int) -> Array:
    """Return padded planes as [N,C,SH,SW,elements], one run for each residue.

    A run has every SH-th row and every SW-th column.

    One row more than the window reads gives the run of the last tap its full length.
    """
    planes = np.zeros((*x.shape[:2], *strides, rows + 1, row), x.dtype)
    for residue in itertools.product(*map(range, strides)):
        pairs = [
            overlap(size, count, at - before, stride)
            for size, count, at, before, stride in zip(
                x.shape[2:], (rows, row), residue, window.before, strides, strict=True
            )
        ]
        written, read = zip(*pairs, strict=True)
        planes[:, :, *residue, *written] = x[:, :, *read]
    return planes.reshape(*planes.shape[:4], (rows + 1) * row)


def sum_across_channels(
    x: Array, taps: Array, bias: Array | None, window: Window, y: Array
) -> None:
    """Write the convolution into ``y``, channels last in memory.

    The module's docstring says when this order is the faster one.
    """
    images = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    outer = y.shape[3:]
    block = max(
        1, BLOCK_BYTES // (_PASSES * len(x) * math.prod(y.shape[1:3]) * outer[1] * y.itemsize)
    )
    for first in range(0, outer[0], block):
        target = y[..., first : first + block, :]
        shape = (len(x), *target.shape[3:], *y.shape[1:3])
        # [N,H,W,C,M] in memory, seen as [N,C,M,H,W]
        sums = np.zeros(shape, y.dtype).transpose(0, 3, 4, 1, 2)
        scratch = np.empty(shape, y.dtype).transpose(0, 3, 4, 1, 2)
        for position, places, elements in window.positions(x.shape[2:], target.shape[3:], first):
            products = scratch[..., *places]
            kernels = taps[position][:, :, np.newaxis, np.newaxis]
            np.multiply(images[:, :, np.newaxis, *elements], kernels, out=products)
            sums[..., *places] += products
        offset = 0 if bias is None else bias[:, :, np.newaxis, np.newaxis]
        np.add(sums, offset, out=target)


COLUMN_BYTES = 2 << 20
"""How large the columns of an image may become before it is handled in blocks of rows."""


@op("Convolution2d", typed=True)
def convolution2d(
    d: Convolution2dDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    weights: Array,
    bias: Array | None,
) -> Array:
    """Compute the cross-correlation with weights [O,KH,KW,I] or [O,I,KH,KW].

    I counts the channels of one group.
    """
    layout = d.data_layout
    window = _window(d, _spatial(weights.shape, layout))
    y = np.empty(outputs[0].static_shape, np.result_type(x, weights))
    _convolve(x, weights, bias, window, y, layout, taps_first=layout is DataLayout.NHWC)
    return y


@op("Convolution3d", typed=True)
def convolution3d(
    d: Convolution3dDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    weights: Array,
    bias: Array | None,
) -> Array:
    """Compute the cross-correlation over depth, height and width.

    Weights are [KD,KH,KW,I,O] in both layouts.
    """
    window = _window(d, weights.shape[:3])
    y = np.empty(outputs[0].static_shape, np.result_type(x, weights))
    _convolve(x, np.moveaxis(weights, -1, 0), bias, window, y, d.data_layout, taps_first=True)
    return y


@op("ConvolutionInteger", typed=True)
def convolution_integer(
    d: ConvolutionIntegerDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    weights: Array,
    x_zero: Array | None,
    weights_zero: Array | None,
) -> Array:
    """Take the zero points off and convolve."""
    data, kernel = x.astype(np.float64), weights.astype(np.float64)
    if x_zero is not None:
        data -= x_zero
    if weights_zero is not None:
        kernel -= weights_zero.reshape(-1, 1, 1, 1)
    # Doubles hold the sums of 2^37 such products exactly, and their products are fast.
    y = convolution2d(d, outputs, data, kernel, None)
    return y.astype(np.int64).astype(np.int32)


@op("DepthwiseConvolution2d", typed=True)
def depthwise_convolution2d(
    d: DepthwiseConvolution2dDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    weights: Array,
    bias: Array | None,
) -> Array:
    """Convolve each channel with M kernels of its own.

    Weights are [1,KH,KW,C*M]; output channel c*M + m is channel c by its kernel m.
    """
    y = np.empty(outputs[0].static_shape, np.result_type(x, weights))
    if y.size == 0:
        return y
    channels_first = d.data_layout.channel_axis == 1
    source = np.moveaxis(x, d.data_layout.channel_axis, 1)
    channels = source.shape[1]
    target = _split(np.moveaxis(y, d.data_layout.channel_axis, 1), 1, channels)
    taps = weights.reshape(*weights.shape[1:3], channels, -1)
    offset = None if bias is None else bias.reshape(channels, -1)
    # Planes that are contiguous in memory can be copied and summed up in long runs.
    plane = math.prod(target.shape[3:]) if channels_first else target.shape[4]
    convolve = sum_along_planes if channels < plane else sum_across_channels
    convolve(source, taps, offset, _window(d, weights.shape[1:3]), target)
    return y


@op("TransposeConvolution2d", typed=True)
def transpose_convolution2d(
    d: TransposeConvolution2dDescriptor,
    outputs: Sequence[TensorInfo],
    x: Array,
    weights: Array,
    bias: Array | None,
) -> Array:
    """Add each input element's kernel to the output (transposed convolution).

    This is the gradient of a convolution.

    Weights are [O,KH,KW,I] or [O,I,KH,KW] with the channels I of one group.
    """
    y = np.zeros(outputs[0].static_shape, np.result_type(x, weights))
    if y.size == 0 or x.size == 0:
        return _with_bias(y, bias, d.data_layout.channel_axis)
    channel_axis = d.data_layout.channel_axis
    window = _window(d, _spatial(weights.shape, d.data_layout))
    kernel = np.moveaxis(weights, channel_axis, -1)
    channels = kernel.shape[-1]
    groups = x.shape[channel_axis] // channels
    matrix = kernel.reshape(groups, -1, channels)
    taps = kernel.shape[:-1]
    source = _split(np.moveaxis(x, channel_axis, 1), 1, groups)
    for image, result in zip(source, np.moveaxis(y, channel_axis, 1), strict=True):
        for first, last in _blocks(image.shape[2:], math.prod(taps) * y.itemsize):
            rows = image[:, :, first:last]
            columns = np.matmul(matrix, rows.reshape(groups, channels, -1))
            columns = columns.reshape(*taps, *rows.shape[2:])
            positions = window.positions(result.shape[1:], rows.shape[2:], first)
            for position, places, elements in positions:
                result[:, *elements] += columns[:, *position, *places]
    return _with_bias(y, bias, channel_axis)


def _convolve(
    x: Array,
    kernel: Array,
    bias: Array | None,
    window: Window,
    y: Array,
    layout: DataLayout,
    *,
    taps_first: bool,
) -> None:
    """Write the convolution of ``x`` into ``y``.

    Args:
        x: Batch, channels and space, in the order that ``layout`` says.
        kernel: [O,*K,I] with ``taps_first``, else [O,I,*K]; I is the channels of one group.
        bias: [O].
        window: The spatial sizes of the kernel, and how it moves.
        y: Like ``x``; what it holds is overwritten.
        layout: The layout of ``x`` and ``y``.
        taps_first: Which order the rows of a column have; that of the kernel needs no copy.
    """
    if y.size == 0:
        return
    channels_first = layout.channel_axis == 1
    channels = kernel.shape[-1 if taps_first else 1]
    groups = x.shape[layout.channel_axis] // max(channels, 1) or 1
    matrix = kernel.reshape(groups, kernel.shape[0] // groups, math.prod(kernel.shape[1:]))
    offset = None if bias is None else bias.reshape(groups, -1, 1)
    source = _split(np.moveaxis(x, layout.channel_axis, 1), 1, groups)
    target = _split(np.moveaxis(y, layout.channel_axis, 1), 1, groups)
    if window.size[0] == target.shape[3] == 1 and len(window.size) == 2:
        # A sequence: only the first axis is cut into blocks, so its axis comes first.
        source, target = source.swapaxes(3, 4), target.swapaxes(3, 4)
        window = Window(*(tuple(reversed(each)) for each in window))
    outer = target.shape[3:]
    row = math.prod(outer[1:])
    gathered_bytes = 0 if window.is_pointwise else matrix.shape[2] * groups * y.itemsize
    for image, result in zip(source, target.reshape(*target.shape[:3], -1), strict=True):
        for first, last in _blocks(outer, gathered_bytes):
            places = (last - first, *outer[1:])
            part = result[..., first * row : last * row]
            columns = _columns(image, window, places, first, channels_first, taps_first)
            np.matmul(matrix, columns, out=part)
            if offset is not None:
                part += offset


def _columns(
    image: Array,
    window: Window,
    places: tuple[int, ...],
    first: int,
    channels_first: bool,
    taps_first: bool,
) -> Array:
    """Return the elements read as [groups, rows, places].

    There is one column for each place of the window. The columns are in memory in the order of the
    axes of the image, so that copies run along it.
    """
    groups, channels, *inner = image.shape
    last = first + places[0]
    # With padding behind there are more places than elements.
    if window.is_pointwise and last <= inner[0] and places[1:] == tuple(inner[1:]):
        return image[:, :, first:last].reshape(groups, channels, math.prod(places))
    sizes = (groups, channels, *window.size, *places)
    taps = range(2, 2 + len(inner))
    rows = (*taps, 1) if taps_first else (1, *taps)
    columns = range(taps.stop, len(sizes))
    order = (0, *rows, *columns) if channels_first else (0, *columns, *rows)
    memory = np.zeros([sizes[axis] for axis in order], image.dtype)
    gathered = memory.transpose(np.argsort(order))
    for position, written, read in window.positions(tuple(inner), places, first):
        gathered[:, :, *position, *written] = image[:, :, *read]
    if channels_first:
        return memory.reshape(groups, -1, math.prod(places))
    return memory.reshape(groups, math.prod(places), -1).swapaxes(1, 2)


def _blocks(places: tuple[int, ...], column_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of the first axis that fit :data:`COLUMN_BYTES`.

    The limit is on the bytes of their columns.
    """
    row_bytes = max(1, math.prod(places[1:]) * column_bytes)
    count = max(1, COLUMN_BYTES // row_bytes)
    for first in range(0, places[0], count):
        yield first, min(first + count, places[0])


def _window(
    d: Convolution2dDescriptor | Convolution3dDescriptor | TransposeConvolution2dDescriptor,
    size: tuple[int, ...],
) -> Window:
    dilations = getattr(d, "dilations", (1,) * len(size))  # a transposed convolution has none
    return Window(size, d.strides, dilations, tuple(before for before, _ in d.padding))


def _spatial(shape: tuple[int, ...], layout: DataLayout) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in layout.spatial_axes)


def _split(array: Array, axis: int, groups: int) -> Array:
    """View an axis as two: groups and elements."""
    shape = array.shape
    return array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def _with_bias(y: Array, bias: Array | None, channel_axis: int) -> Array:
    if bias is not None:
        y += bias.reshape(-1, *(1,) * (y.ndim - 1 - channel_axis))
    return y
