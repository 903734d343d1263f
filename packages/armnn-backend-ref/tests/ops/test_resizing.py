# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

from armnn.errors import ExecutionError
from armnn.layers.resizing import GridSampleDescriptor, ResizeDescriptor, RoiAlignDescriptor
from armnn.tensor import TensorInfo
from armnn.types import (
    DataLayout,
    DataType,
    GridPadding,
    PoolingAlgorithm,
    ResizeMethod,
    ResizeRounding,
)

BILINEAR, NEAREST = ResizeMethod.BILINEAR, ResizeMethod.NEAREST_NEIGHBOR
NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC
SIZES = [(1, 1), (2, 3), (7, 5), (4, 6), (13, 9)]


def descriptor(height, width, method, layout=NCHW, **flags):
    return ResizeDescriptor(
        target_height=height, target_width=width, method=method, data_layout=layout, **flags
    )


def picture(*shape):
    return np.random.default_rng(12).normal(size=shape).astype(np.float32)


ONNX_MODES = {
    "corners": ({"align_corners": True}, {"coordinate_transformation_mode": "align_corners"}),
    "centers": ({"half_pixel_centers": True}, {"coordinate_transformation_mode": "half_pixel"}),
    "edges": ({}, {"coordinate_transformation_mode": "asymmetric"}),
}


@pytest.mark.parametrize("mode", ONNX_MODES)
@pytest.mark.parametrize("size", SIZES)
def test_bilinear_agrees_with_onnxruntime(compute, onnx_run, mode, size):
    flags, attributes = ONNX_MODES[mode]
    x = picture(2, 3, 4, 6)
    if mode == "corners" and 1 in size:
        # Of one sample ONNX takes the first corner; TFLite does not align, at the same place.
        attributes = ONNX_MODES["edges"][1]
    sizes = np.int64([2, 3, *size])
    expected = onnx_run("Resize", x, None, None, sizes, mode="linear", **attributes)
    y = compute(descriptor(*size, BILINEAR, **flags), x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", [NCHW, NHWC])
def test_rows_are_blended_after_columns_as_arm_nn_rounds(compute, layout):
    """The order decides ties of quantized pictures, so compare bits."""
    x = picture(3, 4)
    ys, xs = (np.arange(n, dtype=np.float32) * np.float32(s) for n, s in ((5, 3 / 5), (7, 4 / 7)))
    down, right = (ys - np.floor(ys))[:, None], xs - np.floor(xs)
    rows, columns = ys.astype(int), xs.astype(int)
    upper, lower = x[rows], x[np.minimum(rows + 1, 2)]
    after = np.minimum(columns + 1, 3)
    top = right * upper[:, after] + (1 - right) * upper[:, columns]
    bottom = right * lower[:, after] + (1 - right) * lower[:, columns]
    expected = down * bottom + (1 - down) * top
    shape = (1, 1, 3, 4) if layout is NCHW else (1, 3, 4, 1)
    y = compute(descriptor(5, 7, BILINEAR, layout), x.reshape(shape))
    np.testing.assert_array_equal(y.reshape(5, 7), expected)


@pytest.mark.parametrize("size", [(2, 3), (8, 12), (12, 18), (4, 6)])
def test_nearest_takes_the_sample_below_as_onnxruntime_with_floor(compute, onnx_run, size):
    x = picture(2, 3, 4, 6)
    expected = onnx_run(
        "Resize",
        x,
        None,
        None,
        np.int64([2, 3, *size]),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    np.testing.assert_array_equal(compute(descriptor(*size, NEAREST), x), expected)


@pytest.mark.parametrize(
    ("size", "target", "flags", "picked"),
    [
        (4, 2, {}, [0, 2]),
        (4, 2, {"half_pixel_centers": True}, [1, 3]),
        (2, 5, {}, [0, 0, 0, 1, 1]),
        (2, 5, {"half_pixel_centers": True}, [0, 0, 1, 1, 1]),
        # TFLite rounds halves up: 0, 0.5, 1 and 0, 1.5, 3.
        (2, 3, {"align_corners": True}, [0, 1, 1]),
        (4, 3, {"align_corners": True}, [0, 2, 3]),
        (3, 1, {"align_corners": True}, [0]),
        (1, 3, {"align_corners": True}, [0, 0, 0]),
    ],
)
def test_nearest_picks_the_samples_that_tflite_picks(compute, size, target, flags, picked):
    x = np.arange(size, dtype=np.float32).reshape(1, 1, 1, size)
    assert compute(descriptor(1, target, NEAREST, **flags), x).ravel().tolist() == picked


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, [0, 1, 2, 2]),
        ({"half_pixel_centers": True}, [0, 0.5, 1.5, 2]),
        ({"align_corners": True}, [0, 2 / 3, 4 / 3, 2]),
    ],
)
def test_bilinear_repeats_the_border(compute, flags, expected):
    x = np.float32([0, 2]).reshape(1, 1, 1, 2)
    y = compute(descriptor(1, 4, BILINEAR, **flags), x)
    np.testing.assert_allclose(y.ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize("method", ResizeMethod, ids=lambda method: method.arm_name)
@pytest.mark.parametrize("size", SIZES)
def test_both_layouts_give_the_same_picture(compute, method, size):
    x = picture(2, 4, 6, 3)
    flags = {"half_pixel_centers": True}
    channels_last = compute(descriptor(*size, method, NHWC, **flags), x)
    channels_first = compute(descriptor(*size, method, **flags), np.moveaxis(x, -1, 1))
    np.testing.assert_array_equal(np.moveaxis(channels_last, -1, 1), channels_first)


@pytest.mark.parametrize("method", ResizeMethod, ids=lambda method: method.arm_name)
@pytest.mark.parametrize("flags", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_the_same_size_gives_the_same_picture(compute, method, flags):
    x = picture(1, 2, 5, 7)
    np.testing.assert_array_equal(compute(descriptor(5, 7, method, **flags), x), x)


def test_float64_is_not_narrowed(compute):
    x = np.float64([0, 1 + 2**-40]).reshape(1, 1, 1, 2)
    y = compute(descriptor(1, 4, BILINEAR), x)
    assert y.dtype == np.float64
    assert y.ravel().tolist() == [0, 0.5 + 2**-41, 1 + 2**-40, 1 + 2**-40]


def test_a_batch_of_no_pictures_stays_empty(compute):
    assert compute(descriptor(2, 2, BILINEAR), picture(0, 3, 4, 4)).shape == (0, 3, 2, 2)


def test_nan_and_infinity_reach_only_their_neighbors(compute):
    x = np.float32([math.nan, 1, 2, math.inf]).reshape(1, 1, 1, 4)
    y = compute(descriptor(1, 8, BILINEAR), x).ravel()
    np.testing.assert_array_equal(np.isfinite(y), [0, 0, 1, 1, 1, 0, 0, 0])
    picked = compute(descriptor(1, 8, NEAREST), x).ravel()
    np.testing.assert_array_equal(picked, np.repeat(x.ravel(), 2))


def test_quantized_pictures_are_blended_as_real_values(run_layer):
    info = TensorInfo((1, 1, 2, 1), DataType.QASYMM_U8, 0.5, 10)
    x = (np.uint8([10, 13]).reshape(1, 1, 2, 1), info)
    (y,) = run_layer("Resize", [x], descriptor(1, 4, BILINEAR, NHWC))
    assert y.ravel().tolist() == [10, 12, 13, 13]  # 1.5 steps above the zero point go away from it


def test_half_precision_pictures_stay_so(run_layer):
    x = np.float16([0, 2]).reshape(1, 1, 1, 2)
    (y,) = run_layer("Resize", [x], descriptor(1, 4, BILINEAR))
    assert y.dtype == np.float16
    assert y.ravel().tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("mode", ONNX_MODES)
@pytest.mark.parametrize("size", [(2, 3), (7, 5), (4, 6), (13, 9)])
@pytest.mark.parametrize("coefficient", [-0.75, -0.5])
@pytest.mark.parametrize("exclude_outside", [False, True])
def test_cubic_agrees_with_onnxruntime(compute, onnx_run, mode, size, coefficient, exclude_outside):
    flags, attributes = ONNX_MODES[mode]
    x = picture(2, 3, 4, 6)
    expected = onnx_run(
        "Resize",
        x,
        None,
        None,
        np.int64([2, 3, *size]),
        mode="cubic",
        cubic_coeff_a=coefficient,
        exclude_outside=int(exclude_outside),
        **attributes,
    )
    more = {"cubic_coefficient": coefficient, "exclude_outside": exclude_outside}
    y = compute(descriptor(*size, ResizeMethod.CUBIC, **flags, **more), x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    last = compute(
        descriptor(*size, ResizeMethod.CUBIC, NHWC, **flags, **more), np.moveaxis(x, 1, -1)
    )
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), y)


ROUNDINGS = {
    ResizeRounding.ROUND_PREFER_FLOOR: "round_prefer_floor",
    ResizeRounding.ROUND_PREFER_CEIL: "round_prefer_ceil",
    ResizeRounding.FLOOR: "floor",
    ResizeRounding.CEIL: "ceil",
}


@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda rounding: rounding.arm_name)
@pytest.mark.parametrize("mode", ONNX_MODES)
@pytest.mark.parametrize("size", [(2, 3), (8, 12), (7, 11), (3, 4)])
def test_the_nearest_sample_agrees_with_onnxruntime(compute, onnx_run, rounding, mode, size):
    flags, attributes = ONNX_MODES[mode]
    x = picture(2, 3, 4, 6)
    sizes = np.int64([2, 3, *size])
    expected = onnx_run(
        "Resize", x, None, None, sizes, mode="nearest", nearest_mode=ROUNDINGS[rounding],
        **attributes,
    )  # fmt: skip
    y = compute(descriptor(*size, NEAREST, rounding=rounding, **flags), x)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("method", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("scales", [(1.7, 2.3), (0.6, 0.8), (2.6, 1.0)])
def test_given_scales_agree_with_onnxruntime(compute, onnx_run, method, scales):
    x = picture(1, 2, 4, 6)
    expected = onnx_run("Resize", x, None, np.float32([1, 1, *scales]), mode=method)
    kind = {"linear": BILINEAR, "cubic": ResizeMethod.CUBIC, "nearest": NEAREST}[method]
    d = descriptor(
        math.floor(4 * scales[0]),
        math.floor(6 * scales[1]),
        kind,
        half_pixel_centers=True,
        scale_height=scales[0],
        scale_width=scales[1],
        rounding=ResizeRounding.ROUND_PREFER_FLOOR,
    )
    np.testing.assert_allclose(compute(d, x), expected, rtol=1e-4, atol=1e-5)


GRID_MODES = {BILINEAR: "linear", NEAREST: "nearest", ResizeMethod.CUBIC: "cubic"}
PADDINGS = {
    GridPadding.ZEROS: "zeros",
    GridPadding.BORDER: "border",
    GridPadding.REFLECTION: "reflection",
}


@pytest.mark.parametrize("method", GRID_MODES, ids=lambda method: method.arm_name)
@pytest.mark.parametrize("padding", PADDINGS, ids=lambda padding: padding.arm_name)
@pytest.mark.parametrize("align_corners", [False, True])
def test_samples_of_a_grid_agree_with_onnxruntime(
    compute, onnx_run, method, padding, align_corners
):
    x = picture(2, 3, 4, 5)
    grid = np.random.default_rng(13).uniform(-2.2, 2.2, (2, 6, 7, 2)).astype(np.float32)
    expected = onnx_run(
        "GridSample",
        x,
        grid,
        mode=GRID_MODES[method],
        padding_mode=PADDINGS[padding],
        align_corners=int(align_corners),
    )
    d = GridSampleDescriptor(method=method, padding_mode=padding, align_corners=align_corners)
    y = compute(d, x, grid)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", PADDINGS, ids=lambda padding: padding.arm_name)
def test_samples_of_a_volume_agree_with_onnxruntime(compute, onnx_run, padding):
    x = picture(1, 2, 3, 4, 5)
    grid = np.random.default_rng(14).uniform(-1.5, 1.5, (1, 2, 3, 4, 3)).astype(np.float32)
    expected = onnx_run("GridSample", x, grid, padding_mode=PADDINGS[padding])
    y = compute(GridSampleDescriptor(padding_mode=padding), x, grid)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_a_grid_without_places_and_a_picture_of_one_pixel(compute):
    x = np.float32([[[[7]]]])
    for padding in GridPadding:
        d = GridSampleDescriptor(padding_mode=padding, align_corners=True)
        assert compute(d, x, np.zeros((1, 0, 3, 2), np.float32)).shape == (1, 1, 0, 3)
        assert compute(d, x, np.float32([[[[0.5, -1]]]])).tolist() == [[[[7]]]]


def test_infinity_at_the_border_does_not_reach_outside(compute):
    x = np.full((1, 1, 2, 2), np.inf, np.float32)
    y = compute(GridSampleDescriptor(), x, np.float32([[[[-9, 9]]]]))
    assert y.tolist() == [[[[0]]]]


BOXES = np.float32(
    [[0, 0, 9, 9], [2.5, 1, 7, 3], [-4, -3, 4, 20], [5, 5, 5.2, 5.1], [8, 8, 30, 30], [3, 2, 6, 9]]
)
PICTURES = np.int64([0, 1, 1, 0, 1, 0])


@pytest.mark.parametrize("half_pixel_centers", [False, True])
@pytest.mark.parametrize("sampling_ratio", [0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.4])
def test_boxes_of_one_size_agree_with_onnxruntime(
    compute, onnx_run, half_pixel_centers, sampling_ratio, scale
):
    x = picture(2, 3, 8, 10)
    expected = onnx_run(
        "RoiAlign",
        x,
        BOXES,
        PICTURES,
        output_height=2,
        output_width=3,
        sampling_ratio=sampling_ratio,
        spatial_scale=scale,
        coordinate_transformation_mode="half_pixel" if half_pixel_centers else "output_half_pixel",
    )
    d = RoiAlignDescriptor(
        output_height=2,
        output_width=3,
        sampling_ratio=sampling_ratio,
        spatial_scale=scale,
        half_pixel_centers=half_pixel_centers,
    )
    y = compute(d, x, BOXES, PICTURES)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_the_largest_sample_of_a_box_is_taken(compute):
    x = np.float32([[[[1, 2, 3, 4], [5, 6, 7, 8]]]])
    d = RoiAlignDescriptor(
        output_width=2, sampling_ratio=2, half_pixel_centers=False, pool_type=PoolingAlgorithm.MAX
    )
    # Samples at columns 0.5, 1.5 and 2.5, 3.5 (the border), rows 0.5 and 1.5 (the border).
    y = compute(d, x, np.float32([[0, 0, 4, 2]]), np.int32([0]))
    assert y.tolist() == [[[[6.5, 8]]]]


def test_a_box_of_which_the_corners_are_swapped_is_empty(compute):
    boxes = np.float32([[6, 2, 3, 9]])
    y = compute(RoiAlignDescriptor(output_width=2), picture(1, 3, 8, 10), boxes, np.int64([0]))
    assert y.shape == (1, 3, 1, 2)
    assert not y.any()


@pytest.mark.parametrize("index", [-1, 2])
def test_a_box_in_no_picture_is_refused(compute, index):
    with pytest.raises(ExecutionError, match=rf"batch index {index} is not .* expected 0 to 1"):
        compute(RoiAlignDescriptor(), picture(2, 1, 3, 3), BOXES[:1], np.int64([index]))


def test_a_box_is_in_no_picture_if_there_are_none(compute):
    with pytest.raises(ExecutionError, match=r"batch index 0 is not .* picture: there are none"):
        compute(RoiAlignDescriptor(), picture(2, 1, 3, 3)[:0], BOXES[:1], np.int64([0]))


@pytest.mark.parametrize(
    ("box", "ratio"),
    [([0, 0, np.inf, 1], 2), ([np.nan, 0, 1, 1], 2), ([-3e38, 0, 3e38, 1], 0), ([0, 0, 1e9, 1], 0)],
)
def test_a_box_without_a_finite_number_of_samples_is_an_error(compute, box, ratio):
    d = RoiAlignDescriptor(sampling_ratio=ratio)
    with pytest.raises(
        ExecutionError, match=r"a box reaches from .* pixels: expected finite numbers"
    ):
        compute(d, picture(1, 1, 3, 3), np.float32([box]), np.int64([0]))


def test_a_box_far_outside_has_its_samples_where_their_number_is_given(compute):
    d = RoiAlignDescriptor(sampling_ratio=2)
    y = compute(d, picture(1, 1, 3, 3), np.float32([[1e9, 0, 2e9, 1]]), np.int64([0]))
    assert not y.any()
