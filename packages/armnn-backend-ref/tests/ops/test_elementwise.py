# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

import armnn
from armnn.layers.elementwise import (
    AdditionDescriptor,
    ComparisonDescriptor,
    DivisionDescriptor,
    ElementwiseBinaryDescriptor,
    ElementwiseUnaryDescriptor,
    FloorDescriptor,
    FusedDescriptor,
    IsInfDescriptor,
    IsNaNDescriptor,
    LogicalBinaryDescriptor,
    MaximumDescriptor,
    MinimumDescriptor,
    MultiplicationDescriptor,
    SubtractionDescriptor,
    WhereDescriptor,
)
from armnn.tensor import TensorInfo
from armnn.types import (
    BinaryOperation,
    ComparisonOperation,
    DataType,
    LogicalBinaryOperation,
    UnaryOperation,
)

NAN, INF = math.nan, math.inf

OWN_LAYERS = {
    BinaryOperation.ADD: AdditionDescriptor(),
    BinaryOperation.SUB: SubtractionDescriptor(),
    BinaryOperation.MUL: MultiplicationDescriptor(),
    BinaryOperation.DIV: DivisionDescriptor(),
    BinaryOperation.MAXIMUM: MaximumDescriptor(),
    BinaryOperation.MINIMUM: MinimumDescriptor(),
}


def binary(operation):
    return ElementwiseBinaryDescriptor(operation=operation)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (BinaryOperation.ADD, [5.0, -1.0, 3.5]),
        (BinaryOperation.SUB, [1.0, 5.0, 2.5]),
        (BinaryOperation.MUL, [6.0, -6.0, 1.5]),
        (BinaryOperation.DIV, [1.5, -2.0 / 3.0, 6.0]),
        (BinaryOperation.MAXIMUM, [3.0, 2.0, 3.0]),
        (BinaryOperation.MINIMUM, [2.0, -3.0, 0.5]),
        (BinaryOperation.SQ_DIFF, [1.0, 25.0, 6.25]),
        (BinaryOperation.POWER, [9.0, 0.125, 3**0.5]),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
def test_each_binary_operation_gives_its_value(compute, operation, expected):
    x, y = np.float32([3, 2, 3]), np.float32([2, -3, 0.5])
    result = compute(binary(operation), x, y)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=2e-7)


@pytest.mark.parametrize("operation", OWN_LAYERS, ids=lambda operation: operation.arm_name)
def test_a_layer_of_its_own_does_the_same_as_the_operation(compute, operation):
    rng = np.random.default_rng(3)
    x, y = rng.integers(-9, 9, (2, 4, 5), np.int32)
    np.testing.assert_array_equal(
        compute(OWN_LAYERS[operation], x, y), compute(binary(operation), x, y)
    )


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((), (2, 2)), ((1,), (0, 5)), ((2, 3), (2, 3))],
)
def test_operands_broadcast(compute, shapes):
    x, y = (np.arange(math.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
    result = compute(AdditionDescriptor(), x, y)
    assert result.shape == np.broadcast_shapes(*shapes)
    for place in np.ndindex(*result.shape):
        terms = [
            array[tuple(i % n for i, n in zip(place[-array.ndim :], array.shape, strict=True))]
            if array.ndim
            else array
            for array in (x, y)
        ]
        assert result[place] == terms[0] + terms[1]


def test_strided_operands_are_read_where_they_lie(compute):
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    result = compute(SubtractionDescriptor(), whole[::2, ::-2], whole.T[1:4, 2::-2].T)
    np.testing.assert_array_equal(result, [[5 - 13, 3 - 14, 1 - 15], [17 - 1, 15 - 2, 13 - 3]])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_integers_are_divided_as_c_does(compute, onnx_run, dtype):
    x = np.array([7, -7, 7, -7, 6, -6, 0, 1, -1], dtype)
    y = np.array([2, 2, -2, -2, 3, 3, -5, -9, 9], dtype)
    result = compute(DivisionDescriptor(), x, y)
    assert result.dtype == dtype
    assert result.tolist() == [3, -3, -3, 3, 2, -2, 0, 0, 0]
    if dtype != np.int8:
        np.testing.assert_array_equal(result, onnx_run("Div", x, y))


def test_integer_division_has_an_answer_for_zero_and_overflow(compute):
    lowest = np.iinfo(np.int32).min
    result = compute(DivisionDescriptor(), np.int32([5, -5, 0, lowest]), np.int32([0, 0, 0, -1]))
    assert result.tolist() == [0, 0, 0, lowest]


def test_unsigned_division_is_exact_to_the_last_bit(compute):
    result = compute(DivisionDescriptor(), np.uint64([2**64 - 1]), np.uint64([2]))
    assert result.tolist() == [2**63 - 1]


def test_long_integers_are_not_computed_through_floats(compute):
    x, y = np.int64([2**53 + 1]), np.int64([1])
    assert compute(MultiplicationDescriptor(), x, y).tolist() == [2**53 + 1]
    assert compute(DivisionDescriptor(), x, y).tolist() == [2**53 + 1]
    assert compute(MaximumDescriptor(), x, y).tolist() == [2**53 + 1]
    assert compute(binary(BinaryOperation.POWER), x, y).tolist() == [2**53 + 1]


def test_integers_wrap_around(compute):
    x = np.int8([127, -128, 100])
    assert compute(AdditionDescriptor(), x, np.int8([1, -1, 100])).tolist() == [-128, 127, -56]
    assert compute(MultiplicationDescriptor(), x, np.int8([2])).tolist() == [-2, 0, -56]


def test_integer_powers_are_truncated_toward_zero(compute):
    x = np.int32([2, 2, -1, -1, 1, 0, 0, -2])
    y = np.int32([10, -1, -3, -4, -7, 0, -1, -1])
    assert compute(binary(BinaryOperation.POWER), x, y).tolist() == [1024, 0, -1, 1, 1, 1, 0, 0]


def test_the_two_remainders_differ_in_their_sign(compute, onnx_run):
    for dtype in (np.int32, np.int64, np.float32):
        x, y = np.array([7, -7, 7, -7, 6], dtype), np.array([4, 4, -4, -4, 3], dtype)
        mod, fmod = (
            compute(binary(kind), x, y) for kind in (BinaryOperation.MOD, BinaryOperation.FMOD)
        )
        assert mod.dtype == fmod.dtype == dtype
        assert mod.tolist() == [3, 1, -1, -3, 0]
        assert fmod.tolist() == [3, -3, 3, -3, 0]
        np.testing.assert_array_equal(fmod, onnx_run("Mod", x, y, fmod=1))
        if dtype != np.float32:  # ONNX has no other remainder of floats
            np.testing.assert_array_equal(mod, onnx_run("Mod", x, y))


@pytest.mark.parametrize("operation", [BinaryOperation.MOD, BinaryOperation.FMOD])
def test_a_remainder_of_a_division_by_zero_has_an_answer(compute, operation):
    assert compute(binary(operation), np.int32([5, -5]), np.int32([0, 0])).tolist() == [0, 0]
    assert np.isnan(compute(binary(operation), np.float32([5]), np.float32([0]))).all()


def test_a_quotient_is_rounded_down(compute):
    x, y = np.int32([7, -7, 7, -7, 5]), np.int32([2, 2, -2, -2, 0])
    result = compute(binary(BinaryOperation.FLOOR_DIV), x, y)
    assert result.dtype == np.int32
    assert result.tolist() == [3, -4, -4, 3, 0]
    # 1 / 0.1 is 10 when rounded to a double, although 0.1 is stored as slightly more.
    result = compute(binary(BinaryOperation.FLOOR_DIV), np.float64([1, -1]), np.float64([0.1, 0.3]))
    assert result.tolist() == [10, -4]


@pytest.mark.parametrize(
    ("operation", "op", "expected"),
    [
        (BinaryOperation.BITWISE_AND, "BitwiseAnd", [0b1000, 5, 0]),
        (BinaryOperation.BITWISE_OR, "BitwiseOr", [0b1110, -1, 2**62 + 1]),
        (BinaryOperation.BITWISE_XOR, "BitwiseXor", [0b0110, -6, 2**62 + 1]),
    ],
)
def test_bits_of_integers_are_combined(compute, onnx_run, operation, op, expected):
    x, y = np.int64([0b1100, -1, 2**62]), np.int64([0b1010, 5, 1])
    result = compute(binary(operation), x, y)
    assert result.tolist() == expected
    np.testing.assert_array_equal(result, onnx_run(op, x, y))


def test_shifts_move_bits_and_keep_the_sign(compute, onnx_run):
    x, y = np.uint8([0b10110001, 1, 255]), np.uint8([2, 7, 0])
    left = compute(binary(BinaryOperation.SHIFT_LEFT), x, y)
    right = compute(binary(BinaryOperation.SHIFT_RIGHT), x, y)
    np.testing.assert_array_equal(left, onnx_run("BitShift", x, y, direction="LEFT"))
    np.testing.assert_array_equal(right, onnx_run("BitShift", x, y, direction="RIGHT"))
    signed = compute(binary(BinaryOperation.SHIFT_RIGHT), np.int32([-7, 7]), np.int32([1, 1]))
    assert signed.tolist() == [-4, 3]


def test_a_shift_by_the_width_leaves_the_sign(compute):
    x, y = np.int8([-1, 1, 127]), np.int8([8, 9, 100])
    assert compute(binary(BinaryOperation.SHIFT_RIGHT), x, y).tolist() == [-1, 0, 0]
    assert compute(binary(BinaryOperation.SHIFT_LEFT), x, y).tolist() == [0, 0, 0]


def test_floating_point_follows_ieee_754(compute):
    x, y = np.float32([1, -1, 0, INF, NAN]), np.float32([0, 0, 0, INF, 1])
    divided = compute(DivisionDescriptor(), x, y)
    np.testing.assert_array_equal(divided, np.float32([INF, -INF, NAN, NAN, NAN]))
    power = compute(
        binary(BinaryOperation.POWER), np.float32([-8, 0, 2]), np.float32([0.5, -1, 999])
    )
    np.testing.assert_array_equal(power, np.float32([NAN, INF, INF]))
    root = compute(ElementwiseUnaryDescriptor(operation=UnaryOperation.LOG), np.float32([-1, 0]))
    np.testing.assert_array_equal(root, np.float32([NAN, -INF]))


@pytest.mark.parametrize("descriptor", [MaximumDescriptor(), MinimumDescriptor()])
def test_extremes_propagate_nan_from_either_side(compute, descriptor):
    result = compute(descriptor, np.float32([NAN, 1.0]), np.float32([1.0, NAN]))
    assert np.isnan(result).all()


@pytest.mark.parametrize(
    ("operation", "values", "expected"),
    [
        (UnaryOperation.ABS, [-1.5, 2.0], [1.5, 2.0]),
        (UnaryOperation.EXP, [0.0, 1.0], [1.0, math.e]),
        (UnaryOperation.SQRT, [4.0, 2.0], [2.0, math.sqrt(2)]),
        (UnaryOperation.RSQRT, [4.0, 0.0], [0.5, INF]),
        (UnaryOperation.NEG, [-1.5, 2.0], [1.5, -2.0]),
        (UnaryOperation.LOG, [1.0, 10.0], [0.0, math.log(10)]),
        (UnaryOperation.SIN, [0.5, -30.0], [math.sin(0.5), math.sin(-30)]),
        (UnaryOperation.CEIL, [-1.5, 1.2], [-1.0, 2.0]),
        (UnaryOperation.ERF, [0.5, -2.0], [math.erf(0.5), math.erf(-2)]),
        (UnaryOperation.ROUND, [2.5, -3.5, -0.4], [2.0, -4.0, 0.0]),
        (UnaryOperation.SIGN, [-3.5, 0.0, INF], [-1.0, 0.0, 1.0]),
        (UnaryOperation.COS, [0.5, -30.0], [math.cos(0.5), math.cos(-30)]),
        (UnaryOperation.TAN, [0.5, -30.0], [math.tan(0.5), math.tan(-30)]),
        (UnaryOperation.ASIN, [0.5, 2.0], [math.asin(0.5), NAN]),
        (UnaryOperation.ACOS, [0.5, -1.0], [math.acos(0.5), math.pi]),
        (UnaryOperation.ATAN, [0.5, -INF], [math.atan(0.5), -math.pi / 2]),
        (UnaryOperation.SINH, [0.5, -3.0], [math.sinh(0.5), math.sinh(-3)]),
        (UnaryOperation.COSH, [0.5, -3.0], [math.cosh(0.5), math.cosh(-3)]),
        (UnaryOperation.ASINH, [0.5, -3.0], [math.asinh(0.5), math.asinh(-3)]),
        (UnaryOperation.ACOSH, [1.5, 0.5], [math.acosh(1.5), NAN]),
        (UnaryOperation.ATANH, [0.5, -1.0], [math.atanh(0.5), -INF]),
        (UnaryOperation.RECIPROCAL, [4.0, 0.0], [0.25, INF]),
    ],
    ids=lambda value: getattr(value, "arm_name", ""),
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-7), (np.float64, 1e-15)])
def test_each_unary_operation_gives_its_value(
    compute, operation, values, expected, dtype, tolerance
):
    result = compute(ElementwiseUnaryDescriptor(operation=operation), np.array(values, dtype))
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, rtol=tolerance)


@pytest.mark.parametrize(
    "operation",
    [
        op
        for op in UnaryOperation
        if op not in (UnaryOperation.LOGICAL_NOT, UnaryOperation.BITWISE_NOT)
    ],
)
def test_unary_operations_pass_nan(compute, operation):
    result = compute(ElementwiseUnaryDescriptor(operation=operation), np.float32([NAN]))
    assert np.isnan(result).all()


def test_unary_operations_keep_integers_where_they_mean_something(compute):
    x = np.int64([-(2**62) - 1, 3])
    for operation, expected in {
        UnaryOperation.ABS: [2**62 + 1, 3],
        UnaryOperation.NEG: [2**62 + 1, -3],
        UnaryOperation.CEIL: x.tolist(),
        UnaryOperation.ROUND: x.tolist(),
        UnaryOperation.SIGN: [-1, 1],
        UnaryOperation.BITWISE_NOT: [2**62, -4],
    }.items():
        result = compute(ElementwiseUnaryDescriptor(operation=operation), x)
        assert result.dtype == np.int64
        assert result.tolist() == expected


@pytest.mark.parametrize(
    ("operation", "given", "expected"),
    [
        (UnaryOperation.EXP, [-1, 0, 5, 100], [0, 1, 148, 2**31 - 1]),
        (UnaryOperation.SQRT, [0, 8, 9, -1], [0, 2, 3, 0]),
        (UnaryOperation.RSQRT, [1, 2, 0, -1], [1, 0, 2**31 - 1, 0]),
        (UnaryOperation.LOG, [1, 100, 0, -1], [0, 4, -(2**31), 0]),
        (UnaryOperation.SIN, [0, 2, -2, 11], [0, 0, 0, 0]),
        (UnaryOperation.TAN, [0, 2, 11, -11], [0, -2, -225, 225]),
    ],
)
def test_functions_of_integers_are_cut_off_and_saturate(compute, operation, given, expected):
    y = compute(ElementwiseUnaryDescriptor(operation=operation), np.int32(given))
    assert y.dtype == np.int32
    assert y.tolist() == expected


def test_the_most_negative_integer_has_itself_as_its_absolute_value(compute):
    result = compute(ElementwiseUnaryDescriptor(operation=UnaryOperation.ABS), np.int8([-128]))
    assert result.tolist() == [-128]


def test_logical_not_inverts(compute):
    result = compute(
        ElementwiseUnaryDescriptor(operation=UnaryOperation.LOGICAL_NOT), np.array([True, False])
    )
    assert result.tolist() == [False, True]


def test_floor_rounds_down_and_leaves_integers(compute):
    result = compute(FloorDescriptor(), np.float32([-1.5, -0.0, 1.9, INF, NAN]))
    np.testing.assert_array_equal(result, np.float32([-2, 0, 1, INF, NAN]))
    assert compute(FloorDescriptor(), np.int64([2**60 + 1])).tolist() == [2**60 + 1]


COMPARED = {
    # of 1 and 2, 2 and 2, 3 and 2, NaN and 2, NaN and NaN
    ComparisonOperation.EQUAL: [False, True, False, False, False],
    ComparisonOperation.GREATER: [False, False, True, False, False],
    ComparisonOperation.GREATER_OR_EQUAL: [False, True, True, False, False],
    ComparisonOperation.LESS: [True, False, False, False, False],
    ComparisonOperation.LESS_OR_EQUAL: [True, True, False, False, False],
    ComparisonOperation.NOT_EQUAL: [True, False, True, True, True],
}


@pytest.mark.parametrize("operation", ComparisonOperation, ids=lambda operation: operation.arm_name)
def test_each_comparison_answers_also_for_nan(compute, operation):
    x, y = np.float32([1, 2, 3, NAN, NAN]), np.float32([2, 2, 2, 2, NAN])
    result = compute(ComparisonDescriptor(operation=operation), x, y)
    assert result.dtype == np.bool_
    assert result.tolist() == COMPARED[operation]


def test_long_integers_are_compared_exactly(compute):
    x = np.int64([2**53, 2**53 + 1])
    result = compute(ComparisonDescriptor(operation=ComparisonOperation.LESS), x, x[::-1])
    assert result.tolist() == [True, False]


def test_booleans_are_compared(compute):
    x, y = np.array([True, False]), np.array([True, True])
    result = compute(ComparisonDescriptor(operation=ComparisonOperation.EQUAL), x, y)
    assert result.tolist() == [True, False]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (LogicalBinaryOperation.LOGICAL_AND, [[True, False], [False, False]]),
        (LogicalBinaryOperation.LOGICAL_OR, [[True, True], [True, False]]),
        (LogicalBinaryOperation.LOGICAL_XOR, [[False, True], [True, False]]),
    ],
)
def test_truth_values_are_combined_and_broadcast(compute, operation, expected):
    x = np.array([True, False])
    result = compute(LogicalBinaryDescriptor(operation=operation), x[:, None], x)
    assert result.dtype == np.bool_
    assert result.tolist() == expected


def test_add_mul_add_has_its_sum_as_first_output(compute):
    inputs = [np.float32(values) for values in ([1, 2], [3, 4], [10, 100], [0.5, 0.25])]
    total, result = compute(FusedDescriptor(), *inputs)
    assert total.tolist() == [4.0, 6.0]
    assert result.tolist() == [40.5, 600.25]


def test_add_mul_add_with_one_output_gives_the_result(compute):
    inputs = [np.float32([value]) for value in (1, 2, 3, 4)]
    (result,) = compute(FusedDescriptor(num_output_slots=1), *inputs)
    assert result.tolist() == [13.0]


def test_where_chooses_and_broadcasts(compute, onnx_run):
    condition = np.array([[True], [False]])
    x, y = np.int64([1, 2**60 + 1]), np.int64([[7], [8]])
    result = compute(WhereDescriptor(), condition, x, y)
    assert result.tolist() == [[1, 2**60 + 1], [8, 8]]
    np.testing.assert_array_equal(result, onnx_run("Where", condition, x, y))


def test_quantized_operands_of_different_scales_are_added_and_saturate(run_layer):
    x = (np.uint8([0, 100, 255]), TensorInfo((3,), DataType.QASYMM_U8, 0.5, 100))
    y = (np.uint8([1, 7, 255]), TensorInfo((3,), DataType.QASYMM_U8, 0.25, 3))
    result = TensorInfo((3,), DataType.QASYMM_U8, 0.5, 100)
    (total,) = run_layer("Addition", [x, y], outputs=[result])
    # -50 - 0.5, 0 + 1, 77.5 + 63
    assert total.tolist() == [0, 102, 255]


def test_quantized_operands_are_compared_by_their_real_values(run_layer):
    x = (np.int8([4, 4]), TensorInfo((2,), DataType.QASYMM_S8, 0.5, 0))
    y = (np.int8([8, 9]), TensorInfo((2,), DataType.QASYMM_S8, 0.25, 0))
    equal = ComparisonDescriptor(operation=ComparisonOperation.EQUAL)
    (result,) = run_layer("Comparison", [x, y], equal)
    assert result.tolist() == [True, False]


def test_where_stores_both_operands_in_the_scale_of_the_result(run_layer):
    fine, coarse = (TensorInfo((2,), DataType.QASYMM_S8, scale, 0) for scale in (0.25, 0.5))
    operands = [np.array([True, False]), (np.int8([8, 8]), fine), (np.int8([3, 3]), coarse)]
    (result,) = run_layer("Where", operands, outputs=[coarse])
    assert result.tolist() == [4, 3]


def test_halves_of_a_sum_are_added_in_single_precision(run_layer):
    x = np.float16([2048, 1, 65504])
    (total,) = run_layer("Addition", [x, np.float16([1, 2**-12, 65504])])
    np.testing.assert_array_equal(total, np.float16([2048, 1, INF]))


def test_a_network_of_quantized_and_integer_layers_gives_exact_results():
    network = armnn.Network("count")
    x = network.add_input("x", TensorInfo((2, 3), DataType.QASYMM_S8, 0.25, -1))
    limit = network.add_input("limit", TensorInfo((1,), DataType.QASYMM_S8, 0.5, 0))
    above = network.add_comparison(x, limit, operation=ComparisonOperation.GREATER)
    ones = network.add_cast(above, output=DataType.SIGNED32)
    network.add_output("count", network.add_reduce(ones, axis=(1,)))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        feeds = {"x": np.int8([[3, 4, -128], [3, 3, 3]]), "limit": np.int8([2])}  # 1, 1.25, ...
        assert loaded.run(feeds)["count"].tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_finite_is_found(compute, dtype):
    x = np.array([[NAN, INF], [-INF, 0]], dtype)
    assert compute(IsNaNDescriptor(), x).tolist() == [[True, False], [False, False]]
    assert compute(IsInfDescriptor(), x).tolist() == [[False, True], [True, False]]
    positive, negative = (
        IsInfDescriptor(detect_negative=False),
        IsInfDescriptor(detect_positive=False),
    )
    assert compute(positive, x).tolist() == [[False, True], [False, False]]
    assert compute(negative, x).tolist() == [[False, False], [True, False]]


def test_halves_that_are_not_finite_are_found(run_layer):
    x = np.array([NAN, INF, -INF, 1], DataType.BFLOAT16.numpy_dtype)
    (found,) = run_layer("IsNaN", [x])
    assert found.tolist() == [True, False, False, False]
    (found,) = run_layer("IsInf", [x])
    assert found.tolist() == [False, True, True, False]
