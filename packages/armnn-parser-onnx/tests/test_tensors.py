# SPDX-License-Identifier: MIT
from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from armnn.errors import ParseError
from armnn.types import DataType
from armnn_parser_onnx.external_data import ExternalData
from armnn_parser_onnx.tensors import data_type_of, onnx_type_name, to_array
from armnn_parser_onnx.wire.messages import Tensor
from armnn_parser_onnx.wire.source import Span

NOWHERE = ExternalData(None)
NUMPY_TYPES = [
    np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
    np.uint32, np.uint64, np.bool_,
]  # fmt: skip
NARROW_TYPES = [
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn,
]  # fmt: skip


def ours(proto: TensorProto) -> Tensor:
    """Return a tensor as the reader decodes it."""
    data = proto.SerializeToString()
    return Tensor.at(Span(data, 0, len(data)), "m")


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_both_storage_forms_of_every_plain_type_are_read(dtype: type, raw: bool) -> None:
    data = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(data.dtype)
    values = data.tobytes() if raw else data.ravel().tolist()
    tensor = helper.make_tensor("t", element, data.shape, values, raw=raw)
    result = to_array(ours(tensor), NOWHERE)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(result, data)


@pytest.mark.parametrize("dtype", NARROW_TYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_both_storage_forms_of_every_narrow_type_are_read(dtype: type, raw: bool) -> None:
    data = np.array([0, 1, 2, 3, 1.0, 4, 6]).astype(dtype)
    tensor = numpy_helper.from_array(data, "t")
    if not raw:
        width = 2 if data.dtype.name == "bfloat16" else 1
        stored = np.frombuffer(tensor.raw_data, f"uint{8 * width}")
        tensor.ClearField("raw_data")
        tensor.int32_data.extend(int(number) for number in stored)
    result = to_array(ours(tensor), NOWHERE)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(result.astype(np.float32), data.astype(np.float32))


def test_negative_nibbles_keep_their_sign() -> None:
    tensor = TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes([0x8F, 0x07]))
    assert to_array(ours(tensor), NOWHERE).astype(np.int32).tolist() == [-1, -8, 7]


def test_a_scalar_and_an_empty_tensor_are_read() -> None:
    scalar = numpy_helper.from_array(np.float32(2.5), "t")
    assert to_array(ours(scalar), NOWHERE) == np.float32(2.5)
    empty = TensorProto(data_type=TensorProto.FLOAT, dims=[2, 0])
    assert to_array(ours(empty), NOWHERE).shape == (2, 0)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (TensorProto(data_type=1, dims=[2], raw_data=b"1234"), "has 4 bytes of data: expected 8"),
        (TensorProto(data_type=1, dims=[2], float_data=[1.0]), "has 1 values: expected 2"),
        (TensorProto(data_type=1, dims=[-1]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**40, 2**40]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**60]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**40], raw_data=b"1234"), "expected 4398046511104"),
        (TensorProto(data_type=8, dims=[0]), "tensors of string are not supported"),
        (TensorProto(data_type=14, dims=[0]), "tensors of complex64 are not supported"),
        (TensorProto(data_type=99, dims=[0]), "type number 99"),
        (TensorProto(data_type=0, dims=[0]), "type number 0"),
    ],
)
def test_malformed_tensors_are_refused(tensor: TensorProto, message: str) -> None:
    tensor.name = "weights"
    with pytest.raises(ParseError, match=f"'weights'.*{message}"):
        to_array(ours(tensor), NOWHERE)


def test_segments_are_refused() -> None:
    tensor = TensorProto(data_type=1, dims=[1], float_data=[1.0])
    tensor.segment.begin = 0
    with pytest.raises(ParseError, match="stored in segments"):
        to_array(ours(tensor), NOWHERE)


def test_every_type_that_onnx_numbers_is_known_or_refused_by_name() -> None:
    for name, number in TensorProto.DataType.items():
        if name in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128", "FLOAT6E2M3", "FLOAT6E3M2"):
            with pytest.raises(ParseError, match="not supported"):
                data_type_of(number)
        else:
            assert data_type_of(number) in DataType


def test_type_names_are_those_of_the_operator_schemas() -> None:
    spelled = set(onnx.defs.get_schema("Cast").type_constraints[0].allowed_type_strs)
    ours = {onnx_type_name(data_type) for data_type in DataType}
    assert spelled - ours <= {"tensor(string)", "tensor(float6e2m3)", "tensor(float6e3m2)"}
