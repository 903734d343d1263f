# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType

QUANTIZED = TensorInfo(("n", 3), DataType.QASYMM_U8, 0.5, 7)


def test_quantized_values_get_the_scale_that_was_said(infer):
    assert infer("Quantize", [("n", 3)], [QUANTIZED]) == (QUANTIZED,)


def test_values_are_quantized_to_8_bits_by_default(infer):
    assert infer("Quantize", [(2,)]) == (TensorInfo((2,), DataType.QASYMM_U8),)


def test_values_cannot_be_quantized_to_a_plain_type(infer):
    with pytest.raises(ShapeError, match="cannot be Float32: expected one of QAsymmU8, QAsymmS8"):
        infer("Quantize", [(2,)], [DataType.FLOAT32])


def test_real_values_have_no_scale(infer):
    assert infer("Dequantize", [QUANTIZED]) == (TensorInfo(("n", 3)),)
    assert infer("Dequantize", [QUANTIZED], [DataType.FLOAT16])[0].data_type is DataType.FLOAT16


def test_a_cast_makes_what_was_asked_for(infer):
    (info,) = infer("Cast", [(0, "n")], [DataType.SIGNED64])
    assert info == TensorInfo((0, "n"), DataType.SIGNED64)


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("ConvertFp16ToFp32", DataType.FLOAT16, DataType.FLOAT32),
        ("ConvertFp32ToFp16", DataType.FLOAT32, DataType.FLOAT16),
    ],
)
def test_conversions_change_the_type(infer, name, given, made):
    assert infer(name, [TensorInfo((), given)]) == (TensorInfo((), made),)


def test_fake_quantization_changes_no_type(infer):
    assert infer("FakeQuantization", [("n",)]) == (TensorInfo(("n",)),)


def test_rows_of_few_bits_have_as_many_numbers_as_the_layer_says(infer):
    data = TensorInfo(("n", 3, 11), DataType.UNSIGNED8)
    (info,) = infer("DequantizeBlocks", [data, ("n", 3, 2)], size=21, block_size=16)
    assert info == TensorInfo(("n", 3, 21))
    with pytest.raises(ShapeError, match="'input' has 11 bytes in a row: expected 12 to 16 for 23"):
        infer("DequantizeBlocks", [data, ("n", 3, 2)], size=23, block_size=16)
