# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import EXACT, Tolerance
from armnn_conformance.comparison import difference

FLOAT = TensorInfo((2,), DataType.FLOAT32)
CLOSE = Tolerance("float32", rtol=1e-3, atol=1e-4)


def floats(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ((1000.9, 0.0), (1000.0, 0.0)),
        ((0.00009, 1.0), (0.0, 1.0)),
        ((np.nan, np.inf), (np.nan, np.inf)),
        ((-np.inf, 3e38), (-np.inf, 3e38)),
    ],
)
def test_floats_within_the_tolerance_are_equal(
    got: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert difference(floats(*got), FLOAT, np.array(expected), CLOSE) == ""


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ((1002.0, 0.0), (1000.0, 0.0)),
        ((0.0002, 1.0), (0.0, 1.0)),
        ((np.nan, 0.0), (0.0, 0.0)),
        ((0.0, 0.0), (np.nan, 0.0)),
        ((np.inf, 0.0), (-np.inf, 0.0)),
        ((3e38, 0.0), (np.inf, 0.0)),
        ((np.inf, 0.0), (3e38, 0.0)),
    ],
)
def test_floats_outside_of_it_are_not(got: tuple[float, ...], expected: tuple[float, ...]) -> None:
    problem = difference(floats(*got), FLOAT, np.array(expected), CLOSE)
    assert problem.startswith("1 of 2 elements differ, the first at [0]: got")


def test_what_float16_cannot_hold_is_expected_to_be_infinite() -> None:
    info = TensorInfo((1,), DataType.FLOAT16)
    assert difference(np.array([np.inf], np.float16), info, np.array([1e6]), CLOSE) == ""
    assert difference(np.array([65504], np.float16), info, np.array([1e6]), CLOSE) != ""


def test_exact_floats_are_what_the_type_can_hold() -> None:
    assert difference(floats(0.1, 1), FLOAT, np.array([0.1, 1]), EXACT) == ""
    assert difference(np.nextafter(floats(0.1, 1), 1), FLOAT, np.array([0.1, 1]), EXACT) != ""


def test_quantized_values_are_compared_in_steps() -> None:
    info = TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10)
    expected = np.array([1.0, 500.0])  # stored as 12 and, saturated, 255
    stored = np.array([13, 254], np.uint8)
    assert difference(stored, info, expected, Tolerance("rounding", steps=1)) == ""
    problem = difference(stored, info, expected, EXACT)
    assert problem == "2 of 2 elements differ, the first at [0]: got 13, expected 12 within 0 steps"


def test_the_difference_of_small_integers_does_not_wrap() -> None:
    info = TensorInfo((1,), DataType.QASYMM_U8, 1.0, 0)
    one_step = Tolerance("rounding", steps=1)
    assert difference(np.array([255], np.uint8), info, np.array([0.0]), one_step) != ""


def test_integers_and_booleans_are_compared_exactly_whatever_the_tolerance() -> None:
    lax = Tolerance("no reason", rtol=1, atol=100, steps=100)
    large = TensorInfo((1,), DataType.SIGNED64)
    got, expected = np.array([2**60 + 1]), np.array([2**60])
    assert difference(got, large, expected, lax).endswith("expected 1152921504606846976 exactly")
    truth = TensorInfo((2,), DataType.BOOLEAN)
    assert difference(np.array([True, False]), truth, np.array([True, True]), lax) != ""
    assert difference(np.array([True, True]), truth, np.array([True, True]), lax) == ""


def test_another_shape_or_type_is_a_difference() -> None:
    assert difference(floats(1), FLOAT, np.array([1.0, 1.0]), EXACT) == "shape [1], expected [2]"
    problem = difference(np.array([1.0, 1.0]), FLOAT, np.array([1.0, 1.0]), EXACT)
    assert problem == "float64, expected float32"


def test_scalars_and_empty_tensors_can_be_compared() -> None:
    scalar = TensorInfo((), DataType.FLOAT32)
    assert difference(np.array(1, np.float32), scalar, np.array(1.0), EXACT) == ""
    problem = difference(np.array(2, np.float32), scalar, np.array(1.0), EXACT)
    assert problem.startswith("1 of 1 elements differ, the first at []: got 2.0")
    empty = TensorInfo((0, 2), DataType.FLOAT32)
    assert difference(np.zeros((0, 2), np.float32), empty, np.zeros((0, 2)), EXACT) == ""
