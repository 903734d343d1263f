# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType, PaddingMode

NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC


def _integers(*shape):
    return TensorInfo(shape, DataType.SIGNED64)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((2, 3, 4), (4, 6), (4, 6)),
        ((2, 3, 4), (-1,), (24,)),
        ((2, 3, 4), (3, -1, 2), (3, 4, 2)),
        ((1, 1), (), ()),
        ((), (1, 1), (1, 1)),
        ((), (-1,), (1,)),
        ((0, 3), (0,), (0,)),
        ((0, 3), (-1, 3), (0, 3)),
        (("n", 3, 4), (-1, 12), ("n", 12)),
        (("n", 3, 4), (-1, 4), (None, 4)),
        (("n", 3, 4), (5, -1), (5, None)),
        (("n", 3), (6, 1), (6, 1)),
    ],
)
def test_the_same_elements_take_another_shape(infer, shape, target, expected):
    assert infer("Reshape", [shape], target_shape=target)[0].shape == expected


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((2, 3, 4), (0, -1), (2, 12)),
        (("n", "c", 3, 4), (0, 0, -1), ("n", "c", 12)),
        (("n", None, 3, 4), (0, -1, 12), ("n", None, 12)),
        (("n", 3, 4), (0, 2, 6), ("n", 2, 6)),
        ((None, None), (0, 0), (None, None)),
        ((0, 6), (0, 2, -1), (0, 2, 3)),
    ],
)
def test_zero_copies_a_dimension_if_asked_to(infer, shape, target, expected):
    (info,) = infer("Reshape", [shape], target_shape=target, zero_copies=True)
    assert info.shape == expected


@pytest.mark.parametrize(
    ("shape", "target", "flags", "message"),
    [
        ((2, 3), (4, 2), {}, r"\[2,3\] has 6 elements, the target_shape \[4,2\] has 8"),
        ((2, 3), (-1, 4), {}, r"elements of \[2,3\] cannot be divided by \[4\]"),
        ((0, 3), (0, -1), {}, r"elements of \[0,3\] cannot be divided by \[0\]"),
        ((2,), (2, 0), {"zero_copies": True}, "copies the dimension 1, which .* does not have"),
    ],
)
def test_another_number_of_elements_is_refused(infer, shape, target, flags, message):
    with pytest.raises(ShapeError, match=message):
        infer("Reshape", [shape], target_shape=target, **flags)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (np.array([6, -1]), (6, 4)),
        (_integers(3), (None, None, None)),
        (_integers(None), None),
        (_integers(0), ()),
    ],
)
def test_the_target_may_be_computed(infer, target, expected):
    assert infer("Reshape", [(2, 3, 4), target])[0].shape == expected


@given(order=st.permutations(range(4)))
def test_transpose_is_numpys_and_permute_its_inverse(infer_once, order):
    shape = (2, 3, 4, 5)
    assert infer_once("Transpose", shape, dim_mappings=tuple(order)) == (
        np.empty(shape).transpose(order).shape
    )
    assert infer_once("Permute", shape, dim_mappings=tuple(order)) == (
        np.empty(shape).transpose(np.argsort(order)).shape
    )


@pytest.fixture(scope="module")
def infer_once():
    from armnn.layers import LAYERS, infer_outputs

    def shape_of(name, shape, **parameters):
        spec = LAYERS[name]
        descriptor = spec.descriptor(**parameters)
        return infer_outputs(spec, descriptor, [TensorInfo(shape)], [None], [None])[0].shape

    return shape_of


@pytest.mark.parametrize("name", ["Permute", "Transpose"])
def test_axes_keep_their_names_when_they_move(infer, name):
    assert infer(name, [("n", 3)], dim_mappings=(1, 0))[0].shape == (3, "n")
    assert infer(name, [()])[0].shape == ()


@pytest.mark.parametrize("name", ["Permute", "Transpose"])
@pytest.mark.parametrize("mappings", [(0,), (0, 0), (1, 2), (-1, 0), (0, 1, 2)])
def test_mappings_name_each_axis_once(infer, name, mappings):
    with pytest.raises(ShapeError, match=r"do not name each axis .*\[2,3\] once"):
        infer(name, [(2, 3)], dim_mappings=mappings)


def test_space_and_depth_have_the_shapes_that_onnx_says(onnx_shapes, infer):
    expected = onnx_shapes("SpaceToDepth", [(1, 3, 4, 6)], blocksize=2)
    infos = infer("SpaceToDepth", [(1, 3, 4, 6)], block_size=2, data_layout=NCHW)
    assert [info.shape for info in infos] == expected
    expected = onnx_shapes("DepthToSpace", [(1, 12, 2, 3)], blocksize=2)
    infos = infer("DepthToSpace", [(1, 12, 2, 3)], block_size=2, data_layout=NCHW)
    assert [info.shape for info in infos] == expected


def test_space_and_depth_work_with_channels_last(infer):
    assert infer("SpaceToDepth", [("n", 4, 6, 3)], block_size=2)[0].shape == ("n", 2, 3, 12)
    assert infer("DepthToSpace", [("n", 2, "w", 12)], block_size=2)[0].shape == ("n", 4, None, 3)
    assert infer("DepthToSpace", [("n", 2, "w", 12)])[0].shape == ("n", 2, "w", 12)


@pytest.mark.parametrize(
    ("name", "shape", "axis", "parts"),
    [("SpaceToDepth", (1, 4, 5, 3), 2, 2), ("DepthToSpace", (1, 4, 4, 6), 3, 4)],
)
def test_blocks_must_divide_what_they_cut(infer, name, shape, axis, parts):
    with pytest.raises(ShapeError, match=f"axis {axis} of .* divided into {parts} equal parts"):
        infer(name, [shape], block_size=2)


@pytest.mark.parametrize(
    ("shape", "layout", "expected"),
    [
        ((1, 4, 5, 3), NHWC, (6, 3, 2, 3)),
        ((1, 3, 4, 5), NCHW, (6, 3, 3, 2)),
        (("n", "c", 4, "w"), NCHW, (None, "c", 3, None)),
        ((0, 4, 5, 3), NHWC, (0, 3, 2, 3)),
    ],
)
def test_space_moves_into_the_batch(infer, shape, layout, expected):
    (info,) = infer(
        "SpaceToBatchNd",
        [shape],
        block_shape=(2, 3),
        pad_list=((1, 1), (0, 1)),
        data_layout=layout,
    )
    assert info.shape == expected


@pytest.mark.parametrize(
    ("shape", "layout", "expected"),
    [
        ((12, 3, 2, 5), NHWC, (2, 4, 5, 5)),
        ((12, 5, 3, 2), NCHW, (2, 5, 4, 5)),
        (("n", 5, 3, 2), NCHW, (None, 5, 4, 5)),
    ],
)
def test_the_batch_moves_into_space(infer, shape, layout, expected):
    (info,) = infer(
        "BatchToSpaceNd",
        [shape],
        block_shape=(2, 3),
        crops=((1, 1), (0, 1)),
        data_layout=layout,
    )
    assert info.shape == expected


def test_blocks_may_have_one_axis(infer):
    one = {"block_shape": (2,), "data_layout": NHWC}
    assert infer("SpaceToBatchNd", [(1, 5, 3)], pad_list=((0, 1),), **one)[0].shape == (2, 3, 3)
    assert infer("BatchToSpaceNd", [(2, 3, 3)], crops=((0, 1),), **one)[0].shape == (1, 5, 3)


@pytest.mark.parametrize(
    ("name", "shape", "parameters", "message"),
    [
        ("SpaceToBatchNd", (1, 3, 5, 4), {"block_shape": (2, 2)}, r"axis 2 of the shape \[1,3,5,4"),
        ("BatchToSpaceNd", (3, 3, 5, 4), {"block_shape": (2, 2)}, r"axis 0 of the shape \[3,3,5,4"),
        (
            "BatchToSpaceNd",
            (1, 3, 1, 4),
            {"crops": ((1, 1), (0, 0))},
            r"crops \(1, 1\) are too large",
        ),
        ("SpaceToBatchNd", (1, 3, 5), {}, r"'input' has shape \[1,3,5\]: expected rank 4"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(infer, name, shape, parameters, message):
    with pytest.raises(ShapeError, match=message):
        infer(name, [shape], **parameters)


def test_shuffled_channels_keep_the_shape(infer):
    assert infer("ChannelShuffle", [("n", 6)], num_groups=3, axis=-1)[0].shape == ("n", 6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "num_groups is 0: expected at least 1"),
        ({"num_groups": 4, "axis": 1}, "axis 1 of .* divided into 4 equal parts"),
        ({"num_groups": 2, "axis": 2}, "axis 2 is not an axis"),
    ],
)
def test_groups_must_divide_the_channels(infer, parameters, message):
    with pytest.raises(ShapeError, match=message):
        infer("ChannelShuffle", [(2, 6)], **parameters)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((3, 1), (2, 3, 4), (2, 3, 4)),
        ((3, 1), (2, 1, 4), (2, 3, 4)),
        (("n", 1), (1, 4), ("n", 4)),
        ((), (2, 0), (2, 0)),
        ((2, 3), (), (2, 3)),
    ],
)
def test_a_target_of_one_element_leaves_the_dimension(infer, shape, target, expected):
    assert infer("BroadcastTo", [shape], broadcast_to_shape=target)[0].shape == expected


def test_a_target_that_does_not_fit_is_refused(infer):
    with pytest.raises(ShapeError, match=r"\[2,3\] and \[2,4\] do not broadcast"):
        infer("BroadcastTo", [(2, 3)], broadcast_to_shape=(2, 4))


@pytest.mark.parametrize(
    ("target", "expected"),
    [(_integers(1), (None, None)), (_integers(3), (None,) * 3), (_integers(None), None)],
)
def test_a_target_that_is_not_known_may_raise_the_rank(infer, target, expected):
    assert infer("BroadcastTo", [(2, 3), target])[0].shape == expected


@pytest.mark.parametrize(
    ("shape", "multiples", "expected"),
    [
        ((2, 3), (2, 1), (4, 3)),
        (("n", "m"), (1, 2), ("n", None)),
        (("n",), (0,), (0,)),
        ((), (), ()),
    ],
)
def test_tiles_multiply_dimensions(infer, shape, multiples, expected):
    assert infer("Tile", [shape], multiples=multiples)[0].shape == expected


def test_there_is_one_multiple_per_axis(infer):
    with pytest.raises(ShapeError, match=r"multiples \[2\] do not fit .*\[2,3\]: expected 2"):
        infer("Tile", [(2, 3)], multiples=(2,))


def test_multiples_that_are_not_known_keep_the_rank(infer):
    assert infer("Tile", [(2, 3), _integers(2)])[0].shape == (None, None)


@pytest.mark.parametrize(("mode", "numpy_mode"), [(m, m.name.lower()) for m in PaddingMode])
def test_padding_has_the_shape_of_numpys(infer, mode, numpy_mode):
    pads = ((1, 2), (0, 1), (2, 2))
    expected = np.pad(np.ones((3, 4, 3)), pads, mode=numpy_mode).shape
    assert infer("Pad", [(3, 4, 3)], pad_list=pads, padding_mode=mode)[0].shape == expected


def test_an_axis_that_is_not_padded_keeps_its_name(infer):
    assert infer("Pad", [("n", "m")], pad_list=((0, 0), (1, 0)))[0].shape == ("n", None)


@pytest.mark.parametrize(("mode", "most"), [(PaddingMode.REFLECT, 2), (PaddingMode.SYMMETRIC, 3)])
def test_mirrored_padding_takes_no_more_than_there_is(infer, mode, most):
    assert infer("Pad", [(3,)], pad_list=((most, 0),), padding_mode=mode)[0].shape == (3 + most,)
    with pytest.raises(ShapeError, match=rf"padding of \({most + 1}, 0\) needs more than the 3 el"):
        infer("Pad", [(3,)], pad_list=((most + 1, 0),), padding_mode=mode)


def test_there_is_one_pair_per_axis(infer):
    with pytest.raises(ShapeError, match=r"pad_list \(\(1, 1\),\) does not fit .*expected 2 pairs"):
        infer("Pad", [(2, 3)], pad_list=((1, 1),))


def test_padding_may_be_computed(infer):
    assert infer("Pad", [(2, 3), np.array([[1, 0], [0, 2]])])[0].shape == (3, 5)
    assert infer("Pad", [(2, 3), _integers(2, 2)])[0].shape == (None, None)
    number = TensorInfo((), DataType.FLOAT32)
    assert infer("Pad", [(2,), None, number], pad_list=((1, 0),))[0].shape == (3,)


@pytest.mark.parametrize("axes", [np.array([0, -1]), np.array(1), _integers(None)])
def test_turned_axes_keep_the_shape(infer, axes):
    assert infer("ReverseV2", [("n", 3), axes])[0].shape == ("n", 3)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (np.array([2]), "axis 2 is not an axis of a tensor of rank 2"),
        (np.array([0, -2]), "name one axis twice"),
        (_integers(1, 1), r"'axis' has shape \[1,1\]: expected rank 0 or 1"),
    ],
)
def test_axes_to_turn_must_be_there(infer, axes, message):
    with pytest.raises(ShapeError, match=message):
        infer("ReverseV2", [(2, 3), axes])
