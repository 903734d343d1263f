# SPDX-License-Identifier: MIT
"""The integer arithmetic of quantized layers, by gemmlowp's definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armnn
from armnn.types import QuantizedArithmetic
from armnn_backend_ref.requantizing import (
    FixedPoint,
    fixed_point,
    integer_form,
    narrowly_rounded,
    once_rounded,
    twice_rounded,
)

NUMBERS = st.integers(-(2**30), 2**30)
SCALES = st.floats(1e-7, 4.0)
S8 = armnn.DataType.QASYMM_S8


def away(number: Fraction) -> int:
    """Round to the nearest integer, halves away from zero."""
    whole = math.floor(abs(number) + Fraction(1, 2))
    return -whole if number < 0 else whole


@given(SCALES)
def test_a_fixed_point_number_is_as_near_as_31_bits_can_be(number: float) -> None:
    by = fixed_point(number)
    value = Fraction(int(by.factor), 2**31) * Fraction(2) ** int(by.exponent)
    assert abs(value / Fraction(number) - 1) <= Fraction(1, 2**31)
    assert 2**30 <= by.factor < 2**31


def test_a_fraction_that_rounds_up_to_one_moves_the_exponent() -> None:
    by = fixed_point(np.nextafter(1.0, 0.0))
    assert (int(by.factor), int(by.exponent)) == (2**30, 1)


def test_a_number_beyond_the_smallest_shift_is_zero() -> None:
    by = fixed_point(2.0**-33)
    assert (int(by.factor), int(by.exponent)) == (0, 0)
    assert int(fixed_point(2.0**-32).factor) == 2**30


def upper_half(number: int, factor: int) -> int:
    """Compute gemmlowp's SaturatingRoundingDoublingHighMul, dividing as C does."""
    product = number * factor
    nudged = product + (2**30 if product >= 0 else 1 - 2**30)
    return int(math.copysign(abs(nudged) // 2**31, nudged))


@given(NUMBERS, SCALES)
def test_twice_rounded_is_the_upper_half_of_the_product_shifted(number: int, scale: float) -> None:
    by = fixed_point(scale)
    factor, exponent = int(by.factor), int(by.exponent)
    upper = upper_half(number * 2 ** max(exponent, 0), factor)
    expected = away(Fraction(upper, 2 ** max(-exponent, 0)))
    assert int(twice_rounded(np.array(number), by)) == expected


@given(NUMBERS, SCALES)
def test_once_rounded_rounds_the_whole_product(number: int, scale: float) -> None:
    by = fixed_point(scale)
    exact = Fraction(number * int(by.factor), 2**31) * Fraction(2) ** int(by.exponent)
    assert int(once_rounded(np.array(number), by)) == math.floor(exact + Fraction(1, 2))


@given(st.integers(-(2**44), 2**44), st.floats(1e-7, 0.5))
def test_narrowly_rounded_has_sixteen_bits_of_the_factor(number: int, scale: float) -> None:
    by = fixed_point(scale)
    narrow = min((int(by.factor) + 2**15) >> 16, 0x7FFF)
    exact = Fraction(number * narrow, 2**15) * Fraction(2) ** int(by.exponent)
    assert int(narrowly_rounded(np.array(number), by)) == math.floor(exact + Fraction(1, 2))


@pytest.mark.parametrize(
    ("number", "twice", "once"),
    [(3, 2, 2), (-3, -2, -1), (1, 1, 1), (-1, -1, 0), (0, 0, 0), (5, 3, 3), (-5, -3, -2)],
)
def test_halves(number: int, twice: int, once: int) -> None:
    half = FixedPoint(np.array(2**30), np.array(0))
    assert int(once_rounded(np.array(number), half)) == once
    quarter = FixedPoint(np.array(2**30), np.array(-1))
    assert int(twice_rounded(np.array(2 * number), quarter)) == twice


def run(
    network: armnn.Network,
    arithmetic: QuantizedArithmetic = QuantizedArithmetic.INTEGER,
    **feeds: object,
) -> np.ndarray:
    network.quantized_arithmetic = arithmetic
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        (result,) = loaded.run(feeds).values()
        return result


def test_averages_round_away_from_the_stored_zero() -> None:
    info = armnn.TensorInfo((1, 1, 2, 2), S8, 0.5, -4)
    network = armnn.Network()
    value = network.add_pooling2d(
        network.add_input("x", info),
        pool_type=armnn.types.PoolingAlgorithm.AVERAGE,
        pool_width=2,
        pool_height=1,
        stride_x=2,
        padding_method=armnn.types.PaddingMethod.EXCLUDE,
        data_layout=armnn.types.DataLayout.NHWC,
        output=armnn.TensorInfo(None, S8, 0.5, -4),
    )
    network.add_output("y", value)
    stored = np.array([[[[-2, 2], [-3, 3]]]], np.int8)
    # -2.5 and 2.5 as they are stored, without decoding.
    assert run(network, x=stored).reshape(-1).tolist() == [-3, 3]
    # In real numbers the halves are 1.5 and 6.5 steps from the zero point, and go away from it.
    real = run(network, QuantizedArithmetic.REAL, x=stored)
    assert real.reshape(-1).tolist() == [-2, 3]


def test_a_sum_beyond_32_bits_wraps_around() -> None:
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((1, 1), S8, 1.0, 0))
    weights = network.add_constant(np.array([[-1]], np.int8), armnn.TensorInfo((1, 1), S8, 1.0, 0))
    bias = network.add_constant(np.array([-(2**31)], np.int32))
    output = armnn.TensorInfo((1, 1), S8, 2.0**26, 0)
    network.add_output(
        "y",
        network.add_fully_connected(x, weights, bias, transpose_weight_matrix=True, output=output),
    )
    assert run(network, x=np.array([[1]], np.int8)).tolist() == [[32]]


def layer(kind: str, first: armnn.TensorInfo, output: armnn.TensorInfo) -> armnn.graph.Layer:
    network = armnn.Network()
    x = network.add_input("x", first)
    return network.add(kind, [x, x], outputs=[output])


@pytest.mark.parametrize(
    ("first", "output"),
    [
        (armnn.TensorInfo((2,), armnn.DataType.FLOAT32), armnn.TensorInfo((2,), S8, 1.0, 0)),
        (armnn.TensorInfo((2,), S8, (1.0, 2.0), (0, 0), 0), armnn.TensorInfo((2,), S8, 1.0, 0)),
        (
            armnn.TensorInfo((2,), S8, 1.0, 0),
            armnn.TensorInfo((2,), armnn.DataType.QASYMM_U8, 1.0, 0),
        ),
    ],
)
def test_what_has_no_integer_form_is_computed_in_real_numbers(
    first: armnn.TensorInfo, output: armnn.TensorInfo
) -> None:
    assert integer_form(layer("Addition", first, output)) is None


def test_arithmetic_of_one_type_has_an_integer_form() -> None:
    info = armnn.TensorInfo((2,), S8, 1.0, 0)
    assert integer_form(layer("Addition", info, info)) is not None
