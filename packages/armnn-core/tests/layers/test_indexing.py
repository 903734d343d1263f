# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers import LAYERS, infer_outputs
from armnn.layers.indexing import StridedSliceDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType


def _integers(*shape):
    return TensorInfo(shape, DataType.SIGNED32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [(), (0,), (5,), (5, 6)])
def test_indices_take_the_place_of_an_axis(infer, axis, indices):
    expected = np.take(np.empty((2, 3, 4)), np.zeros(indices, int), axis=axis).shape
    assert infer("Gather", [(2, 3, 4), _integers(*indices)], axis=axis)[0].shape == expected


def test_axes_that_are_not_gathered_keep_their_names(infer):
    (info,) = infer("Gather", [("n", 3, "m"), _integers("k")], axis=1)
    assert info.shape == ("n", "k", "m")


def test_a_scalar_has_nothing_to_gather(infer):
    with pytest.raises(ShapeError, match="axis 0 is not an axis of a tensor of rank 0"):
        infer("Gather", [(), _integers(2)])


def test_what_is_gathered_has_at_most_eight_axes(infer):
    with pytest.raises(InvalidArgumentError, match="has rank 9: expected at most 8"):
        infer("Gather", [(1,) * 5, _integers(*(1,) * 5)])


@pytest.mark.parametrize("indices", [(5, 1), (5, 2), (5, 6, 3), (2,), (0, 2)])
def test_gather_nd_has_the_shape_that_onnx_says(onnx_shapes, infer, indices):
    expected = onnx_shapes("GatherND", [(2, 3, 4), np.zeros(indices, np.int64)])
    assert [infer("GatherNd", [(2, 3, 4), _integers(*indices)])[0].shape] == expected


def test_gather_nd_needs_to_know_how_many_axes_an_index_fixes(infer):
    assert infer("GatherNd", [("n", 3), _integers("k", 1)])[0].shape == ("k", 3)
    assert infer("GatherNd", [("n", 3), _integers(4, None)])[0].shape is None


@pytest.mark.parametrize(
    ("indices", "message"),
    [((), "'indices' is a scalar"), ((2, 3), "name 3 axes, but the tensor of shape .* has 2")],
)
def test_indices_that_do_not_fit_are_refused(infer, indices, message):
    with pytest.raises(ShapeError, match=message):
        infer("GatherNd", [(4, 5), _integers(*indices)])


def test_scattering_keeps_the_shape_of_what_is_there(infer):
    operands = [("n", 3, 4), _integers(5, 2), (5, 4)]
    assert infer("ScatterNd", operands)[0].shape == ("n", 3, 4)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (np.array([4, 3]), (4, 3)),
        (_integers(2), (None, None)),
        (_integers(None), None),
    ],
)
def test_updates_may_be_scattered_into_zeros(infer, shape, expected):
    operands = {"indices": _integers(5, 1), "updates": (5, 3), "shape": shape}
    assert infer("ScatterNd", operands)[0].shape == expected


def test_updates_must_fit_the_indices(infer):
    with pytest.raises(
        ShapeError, match=r"updates have shape \[5,3\]: expected \[5,4\] for the in"
    ):
        infer("ScatterNd", [(2, 3, 4), _integers(5, 2), (5, 3)])


@pytest.mark.parametrize("operands", [{}, {"input": (4, 3), "shape": np.array([4, 3])}])
def test_updates_go_into_a_tensor_or_into_zeros(infer, operands):
    operands = {"indices": _integers(5, 1), "updates": (5, 3), **operands}
    with pytest.raises(ShapeError, match="give either the input 'input' or the input 'shape'"):
        infer("ScatterNd", operands)


def test_a_shape_has_no_negative_dimension(infer):
    operands = {"indices": _integers(5, 1), "updates": (5, 3), "shape": np.array([4, -3])}
    with pytest.raises(ShapeError, match=r"'shape' is \[4, -3\]: expected a shape"):
        infer("ScatterNd", operands)


@pytest.mark.parametrize(
    ("shape", "begin", "size", "expected"),
    [
        ((5, 6), (1, 2), (3, 4), (3, 4)),
        ((5, 6), (5, 0), (0, -1), (0, 6)),
        ((5,), (2,), (-1,), (3,)),
        (("n",), (0,), (-1,), ("n",)),
        (("n",), (1,), (-1,), (None,)),
        (("n",), (1,), (3,), (3,)),
        ((), (), (), ()),
    ],
)
def test_a_box_is_cut_out(infer, shape, begin, size, expected):
    assert infer("Slice", [shape], begin=begin, size=size)[0].shape == expected


@pytest.mark.parametrize(
    ("begin", "size", "message"),
    [
        ((3, 0), (3, 6), "a slice from index 3 to 6 does not fit into an axis of size 5"),
        ((6, 0), (-1, 6), "a slice from index 6 to the end does not fit into an axis of size 5"),
        ((0,), (5,), r"begin \[0\] and size \[5\] do not fit .*expected 2 numbers each"),
    ],
)
def test_a_box_outside_is_refused(infer, begin, size, message):
    with pytest.raises(ShapeError, match=message):
        infer("Slice", [(5, 6)], begin=begin, size=size)


def test_a_box_may_be_computed(infer):
    assert infer("Slice", [(5, 6), np.array([1, 2]), np.array([2, 2])])[0].shape == (2, 2)
    assert infer("Slice", [(5, 6), _integers(2)], size=(2, -1))[0].shape == (2, None)
    assert infer("Slice", [(5, 6), None, _integers(2)], begin=(0, 0))[0].shape == (None, None)


BOUND = st.integers(-7, 7)
AXIS = st.tuples(BOUND, BOUND, st.sampled_from([-3, -2, -1, 1, 2, 3]))


def _strided(shape, **parameters):
    spec = LAYERS["StridedSlice"]
    descriptor = spec.descriptor(**parameters)
    return infer_outputs(spec, descriptor, [TensorInfo(shape)], [None], [None])[0].shape


@given(
    axes=st.tuples(AXIS, AXIS),
    begin_mask=st.integers(0, 3),
    end_mask=st.integers(0, 3),
    shape=st.tuples(st.integers(0, 5), st.integers(0, 5), st.just(2)),
)
def test_strided_slices_have_the_shape_of_numpys(axes, begin_mask, end_mask, shape):
    begin, end, stride = zip(*axes, strict=True)
    expected = np.empty(shape)[
        tuple(
            slice(
                None if begin_mask & 1 << axis else begin[axis],
                None if end_mask & 1 << axis else end[axis],
                stride[axis],
            )
            for axis in range(2)
        )
    ].shape
    ours = _strided(
        shape, begin=begin, end=end, stride=stride, begin_mask=begin_mask, end_mask=end_mask
    )
    assert ours == expected


@pytest.mark.parametrize(
    ("masks", "index", "expected"),
    [
        # With begin 1, end 3 and stride 1 at each of three positions: what TensorFlow makes of it.
        ({}, np.s_[1:3, 1:3, 1:3], (2, 2, 2, 7)),
        ({"shrink_axis_mask": 0b001}, np.s_[1, 1:3, 1:3], (2, 2, 7)),
        ({"new_axis_mask": 0b010}, np.s_[1:3, None, 1:3], (2, 1, 2, 6, 7)),
        ({"ellipsis_mask": 0b001}, np.s_[..., 1:3, 1:3], (4, 5, 2, 2)),
        ({"ellipsis_mask": 0b010}, np.s_[1:3, ..., 1:3], (2, 5, 6, 2)),
        ({"ellipsis_mask": 0b010, "shrink_axis_mask": 0b100}, np.s_[1:3, ..., 1], (2, 5, 6)),
        ({"ellipsis_mask": 0b100, "new_axis_mask": 0b001}, np.s_[None, 1:3], (1, 2, 5, 6, 7)),
        ({"shrink_axis_mask": 0b011, "new_axis_mask": 0b010}, np.s_[1, None, 1:3], (1, 2, 6, 7)),
    ],
)
def test_masks_shrink_insert_and_skip_axes(masks, index, expected):
    shape = (4, 5, 6, 7)
    descriptor = StridedSliceDescriptor(begin=(1,) * 3, end=(3,) * 3, stride=(1,) * 3, **masks)
    array = np.arange(840).reshape(shape)
    assert np.array_equal(array[descriptor.index(4)], array[index])
    assert _strided(shape, begin=(1,) * 3, end=(3,) * 3, stride=(1,) * 3, **masks) == expected


def test_a_negative_position_may_be_picked():
    picked = {"begin": (-1,), "end": (0,), "stride": (1,), "shrink_axis_mask": 1}
    assert _strided((4, 5), **picked) == (5,)


@pytest.mark.parametrize("position", [4, -5])
def test_a_position_that_is_not_there_cannot_be_picked(position):
    with pytest.raises(ShapeError, match=rf"position {position} is not in the axis 0 .*\[4,5\]"):
        _strided((4, 5), begin=(position,), end=(0,), stride=(1,), shrink_axis_mask=1)


def test_whole_axes_keep_their_names():
    whole = {"begin": (0, 0), "end": (0, 2), "stride": (1, 1), "begin_mask": 1, "end_mask": 1}
    assert _strided(("n", "m", "k"), **whole) == ("n", None, "k")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"begin": (0,), "end": (1, 2), "stride": (1,)}, "1, 2 and 1 numbers: expected as many"),
        ({"begin": (0,) * 3, "end": (1,) * 3, "stride": (1,) * 3}, "name 3 axes: the input has 2"),
        (
            {"begin": (1,), "end": (0,), "stride": (-1,), "shrink_axis_mask": 1},
            "the axis at position 0 shrinks, but its stride is -1",
        ),
    ],
)
def test_lists_that_do_not_fit_are_refused(parameters, message):
    with pytest.raises(ShapeError, match=message):
        _strided((4, 5), **parameters)


def test_positions_may_be_computed(infer):
    known = [np.array([1, 0]), np.array([3, 9]), np.array([1, 2])]
    assert infer("StridedSlice", [(4, 5), *known])[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("begin", "masks", "expected"),
    [
        (_integers(2), {}, (None, None, None)),
        (_integers(2), {"shrink_axis_mask": 1}, (None, None)),
        (_integers(2), {"new_axis_mask": 1}, (1, None, None, None)),
        (_integers(None), {}, None),
    ],
)
def test_positions_that_are_not_known_leave_the_rank(infer, begin, masks, expected):
    (info,) = infer("StridedSlice", [(4, 5, 6), begin], end=(3, 3), stride=(1, 1), **masks)
    assert info.shape == expected


def test_positions_that_are_not_known_must_be_as_many(infer):
    with pytest.raises(ShapeError, match=r"have \[3, 2, 2\] numbers: expected as many"):
        infer("StridedSlice", [(4, 5, 6), _integers(3)], end=(3, 3), stride=(1, 1))


@pytest.mark.parametrize("shape", [(), (3,), ("n", None, 0)])
def test_the_number_of_elements_that_are_not_zero_is_not_known(infer, shape):
    (info,) = infer("NonZero", [shape])
    assert info == TensorInfo((len(shape), None), DataType.SIGNED64)


@pytest.mark.parametrize(
    ("operands", "axis"),
    [
        ([(2, 3, 8, 4), (2, 3, 2, 4)], -2),
        ([(2, 8, 4), (2, "s", 4), (2,)], 1),
        ([("n", 3, 8, 4), ("n", 3, 1, 4), ()], 2),
        ([(2, 8, 4), (2, 8, 4), (1,)], 1),
    ],
)
def test_a_cache_keeps_its_shape(infer, operands, axis):
    assert infer("TensorScatter", operands, axis=axis)[0].shape == operands[0]


@pytest.mark.parametrize(
    ("operands", "axis", "message"),
    [
        ([(2, 8, 4), (2, 1, 4)], 0, "the axis 0 .* is that of the batch"),
        ([(2, 8, 4), (2, 1, 4)], -3, "the axis -3 .* is that of the batch"),
        ([(2, 8, 4), (2, 1, 3)], 1, r"updates have shape \[2,1,3\]: expected .* but for axis 1"),
        ([(2, 8, 4), (2, 9, 4)], 1, r"updates have 9 rows: expected at most 8"),
        ([(2, 8, 4), (2, 1, 4), (3,)], 1, r"'positions' has shape \[3\]: .* to \[2\]"),
    ],
)
def test_rows_that_do_not_fit_are_refused(infer, operands, axis, message):
    with pytest.raises(ShapeError, match=message):
        infer("TensorScatter", operands, axis=axis)
