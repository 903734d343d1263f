# SPDX-License-Identifier: MIT
"""Pictures sampled at other places: Resize, GridSample and RoiAlign."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from armnn.errors import ExecutionError
from armnn.layers.resizing import GridSampleDescriptor, ResizeDescriptor, RoiAlignDescriptor
from armnn.quantization import round_half_away
from armnn.types import GridPadding, PoolingAlgorithm, ResizeMethod, ResizeRounding
from armnn_backend_ref.ops._registry import Array, op

_MOST_SAMPLES = 1 << 20
"""Along one axis of a box that chooses their number by its size."""

Taps: TypeAlias = list[tuple[Array, Array]]
"""Along one axis: which samples count for each place, and how much."""


@op("Resize")
def resize(d: ResizeDescriptor, x: Array) -> Array:
    """Sample the input at the target's rows, then its columns.

    The arithmetic of coordinates is TFLite's and Arm NN's, in float32: output pixel i is at i *
    scale, or (i + 0.5) * scale - 0.5 with half pixel centers. The nearest neighbor is the rounded
    coordinate with aligned corners, else the one below (i + 0.5) * scale or i * scale, unless
    ``d.rounding`` names another rule.
    """
    resample = {
        ResizeMethod.BILINEAR: _bilinear,
        ResizeMethod.NEAREST_NEIGHBOR: _nearest,
        ResizeMethod.CUBIC: _cubic,
    }[d.method]
    axes = zip(
        d.data_layout.spatial_axes,
        (d.target_height, d.target_width),
        (d.scale_height, d.scale_width),
        strict=True,
    )
    for axis, size, scale in reversed(tuple(axes)):  # columns first, as Arm NN rounds them
        x = resample(d, x, axis, _places(d, x.shape[axis], size, scale))
    return x


@op("GridSample")
def grid_sample(d: GridSampleDescriptor, x: Array, grid: Array) -> Array:
    """Sum the weighted samples around each place of the grid.

    Each axis has weights of its own.
    """
    pictures = np.moveaxis(x, 1, -1)
    items = np.arange(len(x)).reshape(-1, *(1,) * (grid.ndim - 2))
    margin = d.padding_mode is GridPadding.ZEROS
    if margin:
        pictures = np.pad(pictures, [(0, 0), *[(1, 1)] * (x.ndim - 2), (0, 0)])
    # The last axis of the picture is the first one of the grid.
    axes = [_grid_taps(d, grid[..., -1 - axis], size) for axis, size in enumerate(x.shape[2:])]
    y = np.zeros((*grid.shape[:-1], x.shape[1]), x.dtype)
    for taps in itertools.product(*axes):
        samples = pictures[items, *(place + margin for place, _ in taps)]
        weights = functools.reduce(np.multiply, (weight for _, weight in taps))
        y += samples * weights[..., np.newaxis]
    return np.moveaxis(y, -1, 1)


@op("RoiAlign")
def roi_align(d: RoiAlignDescriptor, x: Array, boxes: Array, batch_indices: Array) -> Array:
    """Multiply each box's picture by its row and column weights.

    Raises:
        ExecutionError: An index is not that of a picture, or a box has no finite number of samples.
    """
    wrong = (batch_indices < 0) | (batch_indices >= len(x))
    if wrong.any():
        room = f"expected 0 to {len(x) - 1}" if len(x) else "there are none"
        raise ExecutionError(
            f"the batch index {int(batch_indices[wrong][0])} is not that of a picture: {room}"
        )
    y = np.empty((len(boxes), x.shape[1], d.output_height, d.output_width), x.dtype)
    corners = boxes * boxes.dtype.type(d.spatial_scale) - (0.5 if d.half_pixel_centers else 0)
    for place, (picture, (left, top, right, bottom)) in enumerate(
        zip(batch_indices, corners.tolist(), strict=True)
    ):
        rows = _box_weights(d, top, bottom, d.output_height, x.shape[2])
        columns = _box_weights(d, left, right, d.output_width, x.shape[3])
        if d.pool_type is PoolingAlgorithm.AVERAGE:
            y[place] = rows.mean(1) @ x[picture] @ columns.mean(1).T
        else:
            y[place] = _largest(rows, x[picture], columns)
    return y


def _box_weights(d: RoiAlignDescriptor, start: float, end: float, parts: int, size: int) -> Array:
    """Return each pixel's weight in each sample of a box.

    The result has one entry for each of ``size`` pixels.
    """
    length = end - start if d.half_pixel_centers else max(end - start, 1.0)
    if not math.isfinite(length) or (not d.sampling_ratio and length > _MOST_SAMPLES):
        raise ExecutionError(
            f"a box reaches from {start:g} to {end:g} pixels: expected finite numbers, "
            f"{_MOST_SAMPLES} apart at most if sampling_ratio is 0"
        )
    samples = d.sampling_ratio if d.sampling_ratio else math.ceil(length / parts)
    if samples < 1:  # an empty box
        return np.zeros((parts, 1, size))
    step = length / (parts * samples)
    places = start + (np.arange(parts * samples) + 0.5) * step
    inside = (places >= -1) & (places <= size)
    places = np.clip(places, 0, size - 1)
    weights = np.zeros((len(places), size))
    lines = np.arange(len(places))
    for taps, weight in _linear_taps(places):
        weights[lines, taps] += weight
    return (weights * inside[:, np.newaxis]).reshape(parts, samples, size)


def _largest(rows: Array, picture: Array, columns: Array) -> Array:
    """Return the largest sample of each part."""
    height, width = rows.shape[-1], columns.shape[-1]
    samples = rows.reshape(-1, height) @ picture @ columns.reshape(-1, width).T
    largest: Array = samples.reshape(-1, *rows.shape[:2], *columns.shape[:2]).max((2, 4))
    return largest


def _nearest(d: ResizeDescriptor, x: Array, axis: int, places: Array) -> Array:
    last = x.shape[axis] - 1
    if d.rounding is ResizeRounding.TENSORFLOW:
        nearest = round_half_away(places) if d.align_corners else np.floor(places)
    else:
        nearest = _ROUNDINGS[d.rounding](_centered(d, places))
    picked: Array = np.take(x, np.clip(nearest, 0, last).astype(np.intp), axis)
    return picked


def _bilinear(d: ResizeDescriptor, x: Array, axis: int, places: Array) -> Array:
    return _blended(x, axis, _linear_taps(_centered(d, places)))


def _cubic(d: ResizeDescriptor, x: Array, axis: int, places: Array) -> Array:
    taps = _cubic_taps(_centered(d, places), d.cubic_coefficient)
    if d.exclude_outside:
        size = x.shape[axis]
        taps = [(at, np.where((at >= 0) & (at < size), weight, 0)) for at, weight in taps]
        total = sum(weight for _, weight in taps)
        taps = [(at, weight / total) for at, weight in taps]
    return _blended(x, axis, taps)


def _places(d: ResizeDescriptor, size: int, target: int, given: float) -> Array:
    """Return the input coordinate of each output pixel.

    It counts from the left edge of the first pixel, not from its center.
    """
    places: Array = np.arange(target, dtype=np.float32)
    places += 0.5 if d.half_pixel_centers else 0
    if d.align_corners and target > 1:
        return places * (np.float32(size - 1) / np.float32(target - 1))
    return places / np.float32(given) if given else places * (np.float32(size) / np.float32(target))


def _centered(d: ResizeDescriptor, places: Array) -> Array:
    """Return the places counted from the first sample."""
    return places - np.float32(0.5 if d.half_pixel_centers else 0)


def _linear_taps(places: Array) -> Taps:
    below = np.floor(places)
    weight = places - below
    # At a sample itself the next one does not count, not even if it is infinite.
    return [(below.astype(np.intp), 1 - weight), (np.ceil(places).astype(np.intp), weight)]


def _cubic_taps(places: Array, a: float) -> Taps:
    """Return four samples with cubic convolution weights (Keys 1981)."""
    below = np.floor(places)
    t = places - below
    first = below.astype(np.intp)
    near = [((a + 2) * s - (a + 3)) * s * s + 1 for s in (t, 1 - t)]
    far = [((a * s - 5 * a) * s + 8 * a) * s - 4 * a for s in (1 + t, 2 - t)]
    return [(first - 1, far[0]), (first, near[0]), (first + 1, near[1]), (first + 2, far[1])]


def _blended(x: Array, axis: int, taps: Taps) -> Array:
    """Return weighted sums along an axis; the border extends outward."""
    shape = (-1, *[1] * (x.ndim - 1 - axis))
    (first, weight), *others = taps
    blended: Array = np.take(x, first, axis, mode="clip") * weight.reshape(shape)
    for places, weight in others:
        blended += np.take(x, places, axis, mode="clip") * weight.reshape(shape)
    return blended


def _grid_taps(d: GridSampleDescriptor, grid: Array, size: int) -> Taps:
    """Return the samples around each place of an axis, weighted."""
    places = (grid + 1) * ((size - 1) / 2) if d.align_corners else ((grid + 1) * size - 1) / 2
    places = np.clip(places, -_FAR, _FAR)
    if d.method is ResizeMethod.NEAREST_NEIGHBOR:
        taps = [(np.rint(places).astype(np.intp), np.ones_like(places))]
    elif d.method is ResizeMethod.BILINEAR:
        taps = _linear_taps(places)
    else:
        taps = _cubic_taps(places, _GRID_COEFFICIENT)
    return [(_inside(d, at, size), weight) for at, weight in taps]


def _inside(d: GridSampleDescriptor, places: Array, size: int) -> Array:
    """Return the sample at each place.

    With a margin of zeros, -1 and ``size`` are in the margin.
    """
    if d.padding_mode is GridPadding.ZEROS:
        return np.clip(places, -1, size)
    if d.padding_mode is GridPadding.BORDER:
        return np.clip(places, 0, size - 1)
    period = 2 * (size - 1) if d.align_corners else 2 * size
    within = places % max(period, 1)
    back = period - within if d.align_corners else period - 1 - within
    return np.where(within < size, within, back)


_FAR = 2.0**30
"""How far outside a place counts, in pixels."""

_GRID_COEFFICIENT = -0.75

_ROUNDINGS: dict[ResizeRounding, Callable[[Array], Array]] = {
    ResizeRounding.ROUND_PREFER_FLOOR: lambda x: np.ceil(x - 0.5),
    ResizeRounding.ROUND_PREFER_CEIL: lambda x: np.floor(x + 0.5),
    ResizeRounding.FLOOR: np.floor,
    ResizeRounding.CEIL: np.ceil,
}
