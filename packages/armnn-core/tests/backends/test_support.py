# SPDX-License-Identifier: MIT
"""Answers of backends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from armnn import DataLayout, Network, TensorInfo
from armnn.backends import Support
from armnn.errors import OptimizationError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

HOSTILE = "no\x1b[2J\nroot# \u202etxt.exe\x07\udc80"
SHOWN = r"no\x1b[2J\nroot# \u202etxt.exe\x07\udc80"


def sum_of_two() -> Network:
    network = Network("sum")
    value = network.add_input("x", TensorInfo((2,)))
    network.add_output("y", network.add_addition(value, value, name="add"))
    return network


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (HOSTILE, SHOWN),
        (SHOWN, SHOWN),
        ("needs Größe ≤ 4", "needs Größe ≤ 4"),
        ("x" * 4096, "x" * 4096),
        ("x" * 4097, "x" * 4093 + "..."),
    ],
)
def test_a_reason_has_escapes_and_an_end(reason: str, kept: str) -> None:
    assert Support.no(reason).reason == kept
    assert Support(False, reason, DataLayout.NHWC).reason == kept


def test_a_refusal_without_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="a refusal needs a reason"):
        Support.no("")


def test_a_hostile_reason_is_escaped_wherever_it_is_read(
    make_backend: Any, participants: Any
) -> None:
    first = make_backend("First", {"Addition": HOSTILE})
    parties = participants(first, make_backend("Second"))
    report = OptimizedNetwork(sum_of_two(), parties, OptimizerOptions()).report
    assert str(report) == f"add: Addition on Second  (First: {SHOWN})"
    assert json.loads(json.dumps(report.rows[0].as_dict()))["refusals"][0]["reason"] == SHOWN
    with pytest.raises(OptimizationError) as failure:
        OptimizedNetwork(sum_of_two(), participants(first), OptimizerOptions())
    assert SHOWN in str(failure.value)
    assert "\x1b" not in str(failure.value)
