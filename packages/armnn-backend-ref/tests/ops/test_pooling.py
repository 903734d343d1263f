# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    DataLayout,
    DataType,
    OutputShapeRounding,
    PaddingMethod,
    PoolingAlgorithm,
)

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]
Pooling = Pooling2dDescriptor | Pooling3dDescriptor

LAST = {DataLayout.NHWC, DataLayout.NDHWC}


def pooled(d: Pooling, x: Array, sizes: tuple[int, ...]) -> Array:
    """Pool [N,C,*S] in float64, one window at a time."""
    y = np.zeros((*x.shape[:2], *sizes))
    for place in np.ndindex(*sizes):
        counted, reads = 1, []
        for p, size, stride, (before, after), length in zip(
            place, d.window, d.strides, d.padding, x.shape[2:], strict=True
        ):
            first = p * stride - before
            last = min(first + size, length + after)
            counted *= last - first
            reads.append(slice(max(first, 0), max(min(last, length), 0)))
        window = x[:, :, *reads].astype(np.float64).reshape(*x.shape[:2], -1)
        if window.shape[2] == 0:
            continue
        if d.padding_method is PaddingMethod.EXCLUDE:
            counted = window.shape[2]
        y[:, :, *place] = {
            PoolingAlgorithm.MAX: lambda w, _n: w.max(2),
            PoolingAlgorithm.AVERAGE: lambda w, n: w.sum(2) / n,
            PoolingAlgorithm.L2: lambda w, n: np.sqrt((w**2).sum(2) / n),
        }[d.pool_type](window, counted)
    return y


def laid_out(array: Array, layout: DataLayout) -> Array:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if layout in LAST else array


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


WINDOWS = {
    "2x2": {"pool_height": 2, "pool_width": 2, "stride_y": 2, "stride_x": 2},
    "3x2 padded": {
        "pool_height": 3,
        "pool_width": 2,
        "stride_y": 1,
        "stride_x": 3,
        "pad_top": 1,
        "pad_bottom": 2,
        "pad_right": 1,
    },
    "one row": {"pool_height": 1, "pool_width": 4, "stride_y": 3, "stride_x": 1, "pad_left": 3},
}


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
@pytest.mark.parametrize("method", PaddingMethod)
@pytest.mark.parametrize("rounding", OutputShapeRounding)
@pytest.mark.parametrize("pool_type", PoolingAlgorithm)
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_pooling2d_is_the_definition(
    run_layer: RunLayer,
    window: dict[str, int],
    pool_type: PoolingAlgorithm,
    rounding: OutputShapeRounding,
    method: PaddingMethod,
    layout: DataLayout,
) -> None:
    x = random(2, 3, 8, 7)
    d = Pooling2dDescriptor(
        pool_type=pool_type,
        output_shape_rounding=rounding,
        padding_method=method,
        data_layout=layout,
        **window,
    )
    (y,) = run_layer("Pooling2d", [laid_out(x, layout)], d)
    assert y.dtype == np.float32
    height, width = (y.shape[axis] for axis in layout.spatial_axes)
    expected = pooled(d, x, (height, width))
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", [DataLayout.NCDHW, DataLayout.NDHWC])
@pytest.mark.parametrize("pool_type", PoolingAlgorithm)
def test_pooling3d_is_the_definition(
    run_layer: RunLayer, pool_type: PoolingAlgorithm, layout: DataLayout
) -> None:
    x = random(1, 2, 5, 6, 7)
    d = Pooling3dDescriptor(
        pool_type=pool_type,
        pool_depth=2,
        pool_height=3,
        pool_width=2,
        stride_z=1,
        stride_y=2,
        stride_x=3,
        pad_front=1,
        pad_bottom=1,
        padding_method=PaddingMethod.IGNORE_VALUE,
        data_layout=layout,
    )
    (y,) = run_layer("Pooling3d", [laid_out(x, layout)], d)
    depth, height, width = (y.shape[axis] for axis in layout.spatial_axes)
    expected = pooled(d, x, (depth, height, width))
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "expected"),
    [(PaddingMethod.EXCLUDE, [3, 4.5, 6]), (PaddingMethod.IGNORE_VALUE, [1.5, 4.5, 3])],
)
def test_padding_counts_in_the_divisor_only_if_it_is_not_excluded(
    run_layer: RunLayer, method: PaddingMethod, expected: list[float]
) -> None:
    x = np.array([[[[3, 6]]]], np.float32)
    d = Pooling2dDescriptor(
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_height=1,
        pool_width=2,
        stride_x=1,
        stride_y=1,
        pad_left=1,
        pad_right=1,
        padding_method=method,
    )
    (y,) = run_layer("Pooling2d", [x], d)
    assert y.ravel().tolist() == expected


def test_what_ceiling_adds_beyond_the_padding_never_counts(run_layer: RunLayer) -> None:
    x = np.array([[[[1, 2, 3, 4]]]], np.float32)
    d = Pooling2dDescriptor(
        pool_type=PoolingAlgorithm.AVERAGE,
        pool_height=1,
        pool_width=3,
        stride_x=2,
        stride_y=1,
        output_shape_rounding=OutputShapeRounding.CEILING,
        padding_method=PaddingMethod.IGNORE_VALUE,
    )
    (y,) = run_layer("Pooling2d", [x], d)
    assert y.ravel().tolist() == [2, 3.5]


def test_a_window_that_reads_only_padding_gives_zero(run_layer: RunLayer) -> None:
    x = np.full((1, 1, 1, 2), -5, np.float32)
    for pool_type, inside in zip(PoolingAlgorithm, (-5, -5, 5), strict=True):
        d = Pooling2dDescriptor(
            pool_type=pool_type,
            pool_height=1,
            pool_width=2,
            stride_x=2,
            stride_y=1,
            pad_left=4,
            padding_method=PaddingMethod.IGNORE_VALUE,
        )
        (y,) = run_layer("Pooling2d", [x], d)
        assert y.ravel().tolist() == [0, 0, inside]


def test_negative_maxima_win_against_padding(run_layer: RunLayer) -> None:
    x = np.full((1, 1, 2, 2), -3, np.float32)
    for method in PaddingMethod:
        d = Pooling2dDescriptor(
            pool_height=2,
            pool_width=2,
            stride_x=1,
            stride_y=1,
            pad_top=1,
            pad_left=1,
            padding_method=method,
        )
        (y,) = run_layer("Pooling2d", [x], d)
        assert (y == -3).all()


@pytest.mark.parametrize("layout", [DataLayout.NCHW, DataLayout.NHWC])
def test_the_default_window_is_the_whole_picture(run_layer: RunLayer, layout: DataLayout) -> None:
    x = random(2, 3, 5, 4)
    d = Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE, data_layout=layout)
    (y,) = run_layer("Pooling2d", [laid_out(x, layout)], d)
    expected = x.astype(np.float64).mean((2, 3), keepdims=True)
    np.testing.assert_allclose(y, laid_out(expected, layout), rtol=1e-5, atol=1e-6)


def test_nan_and_infinity_go_through_maxima(run_layer: RunLayer) -> None:
    x = np.array([[[[1, np.nan, -np.inf, -np.inf, np.inf, 0]]]], np.float32)
    d = Pooling2dDescriptor(pool_height=1, pool_width=2, stride_x=2, stride_y=1)
    (y,) = run_layer("Pooling2d", [x], d)
    np.testing.assert_array_equal(y.ravel(), [np.nan, -np.inf, np.inf])


@pytest.mark.parametrize("data_type", [DataType.SIGNED64, DataType.UNSIGNED8])
def test_maxima_of_integers_are_exact(run_layer: RunLayer, data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy_dtype)
    x = np.array([limits.min, limits.min, limits.max - 1, limits.max], data_type.numpy_dtype)
    d = Pooling2dDescriptor(pool_height=1, pool_width=2, stride_x=2, stride_y=1)
    (y,) = run_layer("Pooling2d", [x.reshape(1, 1, 1, 4)], d)
    assert y.ravel().tolist() == [limits.min, limits.max]


def test_quantized_averages_are_those_of_real_values(run_layer: RunLayer) -> None:
    x_info = TensorInfo((1, 1, 2, 2), DataType.QASYMM_U8, 0.5, 10)
    y_info = TensorInfo((1, 1, 1, 1), DataType.QASYMM_U8, 0.25, 0)
    x = np.array([[[[12, 14], [16, 21]]]], np.uint8)  # 1, 2, 3 and 5.5
    d = Pooling2dDescriptor(pool_type=PoolingAlgorithm.AVERAGE)
    (y,) = run_layer("Pooling2d", [(x, x_info)], d, outputs=[y_info])
    assert y.item() == 12, "2.875 is 11.5 steps, and halves are rounded away from zero"


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_dilated_windows_agree_with_onnxruntime(run_layer, onnx_run, operator, ceil_mode):
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 10)).astype(np.float32)
    kind = PoolingAlgorithm.MAX if operator == "MaxPool" else PoolingAlgorithm.AVERAGE
    d = Pooling2dDescriptor(
        pool_type=kind, pool_height=2, pool_width=3, stride_y=2, stride_x=2, pad_top=1,
        pad_left=2, pad_right=1, dilation_y=3, dilation_x=2,
        output_shape_rounding=OutputShapeRounding(ceil_mode),
    )  # fmt: skip
    expected = onnx_run(
        operator, x, kernel_shape=[2, 3], strides=[2, 2], pads=[1, 2, 0, 1],
        dilations=[3, 2], ceil_mode=ceil_mode,
    )  # fmt: skip
    np.testing.assert_allclose(run_layer("Pooling2d", [x], d)[0], expected, 1e-5, 1e-6)
