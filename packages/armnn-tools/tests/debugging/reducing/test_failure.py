# SPDX-License-Identifier: MIT
"""Failures: which are the same, and how they are read."""

from __future__ import annotations

import json

import pytest

from armnn_backend_api.processes import Ending
from armnn_tools.debugging import ErrorKind, Failure, Figures, LayerFinding


def wrong(largest: float, kind: ErrorKind = ErrorKind.VALUES, layer: str = "Softmax") -> Failure:
    figures = Figures(kind, 9.0, largest, unit="of the largest", first=(0, 3), got=1.0)
    return Failure("wrong layer", finding=LayerFinding(("a",), (layer,), "Acme", figures, 2, 2))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (wrong(3e-3), True),
        (wrong(2e-2), True),
        (wrong(0.5), False),
        (wrong(3e-3, ErrorKind.SATURATION), False),
        (wrong(3e-3, layer="Mean"), False),
        (Failure("hang"), False),
    ],
)
def test_wrong_layers_are_the_same_by_type_kind_and_size(other: Failure, same: bool) -> None:
    assert wrong(2e-3).is_same(other) is same


def test_a_finding_comes_back_from_json() -> None:
    failure = wrong(2e-3)
    assert failure.finding is not None
    stored = json.loads(json.dumps(failure.finding.as_dict()))
    assert Failure.of_finding(stored) == failure


def test_a_crash_is_its_signal_and_its_first_frame() -> None:
    trace = (
        b"Fatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call first):\n"
        b'  File "/a/native/program.py", line 98 in execute\n  File "/a/b.py", line 3 in run\n'
    )
    found = Failure.of_ending(Ending("ended", -11, errors=trace))
    assert str(found) == "crash: SIGSEGV: program.py:execute"
    moved = trace.replace(b"line 98", b"line 99")
    assert found.is_same(Failure.of_ending(Ending("ended", -11, errors=moved)))
    assert not found.is_same(Failure.of_ending(Ending("ended", -6, errors=trace)))
    assert not found.is_same(Failure.of_ending(Ending("ended", -11)))


def test_time_that_is_over_is_a_hang() -> None:
    assert Failure.of_ending(Ending("deadline")) == Failure("hang")


def test_errors_are_the_same_but_for_names_and_numbers() -> None:
    first = Failure.of_error("BackendError", "layer 'a' (Softmax): 3 of 4 failed")
    assert first.is_same(Failure.of_error("BackendError", "layer 'b' (Softmax): 17 of 40 failed"))
    assert not first.is_same(Failure.of_error("BackendError", "layer 'a' (Mean): 3 of 4 failed"))
    assert not first.is_same(Failure.of_error("OSError", "layer 'a' (Softmax): 3 of 4 failed"))
