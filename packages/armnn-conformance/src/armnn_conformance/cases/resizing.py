# SPDX-License-Identifier: MIT
"""Conformance cases of Resize, GridSample and RoiAlign, pixel by pixel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers.resizing import GridSampleDescriptor, ResizeDescriptor, RoiAlignDescriptor
from armnn.types import (
    DataLayout,
    DataType,
    GridPadding,
    PoolingAlgorithm,
    ResizeMethod,
    ResizeRounding,
)
from armnn_conformance.cases import LayerCase, Tolerance, case, cases
from armnn_conformance.cases.convolution import SUMS
from armnn_conformance.operands import FLOATS, REAL, CaseTensor, tensor, values

_TOLERANCES = {
    **SUMS,
    DataType.FLOAT64: Tolerance("places are float32, as in TensorFlow Lite", rtol=1e-5, atol=1e-5),
}


def _place(d: ResizeDescriptor, index: int, size: int, target: int) -> float:
    """Return an output pixel's position between the input's samples."""
    if d.align_corners and target > 1:
        scale = (size - 1) / (target - 1)
    else:
        scale = size / target
    if d.method is ResizeMethod.NEAREST_NEIGHBOR:
        place = (index + 0.5) * scale if d.half_pixel_centers else index * scale
        # Rounded with aligned corners (halves away from zero), else the sample at the place.
        return math.floor(place + 0.5) if d.align_corners else math.floor(place)
    return (index + 0.5) * scale - 0.5 if d.half_pixel_centers else index * scale


def _taps_anywhere(d: ResizeDescriptor, place: float) -> list[tuple[int, float]]:
    """Return the samples around a position and their weights."""
    below = math.floor(place)
    t = place - below
    if d.method is ResizeMethod.CUBIC:
        a = d.cubic_coefficient
        near = [((a + 2) * s - (a + 3)) * s * s + 1 for s in (t, 1 - t)]
        far = [((s - 5) * s + 8) * s * a - 4 * a for s in (t + 1, 2 - t)]
        return list(zip(range(below - 1, below + 3), (far[0], *near, far[1]), strict=True))
    return [(below, 1 - t), (below + 1, t)]


def _taps(d: ResizeDescriptor, place: float, size: int) -> list[tuple[int, float]]:
    return [(min(max(at, 0), size - 1), weight) for at, weight in _taps_anywhere(d, place)]


def _resized(d: ResizeDescriptor, x: NDArray[Any]) -> NDArray[Any]:
    """Return [N,C,target height,target width] of x [N,C,H,W]."""
    height, width = x.shape[2:]
    y = np.zeros((*x.shape[:2], d.target_height, d.target_width))
    for i, j in np.ndindex(d.target_height, d.target_width):
        rows = _taps(d, _place(d, i, height, d.target_height), height)
        columns = _taps(d, _place(d, j, width, d.target_width), width)
        for (row, a), (column, b) in itertools.product(rows, columns):
            y[:, :, i, j] += x[:, :, row, column] * a * b
    return y


@cases(ResizeDescriptor, types=REAL)
def resize(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both directions, each coordinate rule, method and layout."""
    sizes = {"larger": (7, 9), "smaller": (2, 3), "mixed": (6, 2), "one": (1, 1)}
    for layout, method in itertools.product((DataLayout.NCHW, DataLayout.NHWC), ResizeMethod):
        for align, half in ((False, False), (True, False), (False, True)):
            for name, (height, width) in sizes.items():
                d = ResizeDescriptor(
                    target_height=height,
                    target_width=width,
                    method=method,
                    data_layout=layout,
                    align_corners=align,
                    half_pixel_centers=half,
                    cubic_coefficient=-0.5,
                )
                channel = layout.channel_axis
                shape = np.moveaxis(np.empty((2, 2, 4, 5)), 1, channel).shape
                x = values(data_type, shape, seed=1)
                y = _resized(d, np.moveaxis(x.real, channel, 1))
                yield case(
                    data_type,
                    f"{method.arm_name} {name} align {align} half {half} {layout.arm_name}",
                    d,
                    [x],
                    np.moveaxis(y, 1, channel),
                    tolerance=_TOLERANCES.get(data_type),
                    edge=name != "larger",
                )


def _rounded(d: ResizeDescriptor, place: float) -> int:
    """Return NearestNeighbor's sample by one of ONNX's rules."""
    rules: dict[ResizeRounding, Callable[[float], int]] = {
        ResizeRounding.FLOOR: math.floor,
        ResizeRounding.CEIL: math.ceil,
        ResizeRounding.ROUND_PREFER_FLOOR: lambda at: math.ceil(at - 0.5),
        ResizeRounding.ROUND_PREFER_CEIL: lambda at: math.floor(at + 0.5),
    }
    return rules[d.rounding](place)


@cases(ResizeDescriptor, types=REAL)
def resize_with_rules_of_onnx(data_type: DataType) -> Iterator[LayerCase]:
    """Cover ONNX's roundings with ties, scales, cubic borders.

    Scales differ from the quotient of the sizes.
    """
    x = values(data_type, (1, 2, 4, 4), seed=8)
    for rounding, half in itertools.product(list(ResizeRounding)[1:], (False, True)):
        d = ResizeDescriptor(
            target_height=8, target_width=2, rounding=rounding, half_pixel_centers=half
        )
        shift = 0.5 if half else 0.0
        rows, columns = (
            [min(max(_rounded(d, (i + shift) * scale - shift), 0), 3) for i in range(count)]
            for count, scale in ((8, 0.5), (2, 2.0))
        )
        expected = np.array([[[image[r][c] for c in columns] for r in rows] for image in x.real[0]])
        name = f"{rounding.arm_name}, half {half}"
        yield case(data_type, name, d, [x], expected[None], like=x)
    sizes: dict[str, Any] = {"target_height": 5, "target_width": 2}
    for method in (ResizeMethod.BILINEAR, ResizeMethod.CUBIC):
        d = ResizeDescriptor(**sizes, method=method, scale_height=1.3, scale_width=0.7)
        yield _onnx_resized(data_type, f"{method.arm_name} with scales", d, x)
    d = ResizeDescriptor(
        **sizes, method=ResizeMethod.CUBIC, half_pixel_centers=True, exclude_outside=True
    )
    yield _onnx_resized(data_type, "without what lies outside", d, x)


def _onnx_resized(data_type: DataType, name: str, d: ResizeDescriptor, x: CaseTensor) -> LayerCase:
    """Make a square image's case with ONNX's borders or scales."""
    size = x.real.shape[2]
    shift = 0.5 if d.half_pixel_centers else 0.0
    matrices = []
    for count, scale in ((d.target_height, d.scale_height), (d.target_width, d.scale_width)):
        weights = np.zeros((count, size))
        for i in range(count):
            place = (i + shift) / (scale if scale else count / size) - shift
            for at, weight in _taps_anywhere(d, place):
                if 0 <= at < size or not d.exclude_outside:
                    weights[i, min(max(at, 0), size - 1)] += weight
        matrices.append(weights / weights.sum(1, keepdims=True))
    expected = np.einsum("ih,jw,nchw->ncij", *matrices, x.real)
    tolerance = _TOLERANCES.get(data_type)
    return case(data_type, name, d, [x], expected, tolerance=tolerance, edge=True)


def _tap(picture: NDArray[Any], at: Sequence[int], d: GridSampleDescriptor) -> float:
    """Return a pixel, or the padding outside of the picture."""
    place = []
    for index, size in zip(at, picture.shape, strict=True):
        if d.padding_mode is GridPadding.ZEROS and not 0 <= index < size:
            return 0.0
        if d.padding_mode is GridPadding.BORDER:
            place.append(min(max(index, 0), size - 1))
            continue
        while not 0 <= index < size:  # the mirror stands on the last pixel, or behind it
            edge = 0 if d.align_corners else 1
            index = -index - edge if index < 0 else 2 * (size - 1) + edge - index
        place.append(index)
    return float(picture[tuple(place)])


def _neighbors(where: float, method: ResizeMethod) -> list[tuple[int, float]]:
    low, part = math.floor(where), where - math.floor(where)
    if method is ResizeMethod.NEAREST_NEIGHBOR:
        return [(round(where), 1.0)]
    if method is ResizeMethod.BILINEAR:
        return [(low, 1 - part), (low + 1, part)]

    def weight(x: float, a: float = -0.75) -> float:
        x = abs(x)
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

    return [(low + step, weight(step - part)) for step in (-1, 0, 1, 2)]


@cases(GridSampleDescriptor, types=REAL)
def grid_sample(data_type: DataType) -> Iterator[LayerCase]:
    """Cover methods, paddings, both alignments, one pixel, outside places."""
    for method, padding in itertools.product(ResizeMethod, GridPadding):
        d = GridSampleDescriptor(method=method, padding_mode=padding)
        name = f"{method.arm_name}, {padding.arm_name}"
        yield _sampled(data_type, name, d, (2, 2, 3, 4), False)
    for padding in GridPadding:
        d = GridSampleDescriptor(padding_mode=padding, align_corners=True)
        name = f"corners aligned, {padding.arm_name}"
        yield _sampled(data_type, name, d, (1, 2, 4, 3), False)
    yield _sampled(data_type, "one pixel", GridSampleDescriptor(), (1, 1, 1, 1), True)


def _sampled(
    data_type: DataType,
    name: str,
    d: GridSampleDescriptor,
    shape: tuple[int, int, int, int],
    edge: bool,
) -> LayerCase:
    x = values(data_type, shape, seed=5)
    # Multiples of 1/16 that stay away from the middle between two pixels.
    steps = np.random.default_rng(6).integers(-20, 21, (shape[0], 2, 3, 2)) / 16 + 1 / 64
    grid = tensor(DataType.FLOAT64 if data_type is DataType.FLOAT64 else DataType.FLOAT32, steps)
    expected = np.zeros((shape[0], shape[1], 2, 3))
    for n, c, row, column in np.ndindex(*expected.shape):
        wheres = []
        for size, g in zip(shape[:1:-1], grid.real[n, row, column], strict=True):
            wheres.append((g + 1) / 2 * (size - 1) if d.align_corners else ((g + 1) * size - 1) / 2)
        across, down = (_neighbors(where, d.method) for where in wheres)
        expected[n, c, row, column] = sum(
            wy * wx * _tap(x.real[n, c], (y, x_), d) for y, wy in down for x_, wx in across
        )
    inputs = [x, grid]
    return case(data_type, name, d, inputs, expected, tolerance=_SAMPLED.get(data_type), edge=edge)


_SAMPLED = {
    DataType.FLOAT16: Tolerance("places and sums in float32, stored as float16", 1e-2, 5e-3),
    DataType.BFLOAT16: Tolerance("places and sums in float32, stored as bfloat16", 3e-2, 2e-2),
    DataType.FLOAT32: Tolerance("places and sums in float32", 1e-4, 2e-5),
}


@cases(RoiAlignDescriptor, types=FLOATS)
def roi_align(data_type: DataType) -> Iterator[LayerCase]:
    """Cover average, maximum, sample counts, scale, centers, outside.

    Sample counts are given and derived.
    """
    rows: list[tuple[str, dict[str, Any], bool]] = [
        ("average", {"sampling_ratio": 2}, False),
        ("maximum", {"sampling_ratio": 2, "pool_type": PoolingAlgorithm.MAX}, False),
        ("a sample a pixel", {}, False),
        ("scaled", {"spatial_scale": 0.5, "sampling_ratio": 1}, False),
        ("pixels begin at whole numbers", {"half_pixel_centers": False}, True),
    ]
    for name, options, edge in rows:
        d = RoiAlignDescriptor(output_height=2, output_width=3, **options)
        x = values(data_type, (2, 2, 5, 6), seed=7)
        boxes = tensor(
            data_type, np.array([[0.5, 0.5, 4.5, 3.5], [1, 1, 1.5, 1.25], [-3, 2, 9, 8]])
        )
        images = tensor(DataType.SIGNED64, np.array([0, 1, 1]))
        expected = np.array(
            [_align(d, x.real[i], box) for i, box in zip((0, 1, 1), boxes.real, strict=True)]
        )
        operands = [x, boxes, images]
        tolerance = _SAMPLED.get(data_type)
        yield case(data_type, name, d, operands, expected, tolerance=tolerance, edge=edge)


def _align(d: RoiAlignDescriptor, image: NDArray[Any], box: NDArray[Any]) -> NDArray[np.float64]:
    left, top, right, bottom = box * d.spatial_scale - (0.5 if d.half_pixel_centers else 0)
    height, width = bottom - top, right - left
    if not d.half_pixel_centers:
        height, width = max(height, 1.0), max(width, 1.0)
    sizes = ((top, height / d.output_height), (left, width / d.output_width))
    counts = [d.sampling_ratio or math.ceil(part) for _, part in sizes]
    y = np.zeros((len(image), d.output_height, d.output_width))
    for c, row, column in np.ndindex(*y.shape):
        samples = []
        for i, j in np.ndindex(*counts):
            places = [
                start + (at + (sample + 0.5) / count) * part
                for (start, part), at, sample, count in zip(
                    sizes, (row, column), (i, j), counts, strict=True
                )
            ]
            samples.append(_pixel(image[c], places))
        y[c, row, column] = (
            max(samples) if d.pool_type is PoolingAlgorithm.MAX else sum(samples) / len(samples)
        )
    return y


def _pixel(image: NDArray[Any], places: Sequence[float]) -> float:
    if any(not -1 <= at <= size for at, size in zip(places, image.shape, strict=True)):
        return 0.0
    inside = [min(max(at, 0), size - 1) for at, size in zip(places, image.shape, strict=True)]
    total = 0.0
    for corner in itertools.product((0, 1), repeat=2):
        index, weight = [], 1.0
        for at, size, step in zip(inside, image.shape, corner, strict=True):
            index.append(min(math.floor(at) + step, size - 1))
            weight *= at - math.floor(at) if step else 1 - (at - math.floor(at))
        total += weight * float(image[tuple(index)])
    return total
