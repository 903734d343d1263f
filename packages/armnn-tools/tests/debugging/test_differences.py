# SPDX-License-Identifier: MIT
"""Differences between outputs, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn_tools.debugging import OutputDifference, Tolerance, compare_outputs

FLOATS = TensorInfo((2, 2))


def difference(
    got: Any, expected: Any, info: TensorInfo = FLOATS, **options: Any
) -> OutputDifference:
    """Return the difference of one output."""
    arrays = [np.asarray(each) for each in (got, expected)]
    found = compare_outputs({"y": arrays[0]}, {"y": arrays[1]}, {"y": info}, **options)
    (row,) = found.outputs
    assert found.agrees is row.agrees
    assert found.first is (None if row.agrees else row)
    return row


def test_the_first_number_that_differs_has_its_place() -> None:
    row = difference(np.float32([[0, 1], [2.5, 5]]), np.float32([[0, 1], [2, 4]]))
    assert (row.first, row.got, row.expected, row.count, row.total) == ((1, 0), 2.5, 2.0, 2, 4)
    assert row.unit == "of the range"
    assert row.largest == 0.25  # 1 of the range 4
    assert row.rms_error == pytest.approx(math.sqrt((0.25 + 1) / 4))
    assert str(row) == (
        "output 'y' differs in 2 of 4 numbers, first at [1, 0]: got 2.5, expected 2; largest "
        "difference 0.25 of the range, RMS error 0.559"
    )


@pytest.mark.parametrize(
    ("off", "agrees"), [(0.0, True), (0.0039, True), (0.0041, False), (-0.0041, False)]
)
def test_real_numbers_may_be_off_by_a_thousandth_of_the_range(off: float, agrees: bool) -> None:
    row = difference(np.float64([-2, 0, 2 + off]), np.float64([-2, 0, 2]))
    assert row.agrees is agrees
    assert row.largest == pytest.approx(abs(off) / 4)


def test_the_tolerance_is_what_the_caller_says() -> None:
    arrays = np.float32([1.1, 2]), np.float32([1, 2])
    assert not difference(*arrays).agrees
    assert difference(*arrays, tolerance=Tolerance(of_range=0.2)).agrees
    assert not difference(*arrays, tolerance=Tolerance(of_range=0)).agrees
    assert difference(arrays[1], arrays[1], tolerance=Tolerance(of_range=0)).agrees


def test_one_number_and_equal_numbers_have_their_size_as_range() -> None:
    assert difference(np.float32(1000.5), np.float32(1000)).agrees
    assert not difference(np.float32(1002), np.float32(1000)).agrees
    assert difference(np.float32([5, 5.004]), np.float32([5, 5])).agrees
    assert not difference(np.float32([5, 5.006]), np.float32([5, 5])).agrees
    assert not difference(np.float32([0, 0.002]), np.float32([0, 0])).agrees


QUANTIZED = TensorInfo((3,), DataType.QASYMM_U8, 0.5, 10)


def test_quantized_numbers_may_be_one_step_off() -> None:
    expected = np.uint8([0, 255, 20])
    assert difference(np.uint8([1, 254, 20]), expected, QUANTIZED).agrees
    row = difference(np.uint8([0, 252, 18]), expected, QUANTIZED)
    assert (row.largest, row.unit, row.first, row.count) == (3.0, "steps", (1,), 2)
    assert (row.got, row.expected) == ((252 - 10) / 2, (255 - 10) / 2)
    assert row.rms_error == pytest.approx(math.sqrt((9 + 4) / 3) * 0.5)
    assert difference(np.uint8([0, 252, 18]), expected, QUANTIZED, tolerance=Tolerance(steps=3))


@pytest.mark.parametrize(
    ("dtype", "data_type", "numbers"),
    [
        (np.int64, DataType.SIGNED64, [2**62 + 1, -(2**63)]),
        (np.int8, DataType.SIGNED8, [127, -128]),
        (np.bool_, DataType.BOOLEAN, [True, False]),
    ],
)
def test_integers_are_compared_exactly(dtype: Any, data_type: DataType, numbers: Any) -> None:
    info = TensorInfo((2,), data_type)
    expected = np.array(numbers, dtype)
    assert difference(expected, expected, info).agrees
    row = difference(expected[[1, 1]], expected, info)
    assert (row.count, row.first) == (1, (0,))
    near = np.array([2**62, -(2**63)], np.int64)
    if dtype is np.int64:
        assert difference(near, expected, info).largest == 1.0


def test_a_distance_of_far_integers_does_not_wrap_around() -> None:
    row = difference(np.int8([-128]), np.int8([127]), TensorInfo((1,), DataType.SIGNED8))
    assert row.largest == 255.0


def test_nan_and_infinity_equal_only_themselves() -> None:
    special = np.float32([np.nan, np.inf, -np.inf, 1])
    assert difference(special, special.copy()).agrees
    for place, other in ((0, 1.0), (1, -np.inf), (2, np.nan), (3, np.nan)):
        wrong = special.copy()
        wrong[place] = other
        row = difference(wrong, special)
        assert (row.count, row.first) == (1, (place,))
        assert row.largest == 0.0  # between the finite numbers
    assert "got nan, expected 1;" in str(row)


def test_another_type_or_shape_is_named() -> None:
    row = difference(np.float32([1]), np.float64([1]))
    assert (row.agrees, row.problem) == (False, "got float32, expected float64")
    row = difference(np.float32([[1, 2]]), np.float32([1, 2]))
    assert str(row) == "output 'y': another shape: got [1,2], expected [2]"
    assert row.as_dict()["agrees"] is False


def test_small_floats_are_compared_as_their_values() -> None:
    half = np.float16([1, 2])
    assert difference(half, half, TensorInfo((2,), DataType.FLOAT16)).agrees
    rough = half.astype(DataType.BFLOAT16.numpy_dtype)
    row = difference(rough, rough * rough, TensorInfo((2,), DataType.BFLOAT16))
    assert (row.first, row.got, row.expected) == ((1,), 2.0, 4.0)


def test_empty_outputs_agree() -> None:
    row = difference(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
    assert (row.agrees, row.total, row.rms_error) == (True, 0, 0.0)
    assert str(row) == ("output 'y' agrees: largest difference 0 of the range, RMS error 0")


def test_the_first_of_several_outputs_that_differs_is_named() -> None:
    got = {name: np.float32([value]) for name, value in (("a", 1), ("b", 2), ("c", 3))}
    expected = {"c": np.float32([4]), "b": np.float32([3])}
    found = compare_outputs(got, expected, dict.fromkeys(got, FLOATS), source="stored")
    assert [row.name for row in found.outputs] == ["b", "c"]
    assert found.first is found.outputs[0]
    document = found.as_dict()
    assert (document["source"], document["agrees"]) == ("stored", False)
    assert document["tolerance"] == {"of_range": 1e-3, "steps": 1}
    assert str(found.tolerance) == "0.001 of the range, 1 step"


def test_outputs_that_are_not_there_are_refused() -> None:
    got = {"y": np.float32([1])}
    with pytest.raises(InvalidArgumentError, match=r"cannot compare the outputs 'z': .* 'y'$"):
        compare_outputs(got, {"y": got["y"], "z": got["y"]}, {"y": FLOATS})
    with pytest.raises(InvalidArgumentError, match=r"cannot compare no output: .* 'y'$"):
        compare_outputs(got, {}, {"y": FLOATS})
    with pytest.raises(InvalidArgumentError, match=r"the tolerance steps .* expected 0 or more"):
        Tolerance(steps=-1)
