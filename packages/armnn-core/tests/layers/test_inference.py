# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers import LAYERS, Inputs, filled_descriptor, infer_outputs, merge_shapes
from armnn.tensor import Dimension, Shape, TensorInfo, info_of
from armnn.types import DataLayout, DataType, OutputShapeRounding, PaddingMode, SequenceDirection

U8 = TensorInfo((2, 3), DataType.QASYMM_U8, 0.5, 7)
PER_AXIS = TensorInfo((2, 3), DataType.QSYMM_S8, (0.1, 0.2, 0.3), axis=1)


def test_an_output_is_like_its_input(infer):
    assert infer("Activation", [U8]) == (U8,)


def test_a_requested_data_type_has_no_scale_yet(infer):
    (info,) = infer("Activation", [U8], [DataType.QASYMM_S8])
    assert info == TensorInfo((2, 3), DataType.QASYMM_S8)


def test_a_requested_info_is_completed_by_the_inferred_shape(infer):
    wanted = TensorInfo((None, 3), DataType.QASYMM_U8, 0.25, 1)
    assert infer("Activation", [U8], [wanted]) == (wanted.with_shape((2, 3)),)


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 1), ()])
def test_a_requested_shape_must_be_the_inferred_one(infer, shape):
    with pytest.raises(ShapeError, match=r"'output' is declared with shape .* makes \[2,3\]"):
        infer("Activation", [U8], [TensorInfo(shape)])


def test_an_output_has_one_of_its_data_types(infer):
    assert infer("Comparison", [(2,), (2,)])[0].data_type is DataType.BOOLEAN
    with pytest.raises(ShapeError, match="'output' cannot be Float32: expected one of Boolean"):
        infer("Comparison", [(2,), (2,)], [DataType.FLOAT32])


@pytest.mark.parametrize(
    ("name", "operands"), [("Input", []), ("Constant", []), ("Cast", [(2,)]), ("PreCompiled", [])]
)
def test_a_layer_that_cannot_tell_its_output_wants_it_said(infer, name, operands):
    with pytest.raises(ShapeError, match="do not tell what the output 'output' is: say its Tensor"):
        infer(name, operands)


def test_scales_per_axis_move_with_their_axis(infer):
    moved = TensorInfo((3, 2), DataType.QSYMM_S8, PER_AXIS.scales, axis=0)
    assert infer("Transpose", [PER_AXIS], dim_mappings=(1, 0)) == (moved,)
    assert infer("Permute", [PER_AXIS], dim_mappings=(1, 0)) == (moved,)


def test_permute_and_transpose_move_an_axis_of_scales_in_opposite_senses(infer):
    weights = TensorInfo((2, 3, 4), DataType.QSYMM_S8, (0.1, 0.2), axis=0)
    assert infer("Permute", [weights], dim_mappings=(1, 2, 0))[0].axis == 1
    assert infer("Transpose", [weights], dim_mappings=(1, 2, 0))[0].axis == 2


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("Reshape", {"target_shape": (2, 3)}), ("Debug", {}), ("MemCopy", {}), ("MemImport", {})],
)
def test_scales_per_axis_stay_where_nothing_moves(infer, name, parameters):
    assert infer(name, [PER_AXIS], **parameters) == (PER_AXIS,)


@pytest.mark.parametrize(
    ("name", "operands", "parameters"),
    [
        ("Reshape", [], {"target_shape": (3, 2)}),
        ("ReverseV2", [np.array([1])], {}),
        ("StridedSlice", [], {"begin": (-1,), "end": (-9,), "stride": (-1,)}),
        ("ChannelShuffle", [], {"num_groups": 3, "axis": -1}),
        ("Gather", [np.array([1, 0])], {}),
    ],
)
def test_scales_per_axis_go_where_elements_move(infer, name, operands, parameters):
    (info,) = infer(name, [PER_AXIS, *operands], **parameters)
    assert (info.data_type, info.scales, info.axis) == (DataType.QSYMM_S8, (), None)


def test_shuffling_another_axis_keeps_scales(infer):
    (info,) = infer("ChannelShuffle", [PER_AXIS], num_groups=2, axis=0)
    assert info == PER_AXIS


def test_an_unknown_rank_makes_outputs_of_unknown_rank(infer):
    assert infer("Addition", [TensorInfo(None), (2, 3)]) == (TensorInfo(None),)


def test_a_requested_shape_helps_where_the_rank_is_not_known(infer):
    assert infer("Addition", [TensorInfo(None), (2, 3)], [TensorInfo((4, 3))])[0].shape == (4, 3)


@pytest.mark.parametrize(
    ("said", "inferred", "merged"),
    [
        (None, (2,), (2,)),
        ((2,), None, (2,)),
        (None, None, None),
        ((None, "n", 3), ("m", None, None), ("m", "n", 3)),
        (("n",), (4,), (4,)),
        ((4,), ("n",), (4,)),
    ],
)
def test_what_is_said_and_what_is_inferred_complete_each_other(
    said: Shape | None, inferred: Shape | None, merged: Shape | None
) -> None:
    assert merge_shapes(said, inferred, "output") == merged


def test_known_values_fill_their_fields() -> None:
    spec = LAYERS["StridedSlice"]
    values = [None, np.array([1, 2]), None, np.array([1, -1])]
    infos = [None if value is None else info_of(value) for value in values]
    filled = filled_descriptor(spec, spec.descriptor(end=(5, 6)), infos, values)
    assert filled == spec.descriptor(begin=(1, 2), end=(5, 6), stride=(1, -1))


def test_a_number_fills_a_field_that_takes_one(infer):
    (info,) = infer(
        "Resize", [(1, 2, 4, 4), np.array([8]), np.array(6)], data_layout=DataLayout.NCHW
    )
    assert info.shape == (1, 2, 6, 8)


def test_a_list_does_not_fill_a_field_that_takes_one_number(infer):
    with pytest.raises(ShapeError, match="'target_width' has 2 elements: expected one number"):
        infer("Resize", [(1, 2, 4, 4), np.array([8, 8])], target_height=3)


def test_real_numbers_do_not_fill_a_field_of_integers(infer):
    with pytest.raises(ShapeError, match="'begin' holds float32 numbers: expected integers"):
        infer("StridedSlice", [(4,), np.array([1], np.float32)], end=(3,), stride=(1,))


def test_a_scalar_fills_a_list_of_one() -> None:
    spec = LAYERS["Mean"]
    axis = np.array(1)
    filled = filled_descriptor(spec, spec.descriptor(), [None, info_of(axis)], [None, axis])
    assert filled == spec.descriptor(axis=(1,))


def test_a_value_out_of_range_is_refused(infer):
    with pytest.raises(InvalidArgumentError, match=r"'multiples' is .*expected at least 0"):
        infer("Tile", [(2,), np.array([-1])])


def test_a_missing_input_is_named(infer):
    for operands in ([(2, 3), None], [(2, 3)]):
        with pytest.raises(ShapeError, match="the input 'indices' is missing"):
            infer("Gather", operands)


def test_a_shape_function_is_not_asked_about_unknown_ranks():
    inputs = Inputs(LAYERS["Floor"], (TensorInfo(None),), (None,))
    with pytest.raises(ShapeError, match="the rank of the input 'input' is not known"):
        inputs.shape("input")


NHWC = {"data_layout": DataLayout.NHWC}
BOTH_WAYS = {"direction": SequenceDirection.BIDIRECTIONAL}
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Activation", [(2, 3)], {}),
    ("Prelu", [(2, 3, 4), (3, 1)], {}),
    ("Addition", [(2, 1, 4), (3, 1)], {}),
    ("ElementwiseBinary", [(2, 1, 4), (5, 2, 3, 4)], {}),
    ("ElementwiseUnary", [()], {}),
    ("Comparison", [(0, 3), (1, 3)], {}),
    ("LogicalBinary", [(2, 2), (2, 2)], {}),
    ("Where", [(2, 1), (3,), (4, 2, 3)], {}),
    ("Fused", [(2, 3), (2, 3), (3,), (3,)], {}),
    ("Convolution2d", [(2, 4, 9, 8), (6, 2, 3, 3), (6,)], {"stride_x": 2, "pad_left": 1}),
    ("Convolution2d", [(2, 5, 5, 3), (4, 3, 3, 3)], {"pad_top": 1, "pad_bottom": 1, **NHWC}),
    ("DepthwiseConvolution2d", [(1, 3, 5, 5), (1, 3, 3, 6), (6,)], {"dilation_x": 2}),
    ("TransposeConvolution2d", [(1, 4, 5, 6), (8, 4, 3, 3)], {"stride_x": 2, "stride_y": 1}),
    (
        "TransposeConvolution2d",
        [(1, 2, 3, 3), (1, 2, 3, 3)],
        {
            "stride_x": 2,
            "stride_y": 2,
            "output_shape_enabled": True,
            "output_shape": (1, 1, 8, 7),
        },
    ),
    ("Convolution3d", [(1, 5, 5, 5, 4), (3, 2, 1, 2, 6), (6,)], {"stride_z": 2}),
    ("FullyConnected", [(2, 3, 4), (12, 5), (5,)], {}),
    ("BatchMatMul", [(2, 1, 3, 4), (5, 4, 6)], {}),
    ("BatchMatMul", [(2, 3, 4, 5), (2, 5, 4, 6)], {"data_layout_x": DataLayout.NHWC}),
    (
        "Pooling2d",
        [(1, 3, 7, 8)],
        {
            "pool_width": 3,
            "pool_height": 2,
            "stride_x": 2,
            "stride_y": 2,
            "output_shape_rounding": OutputShapeRounding.CEILING,
        },
    ),
    ("Pooling2d", [(1, 3, 7, 8)], {}),
    ("Pooling3d", [(1, 3, 7, 8, 9)], {"pool_depth": 2, "stride_z": 1}),
    ("BatchNormalization", [(2, 3, 4, 5), (3,), (3,), (3,), (3,)], {}),
    ("InstanceNormalization", [(2, 3, 4, 5)], {}),
    ("L2Normalization", [(2, 3, 4, 5)], {}),
    ("Normalization", [(2, 3, 4, 5)], {}),
    ("Softmax", [(2, 3)], {}),
    ("LogSoftmax", [(2, 3)], {"axis": 0}),
    ("ArgMinMax", [(2, 3, 4)], {"axis": 1}),
    ("Mean", [(2, 3, 4)], {"axis": (0, -1), "keep_dims": True}),
    ("Mean", [(2, 3, 4), np.array([0])], {}),
    ("Reduce", [(2, 3, 4)], {}),
    ("Reduce", [(2, 1, 4), np.array([0, 1])], {"keep_dims": True}),
    ("Reshape", [(2, 3, 4)], {"target_shape": (4, -1)}),
    ("Reshape", [(2, 3, 4)], {"target_shape": (0, -1), "zero_copies": True}),
    ("Reshape", [(0, 3, 4)], {"target_shape": (0, -1), "zero_copies": True}),
    ("Reshape", [(2, 3, 4), np.array([6, 4])], {}),
    ("Permute", [(2, 3, 4)], {"dim_mappings": (2, 0, 1)}),
    ("Transpose", [(2, 3, 4)], {"dim_mappings": (2, 0, 1)}),
    ("SpaceToDepth", [(1, 4, 6, 3)], {"block_size": 2}),
    ("DepthToSpace", [(1, 2, 3, 12)], {"block_size": 2}),
    ("SpaceToBatchNd", [(1, 2, 3, 4)], {"block_shape": (2, 3), "pad_list": ((1, 0), (1, 1))}),
    ("BatchToSpaceNd", [(6, 2, 2, 2)], {"block_shape": (2, 3), "crops": ((1, 0), (1, 1))}),
    ("ChannelShuffle", [(2, 6)], {"num_groups": 3, "axis": 1}),
    ("BroadcastTo", [(3, 1)], {"broadcast_to_shape": (2, 1, 4)}),
    ("BroadcastTo", [(3, 1), np.array([3, 4])], {}),
    ("Tile", [(2, 3)], {"multiples": (1, 4)}),
    ("Tile", [(2, 3), np.array([2, 0])], {}),
    ("Pad", [(2, 3)], {"pad_list": ((1, 0), (2, 2)), "padding_mode": PaddingMode.REFLECT}),
    ("Pad", [(2, 3), np.array([[1, 0], [2, 2]])], {}),
    ("ReverseV2", [(2, 3), np.array([1])], {}),
    ("Gather", [(2, 3, 4), (5, 6)], {"axis": 1}),
    ("GatherNd", [(2, 3, 4), (5, 2)], {}),
    ("ScatterNd", [(2, 3, 4), (5, 2), (5, 4)], {}),
    ("ScatterNd", [None, (5, 1), (5, 3), np.array([2, 3])], {}),
    ("Slice", [(5, 6)], {"begin": (1, 2), "size": (-1, 3)}),
    ("Slice", [(5, 6), np.array([1, 2]), np.array([2, -1])], {}),
    ("StridedSlice", [(9, 8)], {"begin": (1, -1), "end": (7, -6), "stride": (2, -2)}),
    (
        "StridedSlice",
        [(9, 8, 7), np.array([1, 0, 2]), np.array([5, 0, 3]), np.array([1, 1, 1])],
        {"shrink_axis_mask": 1, "new_axis_mask": 2},
    ),
    ("Concat", [(2, 3), (2, 0), (2, 5)], {"axis": 1}),
    ("Stack", [(2, 3), (2, 3)], {"axis": 1}),
    ("Splitter", [(2, 7)], {"axis": 1, "sizes": (3, 0, 4)}),
    ("Resize", [(1, 2, 3, 4)], {"target_width": 5, "target_height": 6}),
    ("Resize", [(1, 2, 3, 4), np.array(7), np.array(8)], {}),
    ("Quantize", [(2, 3)], {}),
    ("Dequantize", [(2, 3)], {}),
    ("ConvertFp16ToFp32", [(2, 3)], {}),
    ("Rank", [(2, 3)], {}),
    ("Shape", [(2, 3)], {}),
    ("Fill", [np.array([2, 3])], {}),
    ("NonZero", [(2, 3)], {}),
    ("LayerNormalization", [(2, 3, 4), (3, 1), (4,)], {"axis": 1}),
    ("RmsNormalization", [(2, 3, 4), (4,)], {}),
    ("GroupNormalization", [(2, 6, 4), (6,), (6,)], {"num_groups": 3}),
    ("IsNaN", [(2, 3)], {}),
    ("IsInf", [(2, 3)], {}),
    ("Einsum", [(2, 3, 4), (5, 4, 3)], {"equation": "...ij,kji->...k"}),
    ("Einsum", [(3, 3), (1,)], {"equation": "ii,k"}),
    ("Rnn", [(5, 2, 3), (1, 4, 3), (1, 4, 4), (1, 8), (2,)], {"time_major": True}),
    ("Gru", [(2, 5, 3), (1, 12, 3), (1, 12, 4), (1, 24), None, (2, 1, 4)], {}),
    ("SequenceLstm", [(2, 5, 3), (2, 16, 3), (2, 16, 4)], BOTH_WAYS),
    ("ReverseSequence", [(2, 3, 4), (2,)], {"batch_axis": 0, "time_axis": 1}),
    ("TopK", [(2, 5)], {"k": 3}),
    ("TopK", [(5, 2), np.array([3])], {"axis": 0}),
    ("CumSum", [(2, 3)], {"axis": -1}),
    ("CumSum", [(2, 3), np.array(1)], {}),
    ("CumProd", [(2, 3)], {"axis": -1}),
    ("Range", [np.array(3), np.array(10), np.array(2)], {}),
    ("OneHot", [(2, 3), (2,)], {"depth": 4, "axis": 1}),
    ("OneHot", [(), (2,), np.array(5)], {}),
    ("Trilu", [(2, 3, 4), np.array(1)], {}),
    ("GatherElements", [(2, 3, 4), (2, 9, 1)], {"axis": 1}),
    ("ScatterElements", [(2, 3, 4), (2, 9, 1), (2, 9, 1)], {"axis": 1}),
    ("Compress", [(2, 3), (3,)], {"axis": 1}),
    ("Unique", [(2, 3)], {"axis": 1}),
    ("Determinant", [(2, 3, 3)], {}),
    ("BitCast", [(2, 3)], {}),
    ("RoiAlign", [(2, 3, 4, 5), (6, 4), (6,)], {"output_height": 7}),
    ("GridSample", [(2, 3, 4, 5), (2, 7, 8, 2)], {}),
    ("Attention", [(2, 6, 3, 4), (2, 2, 5, 4), (2, 2, 5, 7), (6, 1, 5)], {}),
    ("RotaryEmbedding", [(2, 3, 5, 8), (2, 5, 3), (2, 5, 3)], {}),
    ("RotaryEmbedding", [(2, 3, 5, 8), (5, 4), (5, 4)], {}),
    ("NonMaxSuppression", [(2, 6, 4), (2, 3, 6), np.array(5)], {}),
    ("ConvolutionInteger", [(2, 4, 9, 8), (6, 2, 3, 3), (), (6,)], {"stride_x": 2}),
    ("DynamicQuantize", [(2, 3)], {}),
    ("MatMulInteger", [(2, 1, 3, 4), (5, 4, 6), (3,), (5, 1, 6)], {}),
    ("DetectionPostProcess", [(1, 6, 4), (1, 6, 3), (6, 4)], {"num_classes": 2}),
    ("Merge", [(2, 3), (2, 3)], {}),
    ("Switch", [(2, 3), ()], {}),
]

WITHOUT_CASE = {
    *("Input", "Output", "Constant", "Map", "Unmap", "PreCompiled", "StandIn", "Cast"),
    *("Subtraction", "Multiplication", "Division", "Maximum", "Minimum", "Floor"),
    *("ConvertFp32ToFp16", "FakeQuantization", "Debug", "MemCopy", "MemImport"),
    *("Lstm", "QLstm", "QuantizedLstm", "UnidirectionalSequenceLstm"),
}
"""Their shape functions have a case under another name, infer nothing, or a module of their own."""


def test_every_shape_function_has_a_case() -> None:
    assert {name for name, _, _ in CASES} | WITHOUT_CASE == set(LAYERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_inferred_of_less_agrees_with_what_is_inferred_of_all(
    case: tuple[str, list[Any], dict[str, Any]], data: st.DataObject
) -> None:
    name, operands, parameters = case
    spec = LAYERS[name]
    descriptor = spec.descriptor(**parameters)
    infos = [_info(operand) for operand in operands]
    values = [item if isinstance(item, np.ndarray) else None for item in operands]
    requested: list[None] = [None] * len(spec.output_slots(descriptor))
    exact = infer_outputs(spec, descriptor, infos, values, requested)

    hidden_infos = [info and data.draw(_hidden(info)) for info in infos]
    hidden_values = [
        None if value is None or data.draw(st.booleans()) else value for value in values
    ]
    known = [
        info if value is not None else hidden
        for info, hidden, value in zip(infos, hidden_infos, hidden_values, strict=True)
    ]
    loose = infer_outputs(spec, descriptor, known, hidden_values, requested)

    for of_all, of_less in zip(exact, loose, strict=True):
        assert of_less.data_type is of_all.data_type
        assert _agrees(of_less.shape, of_all.shape), f"{of_less} of {of_all}"


def _info(operand: Any) -> TensorInfo | None:
    if isinstance(operand, np.ndarray):
        return info_of(operand)
    return None if operand is None else TensorInfo(operand)


def _hidden(info: TensorInfo) -> st.SearchStrategy[TensorInfo]:
    """Hide some dimensions, or their size behind a name.

    The name tells the size here.
    """
    assert info.shape is not None
    dims = [st.sampled_from([dim, None, f"size{dim}"]) for dim in info.shape]
    return st.tuples(*dims).map(info.with_shape)


def _agrees(loose: Shape | None, exact: Shape | None) -> bool:
    if loose is None:
        return True
    assert exact is not None
    return len(loose) == len(exact) and all(map(_dimension_agrees, loose, exact))


def _dimension_agrees(loose: Dimension, exact: Dimension) -> bool:
    if loose is None or loose == exact:
        return True
    return isinstance(loose, str) and loose == f"size{exact}"
