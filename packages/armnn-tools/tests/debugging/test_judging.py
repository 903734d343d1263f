# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import DataType, TensorInfo
from armnn_tools.debugging.findings import ErrorKind, Figures
from armnn_tools.debugging.judging import Opinions, as_bfloat16, judge

FLOOR = 2.0**-23
TRUTH = np.linspace(-2, 2, 200)


def judged(
    got: Any, truth: Any = TRUTH, *, info: TensorInfo | None = None, **options: Any
) -> Figures:
    """Judge float32 numbers; the reference rounds the truth."""
    exact = np.asarray(truth, np.float64)
    opinions = Opinions(np.asarray(got), exact.astype(np.asarray(got).dtype), exact)
    return judge(opinions, TensorInfo(exact.shape), FLOOR, **options)


def test_rounding_is_right_and_ten_times_as_much_is_wrong() -> None:
    rounded = TRUTH.astype(np.float32)
    assert judged(rounded).kind is ErrorKind.NONE
    figures = judged(rounded + np.float32(40 * 2.0**-23))
    assert figures.kind is ErrorKind.VALUES
    assert figures.largest == pytest.approx(20 * 2.0**-23, rel=0.1)  # of the largest number, 2
    assert figures.count == figures.total == 200
    assert figures.first == (0,)


def test_one_wrong_element_of_many_is_found() -> None:
    got = TRUTH.astype(np.float32)
    got[150] += 1e-4
    figures = judged(got)
    assert (figures.kind, figures.count, figures.first) == (ErrorKind.VALUES, 1, (150,))
    assert figures.expected == TRUTH[150]
    assert figures.ratio == pytest.approx(figures.largest / figures.allowed)


def test_a_small_error_everywhere_is_found_by_its_rms() -> None:
    """No rounding makes all errors as large as allowed."""
    exact = np.full(1000, 1.0)
    exact[0] = 4.0
    got = (exact + 4 * 4.9 * FLOOR).astype(np.float32)
    assert judged(got, exact).kind is ErrorKind.VALUES
    got[1:] = 1.0
    assert judged(got, exact).kind is ErrorKind.NONE


@pytest.mark.parametrize(
    ("value", "kind"),
    [(np.nan, ErrorKind.NAN), (np.inf, ErrorKind.INFINITY), (-np.inf, ErrorKind.INFINITY)],
)
def test_special_numbers_have_kinds_of_their_own(value: float, kind: ErrorKind) -> None:
    got = TRUTH.astype(np.float32)
    got[7] = value
    figures = judged(got)
    assert (figures.kind, figures.first, figures.count) == (kind, (7,), 1)


def test_special_numbers_that_are_true_are_right() -> None:
    truth = TRUTH.copy()
    truth[3], truth[5] = np.nan, np.inf
    assert judged(truth.astype(np.float32), truth).kind is ErrorKind.NONE
    lost = truth.astype(np.float32)
    lost[3] = 0
    assert judged(lost, truth).kind is ErrorKind.NAN
    assert judged(lost, truth, propagates_nan=False).kind is ErrorKind.NONE


def test_a_sum_near_the_largest_number_may_pass_it() -> None:
    truth = np.array([3.3e38, 1.0])
    assert judged(np.float32([np.inf, 1]), truth).kind is ErrorKind.NONE
    assert judged(np.float32([3.3e38, np.inf]), truth).kind is ErrorKind.INFINITY


def test_a_wrong_shape_or_type_is_named() -> None:
    figures = judge(
        Opinions(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)),
        TensorInfo((3, 2)),
        FLOOR,
    )
    assert figures.kind is ErrorKind.SHAPE
    assert figures.detail == "got float32[2,3], expected float32[3,2]"


def test_integers_are_exact() -> None:
    info = TensorInfo((2,), DataType.SIGNED64)
    large = np.array([2**60, 5])
    assert judge(Opinions(large, large), info, FLOOR).kind is ErrorKind.NONE
    figures = judge(Opinions(large + np.array([1, 0]), large), info, FLOOR)
    assert (figures.kind, figures.count, figures.first) == (ErrorKind.VALUES, 1, (0,))


STEPS = TensorInfo((200,), DataType.QASYMM_S8, 0.02, -3)


def in_steps(got: Any, truth: Any = TRUTH) -> Figures:
    exact = np.asarray(truth, np.float64)
    stored = np.clip(np.round(exact / np.float32(0.02)) - 3, -128, 127).astype(np.int8)
    return judge(
        Opinions(np.clip(stored + got, -128, 127).astype(np.int8), stored, exact), STEPS, FLOOR
    )


def test_one_step_here_and_there_is_right_and_everywhere_is_wrong() -> None:
    sparse = np.zeros(200, int)
    sparse[::20] = 1
    assert in_steps(sparse).kind is ErrorKind.NONE
    assert in_steps(np.ones(200, int)).kind is ErrorKind.VALUES
    assert in_steps(sparse * 2).kind is ErrorKind.VALUES
    assert in_steps(np.zeros(200, int)).unit == "steps"


def test_cutting_in_the_place_of_rounding_is_found() -> None:
    exact = TRUTH / np.float32(0.02) - 3
    cut = np.floor(exact) - np.round(exact)
    assert in_steps(cut.astype(int)).kind is ErrorKind.VALUES


def test_what_wraps_around_is_a_missing_saturation() -> None:
    truth = TRUTH * 2
    exact = np.round(truth / np.float32(0.02)) - 3
    wrapped = exact.astype(np.int64).astype(np.int8)
    stored = np.clip(exact, -128, 127).astype(np.int8)
    figures = judge(Opinions(wrapped, stored, truth), STEPS, FLOOR)
    assert figures.kind is ErrorKind.SATURATION


def test_narrower_operands_are_allowed_where_they_are_given() -> None:
    narrow = TRUTH * (1 + 2.0**-9)
    got = narrow.astype(np.float32)
    reference = TRUTH.astype(np.float32)
    info = TensorInfo(TRUTH.shape)
    assert judge(Opinions(got, reference, TRUTH), info, FLOOR).kind is ErrorKind.VALUES
    assert judge(Opinions(got, reference, TRUTH, narrow), info, FLOOR).kind is ErrorKind.NONE


def test_nothing_is_right() -> None:
    empty = np.zeros((0, 3), np.float32)
    assert judge(Opinions(empty, empty), TensorInfo((0, 3)), FLOOR) == Figures()


def test_few_numbers_tell_no_rms_error() -> None:
    """The reference may be right by chance."""
    for count, kind in ((15, ErrorKind.NONE), (16, ErrorKind.VALUES)):
        truth = np.full(count, 1.0)
        got = (truth + 4.5 * FLOOR).astype(np.float32)
        assert judged(got, truth).kind is kind


def test_numbers_too_large_for_bfloat16_are_infinite_without_a_warning() -> None:
    made = as_bfloat16(np.array([1e300, -1e39, 1 + 2.0**-9, 1 + 2.0**-7]))
    np.testing.assert_array_equal(made, [np.inf, -np.inf, 1, 1 + 2.0**-7])
