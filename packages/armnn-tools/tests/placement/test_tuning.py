# SPDX-License-Identifier: MIT
"""Measured choices, in real child processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.errors import (
    BackendUnavailableError,
    InvalidArgumentError,
    PlacementError,
    UnknownBackendError,
)
from armnn.graph import Network
from armnn.runtime.verdicts import merged
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_api.processes import NoReplyError
from armnn_tools.placement import Trial, tune, tuning
from armnn_tools.placement.measuring import Contest, asked
from armnn_tools.placement.tuning import orders_of
from fakes.plugins import backend_plugin, installed


def test_the_fastest_right_choice_wins(
    candidates: list[str], two_layers: Network, tmp_path: Path
) -> None:
    model = tmp_path / "two.armnn"
    armnn.save(two_layers, model)
    told: list[str] = []
    verdict = tune(model, candidates, budget=600, tell=told.append)
    by_title = {trial.title.partition(" ")[0]: trial for trial in verdict.trials}
    assert verdict.chosen.backends == ("CpuRef",)
    assert verdict.chosen.layers == {"CpuRef": 2}
    assert by_title["Wrong"].fault == "computes relu wrongly"
    assert by_title["Wrong"].microseconds is not None  # few, as a rule: it computes nothing
    assert by_title["Crash"].fault.startswith("its process ended with SIGSEGV")
    assert by_title["Slow"].microseconds is not None
    half = by_title["Half,CpuRef"]  # a device with memory of its own: with the copies it is slower
    assert half.layers == {"Half": 1, "CpuRef": 1}
    assert half.microseconds is not None
    assert verdict.chosen.microseconds is not None
    assert half.microseconds > verdict.chosen.microseconds
    assert half.border_microseconds > 0
    assert verdict.chosen.border_microseconds == 0
    assert f"us, {half.border_microseconds:,.0f} us of it at borders" in str(verdict)
    assert "CpuRef" in told
    assert verdict.builds["Slow"] == "armnn-backend-slow 0.3.0"


def test_a_missing_backend_is_named_before_anything_is_measured(
    two_layers: Network, tmp_path: Path
) -> None:
    with pytest.raises(UnknownBackendError, match="Cpuref"):
        tune(two_layers, ["Cpuref"])
    old = backend_plugin("Old", requires=["armnn-backend-api>=9"])
    with installed(tmp_path, old), pytest.raises(BackendUnavailableError, match="Old"):
        tune(two_layers, ["Old"])


def test_only_wrong_choices_are_an_error_that_lists_them(
    candidates: list[str], two_layers: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Contest, "run", lambda *_: [Trial(("Wrong",), microseconds=1.0), Trial(("A",), fault="no")]
    )
    with pytest.raises(PlacementError, match=r"no choice .*\n- Wrong: 1 us, computes") as info:
        tune(two_layers, ["Wrong"])
    assert "- A: no" in str(info.value)


def test_what_was_behind_a_wrong_choice_is_measured_again(
    candidates: list[str], two_layers: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Trial(("Wrong",), microseconds=1.0, layers={"Wrong": 2})
    variant = replace(wrong, options={"Wrong": {"NumberOfThreads": 1}}, microseconds=1.1)
    late = Trial(("Slow",), microseconds=80.0, layers={"Slow": 2})
    right = Trial(("CpuRef",), microseconds=90.0, layers={"CpuRef": 2})
    runs: list[list[str]] = []

    def contest(self: Contest, trials: list[Trial]) -> list[Trial]:
        titles = [each.title for each in trials]
        runs.append(titles)
        if variant.title in titles:
            return [wrong, variant]
        if "Wrong" in titles:
            return [wrong, late, right]
        return [replace(right, microseconds=70.0), late]

    monkeypatch.setattr(Contest, "run", contest)
    trials = tune(two_layers, ["Wrong", "Slow"], budget=600).trials
    assert runs[-1] == ["Slow", "CpuRef"]
    assert (trials[0].title, trials[0].microseconds) == ("CpuRef", 70.0)
    assert {each.title: each.fault for each in trials} == {
        "CpuRef": "",
        "Wrong": "computes relu wrongly",
        "Wrong Wrong.NumberOfThreads=1": "computes relu wrongly",
        "Slow": "",
    }


def test_a_child_that_ends_late_after_all_its_answers_has_answered(
    candidates: list[str], two_layers: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(request: dict[str, Any], function: str, *_: object) -> Iterator[dict[str, Any]]:
        if function == "ask":
            yield from [{"runs": [True, True]}] * len(request["backends"])
            raise NoReplyError("exceeded time")
        yield {"fault": ""}

    known = [Trial(("Slow",), microseconds=1.0, layers={"Slow": 2})]
    monkeypatch.setattr(tuning, "asked", silent)
    monkeypatch.setattr(Contest, "run", lambda *_: known)
    assert tune(two_layers, ["Slow"], budget=600).trials == tuple(known)


@pytest.mark.parametrize("budget", [0, -1, float("nan"), "x"])
def test_a_budget_is_more_than_nothing(two_layers: Network, budget: float) -> None:
    with pytest.raises(InvalidArgumentError, match="budget"):
        tune(two_layers, budget=budget)


def test_open_shapes_need_inputs() -> None:
    net = Network("open")
    x = net.add_input("x", TensorInfo((None, 8), DataType.FLOAT32))
    net.add_output("y", net.add_activation(x, function="Abs", name="abs"))
    with pytest.raises(InvalidArgumentError, match="not known in full: give inputs"):
        tune(net)
    net.add_output("places", net.add_non_zero(x))  # a layer that Arm NN lacks
    feeds = {"x": np.ones((3, 8), np.float32)}
    verdict = tune(net, ["CpuRef"], budget=600, inputs=feeds)
    assert verdict.chosen.backends[0] == "CpuRef"


def test_what_the_caller_sets_wins() -> None:
    given = {"A": {"x": 1}, "C": {"z": 1}}
    chosen = {"A": {"x": 2, "y": 3}, "B": {"w": 4}}
    assert merged(given, chosen, ["A", "B"]) == {"A": {"x": 1, "y": 3}, "B": {"w": 4}}


def test_a_child_without_a_model_says_so(tmp_path: Path) -> None:
    request = {
        "model": str(tmp_path / "none.armnn"),
        "parser_options": {},
        "creation_options": {},
        "backends": ["CpuRef"],
    }
    with pytest.raises(NoReplyError, match=r"its process ended with exit code 1: .*none\.armnn"):
        list(asked(request, "ask", 30))


def test_a_backend_that_runs_all_hides_those_after_it() -> None:
    answers = {"A": [True, True], "B": [True, True]}
    assert orders_of(["A", "B"], answers) == [("A",), ("B",)]


def test_a_backend_that_lacks_layers_needs_another_behind_it() -> None:
    answers = {"Half": [True, False], "All": [True, True]}
    assert orders_of(["Half", "All"], answers) == [("All",), ("Half", "All")]


def test_two_halves_are_tried_in_both_orders_only_where_they_compete() -> None:
    apart = {"A": [True, False, False], "B": [False, True, False], "All": [True, True, True]}
    found = orders_of(["A", "B", "All"], apart)
    assert found == [("All",), ("A", "All"), ("B", "All"), ("A", "B", "All")]
    competing = {"A": [True, True, False], "B": [False, True, True], "All": [True] * 3}
    assert {("A", "B"), ("B", "A")} < set(orders_of(["A", "B", "All"], competing))


def test_layers_that_no_backend_runs_leave_no_order() -> None:
    assert orders_of(["A"], {"A": [True, False]}) == []


def test_backends_that_had_no_time_to_answer_leave_no_order() -> None:
    assert orders_of([], {}) == []


def test_where_no_answer_is_known_each_backend_goes_first_once() -> None:
    assert orders_of(["A", "B"], {"A": [], "B": []}) == [("A", "B"), ("B", "A")]


def test_of_many_backends_the_most_preferred_are_permuted() -> None:
    ids = [f"B{number}" for number in range(8)]
    answers = {each: [each == one for one in ids[:5]] + [True] for each in ids}
    answers["B7"] = [True] * 6
    found = orders_of(ids, answers)
    assert found[0] == ("B7",)
    assert all(set(order) <= {*ids[:5]} or order == ("B7",) for order in found)
