# SPDX-License-Identifier: MIT
"""The contest of candidates, with children whose times are given."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from armnn_backend_api.processes import Bounds, NoReplyError
from armnn_tools.placement import Trial, measuring
from armnn_tools.placement.measuring import FIRST_SECONDS, Contest

REQUEST = {"options": {"model_options": {}}}


class Scripted:
    """A child that says given times of its backend."""

    times: ClassVar[Mapping[str, Sequence[float]]] = {}
    asked: ClassVar[list[tuple[str, float]]] = []

    def __init__(self, function: str, request: Mapping[str, Any], bounds: Bounds) -> None:
        assert 0 < (bounds.seconds or 0) <= 60
        assert function == "armnn_tools.placement.worker:serve"
        self._id = request["backends"][0]
        self._left = list(self.times[self._id])
        self._said: list[dict[str, Any]] = [
            {"load_seconds": 0.1, "layers": {self._id: 1}},
            {"border_seconds": 2e-6},
        ]

    def reply(self) -> dict[str, Any]:
        return self._said.pop(0)

    def ask(self, seconds: float) -> dict[str, Any]:
        self.asked.append((self._id, seconds))
        if not self._left:
            raise NoReplyError("has ended")
        return {"times": self._left.pop(0) if len(self._left) > 1 else self._left[0]}

    def close(self) -> None:
        self._left.clear()


def contest(monkeypatch: pytest.MonkeyPatch, times: Mapping[str, Sequence[float]]) -> list[Trial]:
    """Return the trials of backends that take these seconds."""
    monkeypatch.setattr(Scripted, "times", times)
    monkeypatch.setattr(Scripted, "asked", [])
    monkeypatch.setattr(measuring, "JsonChild", Scripted)
    trials = [Trial((each,)) for each in times]
    return Contest(REQUEST, time.monotonic() + 60, str).run(trials)


def test_slow_first_runs_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = contest(monkeypatch, {"A": [1e-3, 1e-3], "B": [5e-3, 5e-4, 5e-4]})
    assert [each.title for each in found] == ["B", "A"]
    assert found[0].microseconds == pytest.approx(500)


def test_a_hopeless_candidate_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = contest(monkeypatch, {"A": [1e-3, 1e-3], "B": [30e-3, 1e-9]})
    assert [each.title for each in found] == ["A", "B"]
    assert [seconds for title, seconds in Scripted.asked if title == "B"] == [0.0]


def test_what_slows_every_turn_does_not_change_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = [1.0, 3.0, 1.0, 2.0, 4.0, 1.0, 3.0, 1.0, 2.0, 1.0, 5.0]
    times = {
        "A": [1e-3, 1e-3, *(each * 1.05e-3 for each in noise)],
        "B": [1e-3, 1.5e-3, *(each * 1e-3 for each in noise)],
    }
    found = contest(monkeypatch, times)
    assert [each.title for each in found] == ["B", "A"]
    fast, slow = (each.microseconds or 0.0 for each in found)
    assert slow / fast == pytest.approx(1.05, abs=1e-6)


def test_equal_times_prefer_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    found = contest(monkeypatch, {"A": [1.005e-3] * 3, "B": [1e-3] * 3})
    assert [each.title for each in found] == ["A", "B"]


def test_a_candidate_far_behind_gets_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    contest(monkeypatch, {"A": [1e-3] * 3, "B": [3e-3] * 3, "C": [1.5e-3] * 3})
    turns = [title for title, seconds in Scripted.asked if seconds not in (0.0, FIRST_SECONDS)]
    assert {*turns} == {"A", "C"}
    assert turns.count("A") == measuring.TURNS


def test_one_that_ends_in_its_turn_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending(Scripted):
        def ask(self, seconds: float) -> dict[str, Any]:
            if self._id == "B" and seconds == measuring.TURN_SECONDS:
                raise NoReplyError("its process ended with SIGSEGV")
            return super().ask(seconds)

    monkeypatch.setattr(Ending, "times", {"A": [1e-3] * 3, "B": [5e-4] * 3})
    monkeypatch.setattr(Ending, "asked", [])
    monkeypatch.setattr(measuring, "JsonChild", Ending)
    trials = [Trial(("A",)), Trial(("B",))]
    found = Contest(REQUEST, time.monotonic() + 60, str).run(trials)
    assert [each.title for each in found] == ["A", "B"]
    assert found[1].fault == "its process ended with SIGSEGV"


@pytest.mark.parametrize(("ratio", "options"), [(0.96, {}), (0.9, {"A": {"NumberOfThreads": 1}})])
def test_options_must_be_worth_while(
    monkeypatch: pytest.MonkeyPatch, ratio: float, options: dict[str, Any]
) -> None:
    class Optional(Scripted):
        def __init__(self, function: str, request: Mapping[str, Any], bounds: Bounds) -> None:
            super().__init__(function, request, bounds)
            if request["options"]["model_options"]:
                self._left = [1e-3 * ratio] * 3

    monkeypatch.setattr(Optional, "times", {"A": [1e-3] * 3})
    monkeypatch.setattr(measuring, "JsonChild", Optional)
    trials = [Trial(("A",)), Trial(("A",), {"A": {"NumberOfThreads": 1}})]
    found = Contest(REQUEST, time.monotonic() + 60, str).run(trials)
    assert found[0].options == options
