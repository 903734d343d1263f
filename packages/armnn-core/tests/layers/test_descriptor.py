# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS
from armnn.layers.convolution import Convolution2dDescriptor
from armnn.layers.pooling import Pooling2dDescriptor
from armnn.layers.reduction import MeanDescriptor
from armnn.layers.reshaping import PadDescriptor, ReshapeDescriptor, SpaceToBatchNdDescriptor
from armnn.types import DataLayout


def test_lists_and_arrays_become_tuples_of_python_numbers() -> None:
    from_list = PadDescriptor(pad_list=[[1, 2], [3, 4]])  # type: ignore[arg-type]  # numbers become tuples
    from_array = PadDescriptor(pad_list=np.array([[1, 2], [3, 4]]))  # type: ignore[arg-type]  # numbers become tuples
    assert from_list.pad_list == ((1, 2), (3, 4))
    assert from_array == from_list
    assert type(from_array.pad_list[0][0]) is int


def test_numpy_numbers_become_python_numbers() -> None:
    descriptor = MeanDescriptor(axis=(np.int64(1),), keep_dims=np.bool_(True))  # type: ignore[arg-type]  # NumPy's numbers do as well
    assert (type(descriptor.axis[0]), type(descriptor.keep_dims)) == (int, bool)


def test_descriptors_of_equal_parameters_are_equal_and_hash_alike() -> None:
    first, second = ReshapeDescriptor(target_shape=(2, 3)), ReshapeDescriptor(target_shape=(2, 3))
    assert first == second
    assert hash(first) == hash(second)
    assert first != ReshapeDescriptor(target_shape=(3, 2))


def test_descriptors_of_different_layers_are_not_equal() -> None:
    softmax, log_softmax = LAYERS["Softmax"].descriptor(), LAYERS["LogSoftmax"].descriptor()
    assert softmax != log_softmax


def test_descriptors_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ReshapeDescriptor().target_shape = (1,)  # type: ignore[misc]  # that it is refused is tested


def test_a_parameter_cannot_be_deleted() -> None:
    descriptor = ReshapeDescriptor(target_shape=(2,))
    with pytest.raises(dataclasses.FrozenInstanceError, match="'target_shape'"):
        del descriptor.target_shape


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="ReshapeDescriptor has no parameter shape"):
        ReshapeDescriptor(shape=(2,))  # type: ignore[call-arg]  # that it is refused is tested


def test_descriptors_are_replaced_copied_and_pickled_by_value() -> None:
    descriptor = Convolution2dDescriptor(stride_x=2, data_layout=DataLayout.NHWC)
    assert pickle.loads(pickle.dumps(descriptor)) == descriptor
    assert copy.deepcopy(descriptor) == descriptor
    replaced = dataclasses.replace(descriptor, stride_y=3)
    assert replaced == Convolution2dDescriptor(stride_x=2, stride_y=3, data_layout=DataLayout.NHWC)


def test_a_replacement_is_checked() -> None:
    with pytest.raises(InvalidArgumentError, match="'stride_x' is 0"):
        dataclasses.replace(Convolution2dDescriptor(), stride_x=0)


def test_a_descriptor_shows_its_parameters() -> None:
    shown = repr(ReshapeDescriptor(target_shape=(2, -1)))
    assert shown == "ReshapeDescriptor(target_shape=(2, -1), zero_copies=False)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stride_x": 0}, "Convolution2dDescriptor: the parameter 'stride_x' is 0, expected at "),
        ({"pad_top": -1}, "'pad_top' is -1, expected at least 0"),
        ({"data_layout": DataLayout.NDHWC}, "is NDHWC, expected one of NCHW, NHWC"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Convolution2dDescriptor(**parameters)  # type: ignore[arg-type]  # of several types


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("Fused", {"num_output_slots": 3}, "'num_output_slots' is 3, expected one of 1, 2"),
        ("Reshape", {"target_shape": (-1, -1)}, "expected at most one -1"),
        ("Reshape", {"target_shape": (-2,)}, "expected at least -1"),
        ("Pad", {"pad_list": (1, 2)}, r"element 0, is 1, expected a pair \(before, after\)"),
        ("Pad", {"pad_list": ((1, 2, 3),)}, r"is \(1, 2, 3\), expected a pair"),
        ("Pad", {"pad_list": ((0, -1),)}, "expected at least 0"),
        ("SpaceToBatchNd", {"block_shape": (2,)}, r"'pad_list' is \(\(0, 0\), \(0, 0\)\), expect"),
        ("BatchToSpaceNd", {"block_shape": (0, 1)}, "'block_shape' is .*expected at least 1"),
        ("StridedSlice", {"stride": (1, 0)}, r"'stride' is \(1, 0\), expected no 0"),
        ("StridedSlice", {"ellipsis_mask": 3}, "'ellipsis_mask' is 0b11, expected at most one"),
        ("BatchMatMul", {"transpose_y": True, "adjoint_y": True}, "transpose and adjoint"),
        ("FakeQuantization", {"min": 1.0, "max": 1.0}, "min is 1.0 and max is 1.0"),
        ("TransposeConvolution2d", {"output_shape": (1, 2, 3, 4)}, "output_shape_enabled is False"),
        ("TransposeConvolution2d", {"output_shape_enabled": True}, "expected four dimensions"),
        ("Lstm", {"activation_func": 2}, "'activation_func' is 2, expected one of None, ReLu,"),
        ("Splitter", {"sizes": (1, -1)}, "expected at least 0"),
        ("Tile", {"multiples": (-1,)}, "expected at least 0"),
        ("Pooling3d", {"stride_z": -1}, "expected at least 0"),
        ("ChannelShuffle", {"num_groups": -1}, "expected at least 0"),
        ("StandIn", {"num_outputs": -1}, "expected at least 0"),
        ("PreCompiled", {"num_output_slots": -1}, "expected at least 0"),
        ("DetectionPostProcess", {"max_classes_per_detection": 0}, "expected at least 1"),
    ],
)
def test_each_layer_checks_its_parameters(
    name: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        LAYERS[name].descriptor(**parameters)


def test_windows_are_given_height_first() -> None:
    convolution = Convolution2dDescriptor(
        pad_left=1, pad_right=2, pad_top=3, pad_bottom=4, stride_x=5, stride_y=6, dilation_x=7
    )
    assert convolution.padding == ((3, 4), (1, 2))
    assert convolution.strides == (6, 5)
    assert convolution.dilations == (1, 7)
    assert Pooling2dDescriptor(pool_width=2, pool_height=3).window == (3, 2)


def test_a_block_of_one_axis_needs_one_pair() -> None:
    descriptor = SpaceToBatchNdDescriptor(block_shape=(2,), pad_list=((0, 1),))
    assert descriptor.block_shape == (2,)
