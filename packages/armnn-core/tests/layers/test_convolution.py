# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import ShapeError
from armnn.layers import LAYERS, infer_outputs
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType

NHWC, NCDHW = DataLayout.NHWC, DataLayout.NCDHW
SMALL = st.integers(0, 3)
STEP = st.integers(1, 3)


def _shape(name, operands, **parameters):
    spec = LAYERS[name]
    infos = [TensorInfo(shape) for shape in operands]
    (info,) = infer_outputs(spec, spec.descriptor(**parameters), infos, [None] * len(infos), [None])
    return info.shape


WINDOWS = st.fixed_dictionaries(
    {
        **{f"pad_{side}": SMALL for side in ("left", "right", "top", "bottom")},
        **{f"{step}_{axis}": STEP for step in ("stride", "dilation") for axis in "xy"},
    }
)


def _onnx_window(window):
    return {
        "pads": [window[f"pad_{side}"] for side in ("top", "left", "bottom", "right")],
        "strides": [window["stride_y"], window["stride_x"]],
        "dilations": [window["dilation_y"], window["dilation_x"]],
    }


def test_convolutions_have_the_shape_that_onnx_says(onnx_shapes):
    @given(window=WINDOWS, size=st.tuples(st.integers(7, 12), st.integers(7, 12)))
    def check(window, size):
        operands = [(2, 6, *size), (4, 3, 3, 2)]
        expected = onnx_shapes("Conv", operands, group=2, **_onnx_window(window))
        assert [_shape("Convolution2d", operands, **window)] == expected

    check()


def test_layouts_differ_only_in_the_place_of_the_channels():
    window = {"stride_x": 2, "pad_top": 1, "dilation_y": 2}
    nchw = _shape("Convolution2d", [(2, 3, 9, 8), (5, 3, 3, 4), (5,)], **window)
    nhwc = _shape("Convolution2d", [(2, 9, 8, 3), (5, 3, 4, 3), (5,)], data_layout=NHWC, **window)
    assert nchw == (2, 5, 6, 3)
    assert nhwc == (2, 6, 3, 5)


def test_a_depthwise_convolution_makes_several_channels_of_each():
    operands = [(1, 3, 5, 5), (1, 3, 2, 6), (6,)]
    assert _shape("DepthwiseConvolution2d", operands) == (1, 6, 3, 4)
    operands = [(1, 5, 5, 3), (1, 3, 2, 6)]
    assert _shape("DepthwiseConvolution2d", operands, data_layout=NHWC) == (1, 3, 4, 6)


def test_convolutions_in_three_dimensions_read_boxes(onnx_shapes):
    window = {"stride_x": 2, "stride_z": 3, "pad_front": 2, "pad_right": 1, "dilation_y": 2}
    operands = [(1, 4, 9, 8, 7), (6, 2, 3, 2, 2)]
    expected = onnx_shapes(
        "Conv",
        operands,
        group=2,
        strides=[3, 1, 2],
        pads=[2, 0, 0, 0, 0, 1],
        dilations=[1, 2, 1],
    )
    ours = [(1, 4, 9, 8, 7), (3, 2, 2, 2, 6), (6,)]
    assert [_shape("Convolution3d", ours, data_layout=NCDHW, **window)] == expected
    assert _shape("Convolution3d", [(1, 9, 8, 7, 4), *ours[1:]], **window) == (
        *expected[0][:1],
        *expected[0][2:],
        6,
    )


def test_transposed_convolutions_have_the_shape_that_onnx_says(onnx_shapes):
    @given(window=WINDOWS, size=st.tuples(st.integers(5, 8), st.integers(5, 8)))
    def check(window, size):
        window |= {"dilation_x": 1, "dilation_y": 1}
        expected = onnx_shapes(
            "ConvTranspose", [(2, 4, *size), (4, 3, 3, 2)], group=2, **_onnx_window(window)
        )
        del window["dilation_x"], window["dilation_y"]
        ours = _shape("TransposeConvolution2d", [(2, 4, *size), (6, 2, 3, 2)], **window)
        assert [ours] == expected

    check()


def test_a_transposed_convolution_may_be_asked_for_less_than_a_stride_more():
    stated = {"stride_x": 2, "stride_y": 3, "output_shape_enabled": True, "data_layout": NHWC}
    operands = [(1, 3, 3, 2), (5, 3, 3, 2)]
    for height, width in ((9, 7), (11, 8)):
        wanted = (1, height, width, 5)
        assert _shape("TransposeConvolution2d", operands, output_shape=wanted, **stated) == wanted


@pytest.mark.parametrize(
    "wanted", [(1, 12, 7, 5), (1, 8, 7, 5), (1, 9, 9, 5), (1, 9, 7, 4), (2, 9, 7, 5)]
)
def test_a_transposed_convolution_cannot_make_any_shape(wanted):
    with pytest.raises(ShapeError, match=r"output_shape .* cannot be made .*expected \[1,9,7,5\]"):
        _shape(
            "TransposeConvolution2d",
            [(1, 3, 3, 2), (5, 3, 3, 2)],
            stride_x=2,
            stride_y=3,
            output_shape_enabled=True,
            output_shape=wanted,
            data_layout=NHWC,
        )


@pytest.mark.parametrize(
    "window", [{"stride_x": 0, "stride_y": 1}, {"stride_x": 1, "stride_y": 1, "pad_left": 6}]
)
def test_a_transposed_convolution_needs_a_stride_and_must_leave_something(window):
    with pytest.raises(ShapeError, match="give no output for 3 elements"):
        _shape("TransposeConvolution2d", [(1, 2, 3, 3), (5, 2, 3, 3)], **window)


def test_unknown_dimensions_stay_where_the_window_leaves_them():
    same = {"pad_left": 1, "pad_right": 1}
    assert _shape("Convolution2d", [("n", 3, 9, "w"), (5, 3, 3, 3)], **same) == ("n", 5, 7, "w")
    assert _shape("Convolution2d", [("n", 3, 9, "w"), (5, 3, 3, 3)]) == ("n", 5, 7, None)
    assert _shape("Convolution2d", [(1, None, 9, 9), (5, 3, None, 3)]) == (1, 5, None, 7)
    assert _shape("DepthwiseConvolution2d", [(1, "c", 9, 9), (1, 3, 3, 8)]) == (1, 8, 7, 7)
    assert _shape(
        "TransposeConvolution2d", [("n", 2, 3, "w"), (5, 2, 3, 3)], stride_x=1, stride_y=1
    ) == ("n", 5, 5, None)


@pytest.mark.parametrize("name", ["Convolution2d", "TransposeConvolution2d"])
@pytest.mark.parametrize(("channels", "read", "made"), [(6, 4, 4), (6, 3, 5), (6, 0, 6), (4, 6, 6)])
def test_weights_must_split_the_channels_into_groups(name, channels, read, made):
    message = rf"read {read} channels and make {made}, expected a divisor of {channels} to be read"
    with pytest.raises(ShapeError, match=message):
        _shape(name, [(1, channels, 5, 5), (made, read, 3, 3)], stride_x=1, stride_y=1)


@pytest.mark.parametrize("weights", [(1, 3, 3, 5), (2, 3, 3, 4)])
def test_depthwise_weights_must_fit_the_channels(weights):
    with pytest.raises(ShapeError, match=r"do not fit the 2 channels .*expected \[1,KH,KW,2\*M\]"):
        _shape("DepthwiseConvolution2d", [(1, 2, 5, 5), weights])


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(3, 5, 5), (4, 3, 3, 3)], r"'input' has shape \[3,5,5\]: expected rank 4"),
        ([(1, 3, 5, 5), (4, 3, 3)], r"'weights' has shape \[4,3,3\]: expected rank 4"),
        ([(1, 3, 5, 5), (4, 3, 3, 3), (3,)], r"'bias' has shape \[3\]: expected \[4\]"),
        ([(1, 3, 2, 5), (4, 3, 3, 3)], "a window of 3 with dilation 1 does not fit into 2 element"),
        ([(1, 3, 5, 5), (4, 3, 0, 3)], "a window of 0 with dilation 1 does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(operands, message):
    with pytest.raises(ShapeError, match=message):
        _shape("Convolution2d", operands)


def test_an_empty_batch_stays_empty():
    assert _shape("Convolution2d", [(0, 3, 5, 5), (4, 3, 3, 3)]) == (0, 4, 3, 3)


def test_a_convolution_of_integers_has_a_zero_point_for_each_output_channel(infer):
    x, weights = TensorInfo((1, 3, 4, 4), DataType.UNSIGNED8), TensorInfo((5, 3, 2, 2))
    (info,) = infer("ConvolutionInteger", [x, weights, (1,), (5,)])
    assert info == TensorInfo((1, 5, 3, 3), DataType.SIGNED32)
    with pytest.raises(ShapeError, match=r"'weights_zero_point' has .*\[3\]: expected \[5\]"):
        infer("ConvolutionInteger", [x, weights, None, (3,)])
    with pytest.raises(ShapeError, match=r"'input_zero_point' has shape \[3\]: expected \[1\]"):
        infer("ConvolutionInteger", [x, weights, (3,)])
