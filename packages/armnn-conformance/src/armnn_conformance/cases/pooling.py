# SPDX-License-Identifier: MIT
"""Conformance cases of pooling, window by window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers import Descriptor
from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.types import (
    DataLayout,
    DataType,
    OutputShapeRounding,
    PaddingMethod,
    PoolingAlgorithm,
)
from armnn_conformance.cases import EXTREME, LayerCase, case, cases
from armnn_conformance.operands import FLOATS, INTEGERS, LARGE, REAL, tensor, values

EXCLUDE, IGNORE_VALUE = PaddingMethod.EXCLUDE, PaddingMethod.IGNORE_VALUE


def _pooled(
    x: NDArray[Any],
    d: Pooling2dDescriptor | Pooling3dDescriptor,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> NDArray[Any]:
    """Return [N,C,*Y] of x [N,C,*X].

    A window of padding only gives zero.
    """
    rounding = math.ceil if d.output_shape_rounding is OutputShapeRounding.CEILING else math.floor
    sizes = []
    steps = d.dilations
    reach = [step * (size - 1) + 1 for step, size in zip(steps, window, strict=True)]
    for length, size, stride, (before, after) in zip(
        x.shape[2:], reach, strides, pads, strict=True
    ):
        places = rounding((length + before + after - size) / stride) + 1
        # A window must not begin behind the input and the padding before it.
        while (places - 1) * stride >= length + before:
            places -= 1
        sizes.append(places)
    y = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for image, channel, *place in np.ndindex(*y.shape):
        covered, spans = 1, []
        for p, length, size, stride, step, (before, after) in zip(
            place, x.shape[2:], window, strides, steps, pads, strict=True
        ):
            read = range(p * stride - before, p * stride - before + step * size, step)
            spans.append([at for at in read if 0 <= at < length])
            covered *= sum(at < length + after for at in read)
        inside = [x[(image, channel, *at)] for at in itertools.product(*spans)]
        if inside:
            y[(image, channel, *place)] = _summary(inside, covered, d)
    return y


def _summary(inside: list[Any], covered: int, d: Any) -> Any:
    count = covered if d.padding_method is IGNORE_VALUE else len(inside)
    if d.pool_type is PoolingAlgorithm.MAX:
        return max(inside)
    if d.pool_type is PoolingAlgorithm.AVERAGE:
        return sum(inside) / count
    return math.sqrt(sum(number**2 for number in inside) / count)


_ROWS: dict[str, dict[str, Any]] = {
    "even": {"pool_width": 2, "pool_height": 2, "stride_x": 2, "stride_y": 2},
    "uneven": {
        "pool_width": 3,
        "pool_height": 2,
        "stride_x": 1,
        "stride_y": 2,
        "pad_left": 1,
        "pad_bottom": 1,
    },
    "padded, padding counts": {
        "pool_width": 3,
        "pool_height": 3,
        "stride_x": 2,
        "stride_y": 2,
        "pad_left": 1,
        "pad_right": 2,
        "pad_top": 2,
        "pad_bottom": 1,
        "padding_method": IGNORE_VALUE,
    },
    "rounded up": {
        "pool_width": 2,
        "pool_height": 2,
        "stride_x": 2,
        "stride_y": 2,
        "output_shape_rounding": OutputShapeRounding.CEILING,
    },
    "rounded up, padding counts": {
        "pool_width": 3,
        "pool_height": 3,
        "stride_x": 2,
        "stride_y": 3,
        "pad_right": 1,
        "pad_top": 1,
        "output_shape_rounding": OutputShapeRounding.CEILING,
        "padding_method": IGNORE_VALUE,
    },
    "dilated": {
        "pool_width": 3,
        "pool_height": 2,
        "stride_x": 2,
        "stride_y": 1,
        "pad_left": 2,
        "pad_right": 1,
        "pad_bottom": 2,
        "dilation_x": 2,
        "dilation_y": 3,
        "padding_method": IGNORE_VALUE,
    },
    "padding only": {
        "pool_width": 2,
        "pool_height": 1,
        "stride_x": 2,
        "stride_y": 1,
        "pad_left": 2,
    },
}


@cases(Pooling2dDescriptor, types=REAL)
def pooling2d(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each algorithm in each layout, with negative numbers.

    They show a zero in the padding.
    """
    for layout in (DataLayout.NCHW, DataLayout.NHWC):
        for algorithm, (name, parameters) in itertools.product(PoolingAlgorithm, _ROWS.items()):
            yield _pooling2d(data_type, name, algorithm, layout, parameters)


@cases(Pooling2dDescriptor, types=REAL)
def pooling2d_of_equal_sizes(data_type: DataType) -> Iterator[LayerCase]:
    """Cover each layout with as many rows, columns and channels."""
    x = values(data_type, (1, 3, 3, 3), -8, -1, seed=6)
    pads: dict[str, Any] = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    windows: dict[str, Any] = {"pool_width": 3, "pool_height": 3, "stride_x": 1, "stride_y": 1}
    for layout in (DataLayout.NCHW, DataLayout.NHWC):
        d = Pooling2dDescriptor(data_layout=layout, **pads, **windows)
        channel = layout.channel_axis
        y = _pooled(np.moveaxis(x.real, channel, 1), d, (3, 3), (1, 1), [(1, 1), (1, 1)])
        title = f"equal sizes {layout.arm_name}"
        yield case(data_type, title, d, [x], np.moveaxis(y, 1, channel))


@cases(Pooling2dDescriptor, types=INTEGERS)
def pooling2d_of_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover the maximum of integers."""
    for name, parameters in _ROWS.items():
        layout = DataLayout.NCHW
        yield _pooling2d(data_type, name, PoolingAlgorithm.MAX, layout, parameters)


def _pooling2d(
    data_type: DataType,
    name: str,
    algorithm: PoolingAlgorithm,
    layout: DataLayout,
    parameters: dict[str, Any],
) -> LayerCase:
    channel = layout.channel_axis
    shape = np.moveaxis(np.empty((2, 2, 5, 7)), 1, channel).shape
    x = values(data_type, shape, -8, -1 if data_type in REAL else 8, seed=1)
    d = Pooling2dDescriptor(pool_type=algorithm, data_layout=layout, **parameters)
    pads = [(d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right)]
    y = _pooled(
        np.moveaxis(x.real, channel, 1),
        d,
        (d.pool_height, d.pool_width),
        (d.stride_y, d.stride_x),
        pads,
    )
    title = f"{algorithm.arm_name} {name} {layout.arm_name}"
    edge = name != "even"
    return case(data_type, title, d, [x], np.moveaxis(y, 1, channel), edge=edge)


@cases(Pooling2dDescriptor, types=REAL)
def global_pooling2d(data_type: DataType) -> Iterator[LayerCase]:
    """Cover windows of size zero, which hold everything."""
    x = values(data_type, (2, 3, 4, 5), seed=2)
    d = Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE)
    expected = x.real.mean((2, 3), keepdims=True)
    yield case(data_type, "everything", d, [x], expected, edge=True)


@cases(Pooling3dDescriptor, types=REAL)
def pooling3d(data_type: DataType) -> Iterator[LayerCase]:
    """Everything apart for depth, height and width."""
    parameters: dict[str, Any] = {
        "pool_depth": 1,
        "pool_height": 2,
        "pool_width": 3,
        "stride_z": 1,
        "stride_y": 2,
        "stride_x": 2,
        "pad_front": 0,
        "pad_top": 1,
        "pad_left": 2,
        "pad_right": 1,
        "dilation_z": 1,
        "dilation_y": 2,
        "dilation_x": 2,
    }
    for layout in (DataLayout.NCDHW, DataLayout.NDHWC):
        for algorithm, method in itertools.product(PoolingAlgorithm, PaddingMethod):
            channel = layout.channel_axis
            shape = np.moveaxis(np.empty((1, 2, 3, 4, 5)), 1, channel).shape
            x = values(data_type, shape, -8, -1, seed=3)
            d = Pooling3dDescriptor(
                pool_type=algorithm, padding_method=method, data_layout=layout, **parameters
            )
            y = _pooled(
                np.moveaxis(x.real, channel, 1),
                d,
                (1, 2, 3),
                (1, 2, 2),
                [(0, 0), (1, 0), (2, 1)],
            )
            title = f"{algorithm.arm_name} {method.arm_name} {layout.arm_name}"
            yield case(data_type, title, d, [x], np.moveaxis(y, 1, channel), edge=True)


_SOLID: dict[str, dict[str, Any]] = {
    "padded in depth": {
        "pool_depth": 3,
        "pool_height": 1,
        "pool_width": 1,
        "stride_z": 2,
        "stride_y": 1,
        "stride_x": 1,
        "pad_front": 1,
        "pad_back": 2,
        "dilation_z": 2,
    },
    "padded below, rounded up": {
        "pool_depth": 1,
        "pool_height": 3,
        "pool_width": 2,
        "stride_z": 1,
        "stride_y": 3,
        "stride_x": 2,
        "pad_bottom": 1,
        "output_shape_rounding": OutputShapeRounding.CEILING,
    },
}


@cases(Pooling3dDescriptor, types=REAL)
def pooling3d_by_sides(data_type: DataType) -> Iterator[LayerCase]:
    """Cover padding of each side, and a partial last window."""
    for (name, parameters), algorithm, method in itertools.product(
        _SOLID.items(), PoolingAlgorithm, PaddingMethod
    ):
        x = values(data_type, (1, 2, 3, 4, 5), -8, -1, seed=5)
        d = Pooling3dDescriptor(pool_type=algorithm, padding_method=method, **parameters)
        y = _pooled(
            x.real,
            d,
            (d.pool_depth, d.pool_height, d.pool_width),
            (d.stride_z, d.stride_y, d.stride_x),
            [(d.pad_front, d.pad_back), (d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right)],
        )
        title = f"{algorithm.arm_name} {method.arm_name} {name}"
        yield case(data_type, title, d, [x], y, edge=True)


@cases(Pooling3dDescriptor, types=INTEGERS)
def pooling3d_of_integers(data_type: DataType) -> Iterator[LayerCase]:
    """Cover maxima of integers: small, odd and full windows."""
    for name, size in (("small", 1), ("odd rest", 2), ("everything", 3)):
        x = values(data_type, (1, 2, 3, 3, 3), -8, 8, seed=4)
        names = ("pool_depth", "pool_height", "pool_width", "stride_z", "stride_y", "stride_x")
        parameters: dict[str, Any] = dict.fromkeys(names, size)
        d = Pooling3dDescriptor(**parameters)
        y = _pooled(x.real, d, (size,) * 3, (size,) * 3, [(0, 0)] * 3)
        yield case(data_type, name, d, [x], y, edge=True)


_MAX, _AVERAGE, _L2 = PoolingAlgorithm.MAX, PoolingAlgorithm.AVERAGE, PoolingAlgorithm.L2


@cases(Pooling2dDescriptor, Pooling3dDescriptor, types=FLOATS)
def pooling_of_no_ordinary_number(data_type: DataType) -> Iterator[LayerCase]:
    """Cover windows with NaN, infinities, and numbers near the limit.

    A window has two numbers, which are neighbors along the width.
    """
    large, inf = LARGE[data_type], np.inf
    rows = {
        (_MAX, "NaN"): ([[1.0, np.nan], [np.nan, 2.0]], [np.nan, np.nan]),
        (_AVERAGE, "NaN"): ([[1.0, np.nan], [1.0, 2.0]], [np.nan, 1.5]),
        (_MAX, "infinities"): ([[-inf, -inf], [-inf, inf]], [-inf, inf]),
        (_AVERAGE, "infinities"): ([[-inf, 1.0], [inf, 1.0]], [-inf, inf]),
        (_MAX, "large numbers"): ([[-large, -large], [large, 0.0]], [-large, large]),
        (_AVERAGE, "large numbers"): ([[large, large], [-large, -large]], [large, -large]),
        (_L2, "large numbers"): ([[large, large], [-large, -large]], [large, large]),
    }
    two: dict[str, Any] = {"pool_width": 2, "pool_height": 1, "stride_x": 2, "stride_y": 1}
    for (algorithm, name), (windows, results) in rows.items():
        x, title = np.array(windows), f"{algorithm.arm_name} of {name}"
        flat = tensor(data_type, x.reshape(1, 1, 1, 4))
        d: Descriptor = Pooling2dDescriptor(pool_type=algorithm, **two)
        y = tensor(data_type, results).real
        needs = "" if name == "NaN" else EXTREME
        expected = y.reshape(1, 1, 1, 2)
        yield case(data_type, title, d, [flat], expected, edge=True, needs=needs)
        solid = tensor(data_type, x.reshape(1, 1, 1, 1, 4))
        d = Pooling3dDescriptor(pool_type=algorithm, pool_depth=1, stride_z=1, **two)
        expected = y.reshape(1, 1, 1, 1, 2)
        yield case(data_type, title, d, [solid], expected, edge=True, needs=needs)
