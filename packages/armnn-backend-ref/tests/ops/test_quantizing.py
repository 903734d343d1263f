# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from armnn.layers.quantizing import (
    CastDescriptor,
    DequantizeBlocksDescriptor,
    DynamicQuantizeDescriptor,
    FakeQuantizationDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.ops import OPS
from armnn_backend_ref.ops.quantizing import to_type

NAN, INF = math.nan, math.inf


@pytest.fixture
def cast(compute):
    def run(x, data_type):
        y = compute(CastDescriptor(), x, outputs=(TensorInfo(x.shape, data_type),))
        assert y.dtype == data_type.numpy_dtype
        assert y.shape == x.shape
        return y.tolist()

    return run


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fractions_are_cut_off(cast, dtype):
    x = np.array([1.9, -1.9, 0.5, -0.5, 254.9], dtype)
    assert cast(x, DataType.SIGNED32) == [1, -1, 0, 0, 254]
    assert cast(x, DataType.UNSIGNED8) == [1, 0, 0, 0, 254]


@pytest.mark.parametrize(
    ("data_type", "lowest", "highest"),
    [
        (DataType.SIGNED8, -128, 127),
        (DataType.UNSIGNED8, 0, 255),
        (DataType.SIGNED16, -(2**15), 2**15 - 1),
        (DataType.SIGNED32, -(2**31), 2**31 - 1),
        (DataType.UNSIGNED32, 0, 2**32 - 1),
        (DataType.SIGNED64, -(2**63), 2**63 - 1),
        (DataType.UNSIGNED64, 0, 2**64 - 1),
        (DataType.INT4, -8, 7),
        (DataType.UINT4, 0, 15),
        (DataType.INT2, -2, 1),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_does_not_fit_saturates_and_nan_becomes_zero(cast, data_type, lowest, highest, dtype):
    x = np.array([-INF, -1e30, NAN, 1, 2.0**64, 1e30, INF], dtype)
    assert cast(x, data_type) == [lowest, lowest, 0, 1, highest, highest, highest]


def test_the_values_next_to_the_limits_are_exact(cast):
    below = float(np.nextafter(2.0**63, 0))
    assert cast(np.float64([below, 2.0**63, -(2.0**63)]), DataType.SIGNED64) == [
        int(below),
        2**63 - 1,
        -(2**63),
    ]
    assert cast(np.float32([2**31 - 128, 2**31]), DataType.SIGNED32) == [2**31 - 128, 2**31 - 1]
    assert cast(np.float32([127.5, 128.5, -128.5]), DataType.SIGNED8) == [127, 127, -128]


def test_an_empty_tensor_and_a_scalar_are_cast(cast):
    assert cast(np.zeros((0, 2), np.float32), DataType.SIGNED8) == []
    assert cast(np.array(1e9, np.float32), DataType.SIGNED8) == 127


def test_integers_keep_their_lower_bits(cast):
    x = np.int64([2**32 + 5, -1, 300])
    assert cast(x, DataType.SIGNED32) == [5, -1, 300]
    assert cast(x, DataType.UNSIGNED8) == [5, 255, 44]
    assert cast(np.int32([17, -1]), DataType.INT4) == [1, -1]


def test_anything_but_zero_is_true(cast):
    assert cast(np.float32([0, -0.0, 0.1, NAN, INF]), DataType.BOOLEAN) == [0, 0, 1, 1, 1]
    assert cast(np.int64([0, 2**32]), DataType.BOOLEAN) == [False, True]


def test_truth_becomes_one(cast):
    for data_type in (DataType.FLOAT32, DataType.SIGNED64, DataType.FLOAT8_E4M3FN):
        assert cast(np.array([True, False]), data_type) == [1, 0]


def test_floating_point_is_rounded_to_the_nearest(cast):
    x = np.float64([1 + 2**-25, 1 + 2**-24 + 2**-40, 1e300])
    assert cast(x, DataType.FLOAT32) == [1.0, 1 + 2**-23, INF]
    assert cast(np.float32([1 + 2**-9]), DataType.BFLOAT16) == [1.0]
    assert cast(np.float32([65504, 65536]), DataType.FLOAT16) == [65504.0, INF]
    assert cast(np.int64([2**53 + 1]), DataType.FLOAT64) == [2.0**53]


def test_eight_bit_floats_round_and_overflow_as_their_format_says(cast):
    x = np.float32([0.3, 448, 1e6])
    fn, finite_max = cast(x, DataType.FLOAT8_E4M3FN)[:2], cast(x, DataType.FLOAT8_E4M3FN)[2]
    assert fn == [0.3125, 448.0]
    assert math.isnan(finite_max)  # the format has no infinity
    assert cast(x, DataType.FLOAT8_E5M2) == [0.3125, 448.0, INF]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.array([-8, 7], ml_dtypes.int4), [-8, 7]),
        (np.array([0, 15], ml_dtypes.uint4), [0, 15]),
        (np.array([-2, 1], ml_dtypes.int2), [-2, 1]),
        (np.array([1.5, -448], ml_dtypes.float8_e4m3fn), [1.5, -448]),
        (np.array([0.5, 6], ml_dtypes.float4_e2m1fn), [0.5, 6]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_types_that_are_only_stored_are_read(cast, stored, expected):
    assert cast(stored, DataType.FLOAT32) == expected
    assert cast(stored, DataType.SIGNED32) == [int(value) for value in expected]


def test_sub_byte_integers_reach_other_sub_byte_types(cast):
    assert cast(np.array([15, 3], ml_dtypes.uint4), DataType.INT4) == [-1, 3]
    assert cast(np.array([-8.0, 0.5], ml_dtypes.float8_e5m2), DataType.INT4) == [-8, 0]


def test_a_cast_to_a_quantized_type_leaves_the_real_values_to_be_stored(compute):
    info = TensorInfo((2,), DataType.QASYMM_S8, 0.5, 3)
    y = compute(CastDescriptor(), np.array([-8, 7], ml_dtypes.int4), outputs=(info,))
    assert y.tolist() == [-8, 7]


def test_fake_quantization_gives_the_steps_of_arm_nn(compute):
    # Arm NN: QuantizeData with min -10 and max 10, offset 127.
    x = np.float32([-10, -5, 0, 5, 10, 10, 50, -50])
    y = compute(FakeQuantizationDescriptor(min=-10.0, max=10.0), x)
    assert y.tolist() == [0, 63, 127, 191, 254, 254, 255, 0]


def test_fake_quantization_takes_nan_for_zero(compute):
    y = compute(FakeQuantizationDescriptor(min=-10.0, max=10.0), np.float32([NAN, INF, -INF]))
    assert y.tolist() == [127, 255, 0]


def test_quantize_rounds_halves_away_from_zero_and_saturates(run_layer):
    info = TensorInfo((7,), DataType.QASYMM_U8, 0.5, 10)
    x = np.float32([0.25, -0.25, 0.2, 1e9, -INF, NAN, 122.5])
    assert run_layer("Quantize", [x], outputs=[info])[0].tolist() == [11, 9, 10, 255, 0, 10, 255]


def test_quantize_gives_quantized_values_another_scale(run_layer):
    x = (np.int8([-10, 10]), TensorInfo((2,), DataType.QASYMM_S8, 0.5, 0))
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.25, 50)
    assert run_layer("Quantize", [x], outputs=[info])[0].tolist() == [30, 70]


@pytest.mark.parametrize("axis", [0, 1])
def test_each_index_of_the_axis_has_its_own_scale(run_layer, axis):
    info = TensorInfo((2, 2), DataType.QSYMM_S8, (0.5, 2.0), axis=axis)
    x = np.float32([[4, 8], [-4, 2]])
    (stored,) = run_layer("Quantize", [x], outputs=[info])
    assert stored.tolist() == [[[8, 16], [-2, 1]], [[8, 4], [-8, 1]]][axis]
    (real,) = run_layer("Dequantize", [(stored, info)])
    assert real.tolist() == x.tolist()


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT64])
def test_dequantize_gives_real_values(run_layer, data_type):
    x = (np.uint8([0, 10, 255]), TensorInfo((3,), DataType.QASYMM_U8, 0.5, 10))
    (y,) = run_layer("Dequantize", [x], outputs=[data_type])
    assert y.dtype == data_type.numpy_dtype
    assert y.tolist() == [-5.0, 0.0, 122.5]


def test_dequantize_to_float64_rounds_nothing(run_layer):
    x = (np.int16([32767, -32768]), TensorInfo((2,), DataType.QSYMM_S16, 0.1))
    (y,) = run_layer("Dequantize", [x], outputs=[DataType.FLOAT64])
    assert y.tolist() == [32767 * 0.1, -32768 * 0.1]


def test_dequantize_widens_half_precision(run_layer):
    (y,) = run_layer("Dequantize", [np.float16([0.1, -INF])], outputs=[DataType.FLOAT32])
    assert y.dtype == np.float32
    assert y.tolist() == [float(np.float16(0.1)), -INF]


def test_half_precision_is_widened_exactly_and_narrowed_to_the_nearest(run_layer):
    x = np.float16([0.1, 65504, INF, NAN])
    (wide,) = run_layer("ConvertFp16ToFp32", [x])
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    (narrow,) = run_layer("ConvertFp32ToFp16", [np.float32([0.1, 65519, 65520, NAN])])
    np.testing.assert_array_equal(narrow, np.float16([0.1, 65504, INF, NAN]))


def test_a_cast_reads_and_stores_quantized_values(run_layer):
    steps = TensorInfo((3,), DataType.QASYMM_U8, 0.5, 10)
    (whole,) = run_layer("Cast", [(np.uint8([0, 13, 9]), steps)], outputs=[DataType.SIGNED32])
    assert whole.tolist() == [-5, 1, 0]
    (stored,) = run_layer("Cast", [np.int64([-9, 3, 999])], outputs=[steps])
    assert stored.tolist() == [0, 16, 255]


def test_a_cast_reaches_types_that_are_only_stored(run_layer):
    (y,) = run_layer("Cast", [np.float32([-9.5, 3.7])], outputs=[DataType.INT4])
    assert y.astype(np.int8).tolist() == [-8, 3]
    (back,) = run_layer("Cast", [y], outputs=[DataType.FLOAT16])
    assert back.tolist() == [-8, 3]


def test_a_type_with_a_byte_order_of_its_own_is_still_numpy_s_own() -> None:
    values = np.array([200, 255], np.dtype(np.uint8).newbyteorder("<"))
    info = TensorInfo((2,), DataType.FLOAT32)
    assert OPS["Cast"].function(CastDescriptor(), (info,), values).tolist() == [200, 255]


@pytest.mark.parametrize(
    "values",
    [
        [-1.5, 0.25, 3.0, 2.999],
        [0.5, 2.0, 7.0],
        [-7.0, -2.0],
        [1e-3, 5e-7, -1e-3],
        [255.0, 0.5, 1.5, 2.5],
    ],
)
def test_dynamic_steps_agree_with_onnxruntime(compute, onnx_run, values):
    x = np.float32(values)
    expected = onnx_run("DynamicQuantizeLinear", x, outputs=3)
    for result, wanted in zip(compute(DynamicQuantizeDescriptor(), x), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 2)])
def test_zeros_have_a_step_of_one(compute, shape):
    steps, scale, zero = compute(DynamicQuantizeDescriptor(), np.zeros(shape, np.float32))
    assert steps.shape == shape
    assert not steps.any()
    assert (scale.tolist(), zero.tolist()) == (1, 0)


@pytest.mark.parametrize(
    ("data_type", "largest"),
    [
        (DataType.FLOAT8_E4M3FN, 448),
        (DataType.FLOAT8_E4M3FNUZ, 240),
        (DataType.FLOAT8_E5M2, 57344),
        (DataType.FLOAT8_E5M2FNUZ, 57344),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
def test_what_an_eight_bit_float_cannot_hold_saturates_if_asked(run_layer, data_type, largest):
    x = np.float32([1e6, -np.inf, 1.5, np.nan])
    saturated, lost = (
        run_layer("Cast", [x], CastDescriptor(saturate=saturate), outputs=[data_type])[0]
        for saturate in (True, False)
    )
    np.testing.assert_array_equal(
        saturated.astype(np.float32), np.float32([largest, -largest, 1.5, np.nan])
    )
    assert not np.isfinite(lost[:2].astype(np.float32)).any()


def test_bits_stay_when_their_type_changes(run_layer):
    x = np.float32([[1.0, -0.0], [np.nan, 2.0**-149]])
    (bits,) = run_layer("BitCast", [x.T], outputs=[DataType.UNSIGNED32])
    assert bits.tolist() == [[0x3F800000, 0x7FC00000], [0x80000000, 1]]
    halves = np.arange(2**16, dtype=np.uint16)
    (numbers,) = run_layer("BitCast", [halves], outputs=[DataType.BFLOAT16])
    (again,) = run_layer("BitCast", [numbers], outputs=[DataType.SIGNED16])
    np.testing.assert_array_equal(again.view(np.uint16), halves)


def test_reals_saturate_and_are_cut_to_integers() -> None:
    made = to_type(np.array([300.5, -1.5, 2.5]), np.dtype(np.uint8))
    assert made.tolist() == [255, 0, 2]
    assert made.dtype == np.uint8


def test_numbers_of_few_bits_begin_in_the_low_bits_of_a_byte(compute):
    data = np.uint8([[0x21, 0x43, 0xF5]])
    scales = np.float32([[2, 10]])
    d = DequantizeBlocksDescriptor(bits=4, block_size=4, size=6)
    # 1 2 3 4 and 5 15 less 8, the zero point of 4 bits
    assert compute(d, data, scales, None).tolist() == [[-14, -12, -10, -8, -30, 70]]
    points = np.uint8([[0x51]])  # 1 of the first block, 5 of the second
    assert compute(d, data, scales, points).tolist() == [[0, 2, 4, 6, 0, 100]]
    real = np.float32([[0.5, 4.5]])
    assert compute(d, data, scales, real).tolist() == [[1, 3, 5, 7, 5, 105]]
    odd = DequantizeBlocksDescriptor(bits=4, block_size=4, size=5)
    assert compute(odd, data, scales, real).tolist() == [[1, 3, 5, 7, 5]]


@pytest.mark.parametrize(("bits", "expected"), [(2, [1, 0, -1, -2]), (8, [25 - 128])])
def test_other_numbers_of_bits(compute, bits, expected):
    # 0x1B is 3, 2, 1, 0; the zero points are 2 and 128
    d = DequantizeBlocksDescriptor(bits=bits, block_size=16, size=len(expected))
    y = compute(d, np.uint8([0x1B if bits == 2 else 25]), np.float32([1]), None)
    assert y.tolist() == expected
