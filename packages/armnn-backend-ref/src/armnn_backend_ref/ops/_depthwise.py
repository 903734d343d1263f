# SPDX-License-Identifier: MIT
"""Depthwise convolution along the planes or across the channels.

NumPy's inner loops are fast when they are long. Few channels with large planes are summed along
the planes; many channels with small planes across the channels.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from armnn_backend_ref.ops._registry import Array
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
