# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers import LAYERS, infer_outputs
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, OutputShapeRounding

FLOOR, CEILING = OutputShapeRounding.FLOOR, OutputShapeRounding.CEILING


def _shape(shape, name="Pooling2d", **parameters):
    spec = LAYERS[name]
    descriptor = spec.descriptor(**parameters)
    (info,) = infer_outputs(spec, descriptor, [TensorInfo(shape)], [None], [None])
    return info.shape


def test_pooling_of_whole_windows_has_the_shape_that_onnx_says(onnx_shapes):
    @given(
        size=st.tuples(st.integers(4, 12), st.integers(4, 12)),
        window=st.tuples(st.integers(1, 4), st.integers(1, 4)),
        stride=st.tuples(st.integers(1, 4), st.integers(1, 4)),
        pads=st.tuples(*[st.integers(0, 3)] * 4),
    )
    def check(size, window, stride, pads):
        expected = onnx_shapes(
            "AveragePool", [(1, 2, *size)], kernel_shape=window, strides=stride, pads=pads
        )
        ours = _shape(
            (1, 2, *size),
            pad_top=pads[0],
            pad_left=pads[1],
            pad_bottom=pads[2],
            pad_right=pads[3],
            pool_height=window[0],
            pool_width=window[1],
            stride_y=stride[0],
            stride_x=stride[1],
        )
        assert [ours] == expected

    check()


@pytest.mark.parametrize(
    ("size", "window", "stride", "padding", "rounding", "expected"),
    [
        # What Arm NN's own tests of Pooling2d say.
        (4, 3, 2, (0, 0), CEILING, 2),
        (4, 2, 2, (3, 3), FLOOR, 5),
        (60, 100, 5, (50, 50), FLOOR, 13),
        # Ceiling drops a window that would start in the padding after the axis.
        (4, 2, 2, (1, 1), FLOOR, 3),
        (4, 2, 3, (1, 1), CEILING, 2),
        (3, 1, 2, (0, 0), CEILING, 2),
        (4, 1, 3, (0, 2), CEILING, 2),
    ],
)
def test_a_last_window_that_is_not_whole_starts_in_the_input(
    size, window, stride, padding, rounding, expected
):
    shape = _shape(
        (1, 1, 1, size),
        pool_width=window,
        pool_height=1,
        stride_x=stride,
        stride_y=1,
        pad_left=padding[0],
        pad_right=padding[1],
        output_shape_rounding=rounding,
    )
    assert shape == (1, 1, 1, expected)


def test_without_strides_the_whole_image_is_one_window():
    assert _shape(("n", 3, "h", "w")) == ("n", 3, 1, 1)
    nhwc = {"data_layout": DataLayout.NHWC}
    assert _shape((2, 5, 6, 3), pool_width=6, pool_height=5, **nhwc) == (2, 1, 1, 3)


def test_a_window_of_size_0_is_as_large_as_the_axis():
    assert _shape((1, 3, 7, "w"), pool_height=2, stride_x=1, stride_y=1) == (1, 3, 6, 1)


def test_boxes_are_pooled_along_three_axes(onnx_shapes):
    window = {
        "pool_depth": 2,
        "pool_height": 3,
        "pool_width": 1,
        "stride_z": 3,
        "stride_y": 1,
        "stride_x": 2,
        "pad_back": 1,
        "pad_top": 2,
    }
    expected = onnx_shapes(
        "AveragePool",
        [(1, 2, 7, 8, 9)],
        kernel_shape=[2, 3, 1],
        strides=[3, 1, 2],
        pads=[0, 2, 0, 1, 0, 0],
    )
    assert [_shape((1, 2, 7, 8, 9), "Pooling3d", **window)] == expected
    ndhwc = _shape((1, 7, 8, 9, 2), "Pooling3d", data_layout=DataLayout.NDHWC, **window)
    assert ndhwc == (*expected[0][:1], *expected[0][2:], 2)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, 5, 5), "'input' has shape .*expected rank 4"),
        ((1, 3, 5, 2), "a window of 3 with dilation 1 does not fit into 2 elements with 0 of padd"),
    ],
)
def test_what_does_not_fit_is_refused(shape, message):
    with pytest.raises(ShapeError, match=message):
        _shape(shape, pool_width=3, pool_height=3, stride_x=1, stride_y=1)


def test_a_dilated_window_reaches_further():
    size = {"pool_width": 3, "pool_height": 2, "stride_x": 1, "stride_y": 2}
    reach = {**size, "dilation_x": 2, "dilation_y": 3, "pad_bottom": 1}
    assert _shape((1, 1, 7, 9), **reach) == (1, 1, 3, 5)
    with pytest.raises(ShapeError, match="a window of 3 with dilation 5 does not fit"):
        _shape((1, 1, 7, 9), **size, dilation_x=5)
    with pytest.raises(InvalidArgumentError, match="'dilation_x' is 0, expected at least 1"):
        _shape((1, 1, 7, 9), **size, dilation_x=0)
