# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn_tools.debugging import ErrorKind, FailureSignature, Figures, LayerFinding


def signature(
    kind: ErrorKind = ErrorKind.VALUES, magnitude: int | None = -3, *types: str
) -> FailureSignature:
    return FailureSignature(types or ("Softmax",), kind, magnitude)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (signature(), True),
        (signature(magnitude=-4), True),
        (signature(magnitude=-1), False),
        (signature(magnitude=None), False),
        (signature(ErrorKind.NAN, -3), False),
        (signature(ErrorKind.VALUES, -3, "Addition"), False),
    ],
)
def test_a_signature_matches_the_same_failure_only(other: FailureSignature, same: bool) -> None:
    assert signature().matches(other) is same
    assert other.matches(signature()) is same


@pytest.mark.parametrize(
    ("figures", "magnitude"),
    [
        (Figures(ErrorKind.VALUES, largest=0.0042), -3),
        (Figures(ErrorKind.VALUES, largest=float("inf")), None),
        (Figures(ErrorKind.SATURATION, largest=255.0), 2),
        (Figures(ErrorKind.NAN, largest=1.0), None),
    ],
)
def test_the_magnitude_is_the_decimal_exponent(figures: Figures, magnitude: int | None) -> None:
    finding = LayerFinding(("a",), ("Softmax",), "Acme", figures)
    assert finding.signature == FailureSignature(("Softmax",), figures.kind, magnitude)


def test_a_layer_is_flaky_if_some_runs_are_right() -> None:
    def finding(wrong: int) -> LayerFinding:
        return LayerFinding(("a",), ("Softmax",), "Acme", Figures(), wrong_runs=wrong, runs=20)

    assert [finding(wrong).is_flaky for wrong in (0, 1, 19, 20)] == [False, True, True, False]
