# SPDX-License-Identifier: MIT
"""Types, quantisation and data of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import DataType
from armnn.errors import ParseError
from armnn.tensor import TensorInfo
from armnn_parser_tflite.buffers import Buffers
from armnn_parser_tflite.model_file import read_model
from armnn_parser_tflite.schema import Tensor, read_subgraph
from armnn_parser_tflite.tensors import info_of, to_array


def _read(lite: Any, tensor: Any, edit: Any = None) -> tuple[Tensor, Buffers]:
    data = lite.build([], {"t": tensor}, [], ["t"], edit=edit)
    model = read_model(data)
    return read_subgraph(model, 0).tensors[0], Buffers(model)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("float32", DataType.FLOAT32),
        ("float16", DataType.FLOAT16),
        ("float64", DataType.FLOAT64),
        ("int8", DataType.SIGNED8),
        ("uint8", DataType.UNSIGNED8),
        ("int16", DataType.SIGNED16),
        ("int32", DataType.SIGNED32),
        ("int64", DataType.SIGNED64),
        ("bool", DataType.BOOLEAN),
    ],
)
def test_types_without_a_scale_are_plain(lite: Any, kind: str, expected: DataType) -> None:
    data = np.array([[0, 1], [1, 0]]).astype(kind)
    tensor, buffers = _read(lite, lite.constant(data))
    assert info_of(tensor) == TensorInfo((2, 2), expected)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.dtype == data.dtype
    np.testing.assert_array_equal(array, data)


@pytest.mark.parametrize(
    ("kind", "zero", "expected"),
    [
        ("int8", 3, DataType.QASYMM_S8),
        ("int8", 0, DataType.QASYMM_S8),
        ("uint8", 3, DataType.QASYMM_U8),
        ("int16", 0, DataType.QSYMM_S16),
    ],
)
def test_one_scale(lite: Any, kind: str, zero: int, expected: DataType) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 3), scale=0.5, zero_point=zero))
    assert info_of(tensor) == TensorInfo((2, 3), expected, 0.5, zero)


@pytest.mark.parametrize(
    ("kind", "zero", "expected"),
    [
        ("int8", 0, DataType.QSYMM_S8),
        ("int8", 1, DataType.QASYMM_S8),
        ("uint8", 1, DataType.QASYMM_U8),
    ],
)
def test_scales_along_an_axis(lite: Any, kind: str, zero: int, expected: DataType) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 3), scale=[0.5, 1, 2], zero_point=zero, axis=1))
    assert info_of(tensor) == TensorInfo((2, 3), expected, (0.5, 1, 2), (zero,) * 3, 1)


def test_one_zero_point_holds_for_all_scales(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[0].quantization.zeroPoint = [4]

    tensor, _ = _read(lite, lite.Tensor("int8", (2,), scale=[0.5, 1]), edit)
    assert info_of(tensor).zero_points == (4, 4)


def test_biases_are_plain(lite: Any) -> None:
    tensor, _ = _read(lite, lite.Tensor("int32", (2,), scale=[0.5, 1]))
    assert info_of(tensor) == TensorInfo((2,), DataType.SIGNED32)


def test_int4_is_unpacked_and_sign_extended(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[0].type = 17
        model.buffers[1].data = [0x91, 0x7F, 0x08]

    tensor, buffers = _read(lite, lite.constant(np.zeros(5, np.int8), scale=0.5), edit)
    assert info_of(tensor) == TensorInfo((5,), DataType.QASYMM_S8, 0.5)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.tolist() == [1, -7, -1, 7, -8]


def test_any_byte_but_zero_is_true(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.buffers[1].data = [0, 7, 255]

    tensor, buffers = _read(lite, lite.constant(np.zeros(3, bool)), edit)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.tolist() == [False, True, True]


def test_a_tensor_of_no_elements_needs_no_data(lite: Any) -> None:
    tensor, buffers = _read(lite, lite.Tensor("int32", (2, 0)))
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.shape == (2, 0)


def test_a_tensor_without_data_has_none(lite: Any) -> None:
    tensor, buffers = _read(lite, lite.Tensor("int32", (2,)))
    assert to_array(tensor, buffers) is None


@pytest.mark.parametrize("shape", [(3,), (1,), (2**24, 2**20)])
def test_data_that_does_not_fit_is_refused(lite: Any, shape: tuple[int, ...]) -> None:
    tensor, buffers = _read(lite, lite.Tensor("float32", shape, np.zeros(2, np.float32)))
    with pytest.raises(ParseError, match=r"the tensor 't' has 8 bytes of data: expected \d+"):
        to_array(tensor, buffers)


@pytest.mark.parametrize(
    ("kind", "rest", "message"),
    [
        ("int8", {"scale": -1.0}, "'t': the scales of .* must be finite and above zero"),
        ("int8", {"scale": [1, 2, 3]}, "'t': the axis 0 of .* has 2 indices but 3 scales"),
        ("int8", {"scale": [1, 2], "axis": 9}, "'t': the quantisation axis 9 is not an axis"),
        ("int8", {"scale": 0.5, "zero_point": 2**40}, "'t': the zero points .* must fit 32 bits"),
    ],
)
def test_malformed_scales_are_refused(
    lite: Any, kind: str, rest: dict[str, Any], message: str
) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 2), **rest))
    with pytest.raises(ParseError, match=message):
        info_of(tensor)
