# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo, format_shape, info_of
from armnn.types import DataType

S8 = DataType.QASYMM_S8


def test_a_static_tensor_knows_its_size() -> None:
    info = TensorInfo((2, 3, 4), DataType.FLOAT16)
    assert (info.rank, info.num_elements, info.size_bytes) == (3, 24, 48)
    assert info.is_static
    assert str(info) == "Float16[2,3,4]"


@pytest.mark.parametrize("shape", [(), (0,), (1,) * 8])
def test_rank_0_to_8_and_empty_tensors_are_tensors(shape: tuple[int, ...]) -> None:
    assert TensorInfo(shape).num_elements == int(np.prod(shape))


def test_rank_9_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="rank 9: expected at most 8"):
        TensorInfo((1,) * 9)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-1, 2), "negative dimension: write None"),
        ((2.5,), "2.5 cannot be a dimension"),
        ((True,), "True cannot be a dimension"),
    ],
)
def test_what_is_no_dimension_is_refused(shape: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        TensorInfo(shape)


def test_unknown_dimensions_accept_any_size() -> None:
    info = TensorInfo(("batch", None, 3))
    assert not info.is_static
    assert info.accepts((7, 0, 3))
    assert not info.accepts((7, 0, 4))
    assert not info.accepts((7, 3))
    assert TensorInfo(None).accepts((1, 2))
    assert str(info) == "Float32[batch,?,3]"
    with pytest.raises(InvalidArgumentError, match=r"\[batch,\?,3\] is not known in full"):
        _ = info.num_elements


def test_an_unknown_rank_is_no_shape() -> None:
    info = TensorInfo(None, DataType.SIGNED64)
    assert info.rank is None
    assert not info.is_static
    assert format_shape(info.shape) == "[unknown rank]"


def test_numbers_stand_for_one_scale_and_one_zero_point() -> None:
    info = TensorInfo((2,), S8, 0.5, 3)
    assert (info.scale, info.zero_point) == (0.5, 3)
    assert info == TensorInfo((2,), S8, [0.5], [3])
    assert hash(info) == hash(TensorInfo((2,), S8, (0.5,), (3,)))
    assert str(info) == "QAsymmS8[2] with scale 0.5 and zero point 3"


def test_per_axis_scales_default_to_zero_points_of_zero() -> None:
    info = TensorInfo((2, 3), DataType.QSYMM_S8, [0.1, 0.2, 0.3], axis=1)
    assert info.is_per_axis
    assert info.zero_points == (0, 0, 0)
    assert str(info) == "QSymmS8[2,3] with 3 scales along axis 1"
    with pytest.raises(InvalidArgumentError, match="no single scale: got 3"):
        _ = info.scale
    with pytest.raises(InvalidArgumentError, match="no single zero point"):
        _ = info.zero_point


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2,), DataType.FLOAT32, 0.5), "Float32 takes no scale"),
        (((2,), S8, 0.0), "finite and above zero"),
        (((2,), S8, float("nan")), "finite and above zero"),
        (((2,), S8, float("inf")), "finite and above zero"),
        (((2,), S8, 0.5, 2**31), "must fit 32 bits: got"),
        (((2,), S8, 0.5, (1, 2)), "2 zero points for 1 scales"),
        (((2,), S8, (0.5, 0.25)), "2 scales but no axis"),
        (((2,), S8, (0.5, 0.25), 0, 1), "2 scales: expected one for each|zero points"),
        (((2,), S8, (0.5, 0.25), (0, 0), 1), r"axis 1 is not an axis of \[2\]"),
        (((3,), S8, (0.5, 0.25), (0, 0), 0), "has size 3, but there are 2 scales"),
    ],
)
def test_quantization_that_does_not_fit_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        TensorInfo(*arguments)


def test_zero_points_are_those_that_arm_nn_takes() -> None:
    assert TensorInfo((2,), DataType.QSYMM_S16, 0.5, 50).zero_point == 50
    assert TensorInfo((2,), DataType.QASYMM_U8, 0.5, -50).zero_point == -50


def test_type_space_match_looks_at_type_and_quantization_only() -> None:
    info = TensorInfo((2,), S8, 0.5, 3)
    assert info.is_type_space_match(TensorInfo((7, 7), S8, 0.5, 3))
    assert not info.is_type_space_match(TensorInfo((2,), S8, 0.5, 4))
    assert not info.is_type_space_match(TensorInfo((2,), DataType.QASYMM_U8, 0.5, 3))


def test_an_info_changes_into_a_new_one() -> None:
    info = TensorInfo((2,), S8, 0.5, 3)
    assert info.with_shape((4,)) == TensorInfo((4,), S8, 0.5, 3)
    assert info.with_data_type(DataType.SIGNED32) == TensorInfo((2,), DataType.SIGNED32)
    assert TensorInfo((9,)).with_quantization_of(info) == TensorInfo((9,), S8, 0.5, 3)


def test_arrays_have_an_info() -> None:
    assert info_of(np.zeros((2, 3), np.uint8)) == TensorInfo((2, 3), DataType.UNSIGNED8)
    with pytest.raises(InvalidArgumentError, match="complex128 cannot be a tensor"):
        info_of(np.zeros(2, complex))


def test_a_long_name_of_a_dimension_is_cut() -> None:
    limit = "DynamicDimension.1234567"
    assert len(limit) == 24
    assert str(TensorInfo(("n", limit))) == f"Float32[n,{limit}]"
    assert str(TensorInfo((1, f"{limit} + 1", None))) == "Float32[1,DynamicDimension.1234...,?]"


@pytest.mark.parametrize("said", ["Float16", "FLOAT16", "float16", np.float16, np.dtype("f2"), 0])
def test_a_data_type_is_given_by_name_or_as_numpy_has_it(said: Any) -> None:
    assert TensorInfo((1,), said).data_type is DataType.FLOAT16
    assert TensorInfo((1,)).with_data_type(said).data_type is DataType.FLOAT16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((1,), "Flaot32"), "data type of a tensor is 'Flaot32', .*; did you mean 'Float32'"),
        (((1,), np.complex64), "is the class complex64, expected one of Float16, .*np.float32$"),
        (((1,), None), "the data type of a tensor is None, expected one of"),
        ((5,), r"the shape of a tensor is 5, expected a list of dimensions such as \(1, 3\)"),
        (("13",), "the shape of a tensor is '13', expected a list"),
        (((2**63,),), "9223372036854775808 cannot be a dimension of"),
        (((1,), "QAsymmU8", "1"), "the scales is '1', expected a number or a list of them"),
        (((1,), "QAsymmU8", [None]), "the scale is None, expected a number"),
        (((1,), "QAsymmU8", 1.0, 0.5), "zero points is 0.5|zero point is 0.5, expected a whole"),
        (((1,), "QAsymmU8", 1.0, 0, 0.0), "the quantization axis is 0.0, .*whole number; write 0"),
    ],
)
def test_fields_of_another_kind_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        TensorInfo(*arguments)


def test_numpy_scalars_are_scales_and_zero_points() -> None:
    info = TensorInfo((3,), "QAsymmS8", np.float32(0.5), np.int8(-3))
    assert (info.scale, info.zero_point) == (0.5, -3)
    assert TensorInfo((2,), "QSymmS8", np.array([1, 2]), axis=np.int64(0)).scales == (1.0, 2.0)
