# SPDX-License-Identifier: MIT
"""Runs are repeated on inputs like the first ones only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn.graph.aliases import Aliased
from armnn.runtime.steps import filling, repeating, repeating_into

GIVEN = {name: np.arange(3, dtype=np.float32) + at for at, name in enumerate("ab")}


@pytest.mark.parametrize("count", [1, 2])
def test_a_repeated_run_reads_its_inputs_and_returns_arrays_of_its_own(count: int) -> None:
    read = [(name, np.zeros(3, np.float32)) for name in "ab"[:count]]
    made = [(name, np.zeros(3, np.float32)) for name in "yz"[:count]]

    def run() -> None:
        for (_, source), (_, target) in zip(read, made, strict=True):
            target[...] = 2 * source

    second_names = {"tensor": "y"}
    repeat = repeating(read, made, run, second_names)
    inputs = {name: GIVEN[name] for name, _ in read}
    first, again = repeat(inputs), repeat({name: 2 * array for name, array in inputs.items()})
    assert first is not None
    assert again is not None
    for (name, _), (output, array) in zip(read, made, strict=True):
        np.testing.assert_array_equal(first[output], 2 * GIVEN[name])
        np.testing.assert_array_equal(again[output], 4 * GIVEN[name])
        assert not np.shares_memory(again[output], array)
    assert list(again) == [name for name, _ in made]
    assert again["tensor"] is again["y"]
    plain = repeating(read, made, run, {})(inputs)
    assert type(plain) is dict
    assert list(plain) == list(again)


@pytest.mark.parametrize(
    "change",
    [
        {"a": GIVEN["a"].astype(np.float64)},
        {"a": GIVEN["a"][:2]},
        {"a": GIVEN["a"].tolist()},
        {"other": GIVEN["a"]},
        {"other": GIVEN["a"], "a": None},
    ],
    ids=["type", "shape", "list", "one more", "another"],
)
@pytest.mark.parametrize("count", [1, 2])
def test_other_inputs_are_left_to_a_run_that_checks_them(
    count: int, change: dict[str, Any]
) -> None:
    def run() -> None:
        raise AssertionError("these inputs are others: nothing is to run")

    names = "ab"[:count]
    read = [(name, np.zeros(3, np.float32)) for name in names]
    repeat = repeating(read, [(name, np.zeros(3)) for name in names], run, {})
    inputs = {name: GIVEN[name] for name in names} | change
    assert repeat({name: array for name, array in inputs.items() if array is not None}) is None


def test_a_run_into_given_arrays_writes_them_and_makes_the_others() -> None:
    made = [(name, np.zeros(3, np.float32)) for name in "yz"]

    def run() -> None:
        for factor, (_, target) in enumerate(made, 1):
            target[...] = factor * read[1]

    read = ("a", np.zeros(3, np.float32))
    repeat = repeating_into(filling([read]), made, run, {"tensor": "y"})
    target = np.full((3, 2), 9, np.float32)[:, 0]  # no two numbers side by side
    outputs = repeat({"a": GIVEN["a"]}, {"y": target})
    assert outputs is not None
    assert outputs["tensor"] is target
    np.testing.assert_array_equal(target, GIVEN["a"])
    np.testing.assert_array_equal(outputs["z"], 2 * GIVEN["a"])
    assert not np.shares_memory(outputs["z"], made[1][1])
    in_place = {"a": GIVEN["a"].copy()}
    plain = repeating_into(filling([read]), made, run, {})
    assert plain(in_place, {"z": in_place["a"]}) is not None
    np.testing.assert_array_equal(in_place["a"], 2 * GIVEN["a"])


def test_what_a_run_made_is_written_again() -> None:
    """Second names of another network's outputs do not count."""
    made = [(name, np.zeros(3, np.float32)) for name in "yz"]
    fill = filling([("a", GIVEN["a"].copy())])
    repeat = repeating_into(fill, made, lambda: None, {"tensor": "y"})
    outputs = repeat({"a": GIVEN["a"]}, {})
    assert outputs is not None
    again = repeat({"a": GIVEN["a"]}, outputs)
    assert again is not None
    assert all(again[name] is outputs[name] for name in "yz")
    other = repeat({"a": GIVEN["a"]}, Aliased({"z": outputs["z"]}, {"y": "z"}))
    assert other is not None
    assert other["z"] is outputs["z"]
    assert not np.shares_memory(other["y"], outputs["z"])


_MEMORY = np.zeros(5, np.float32)
_CONSTANT = np.zeros(3, np.float32)
_CONSTANT.flags.writeable = False


@pytest.mark.parametrize(
    "targets",
    [
        {"tensor": np.zeros(3, np.float32)},
        {"y": np.zeros(3, np.float64)},
        {"y": np.zeros((3, 1), np.float32)},
        {"y": [0.0, 0.0, 0.0]},
        {"y": None},
        {"y": _CONSTANT},
        {"y": _MEMORY[:3], "z": _MEMORY[2:]},
        [("y", np.zeros(3, np.float32))],
    ],
    ids=["second name", "type", "shape", "list", "None", "read-only", "shared", "no mapping"],
)
def test_other_arrays_are_left_to_a_run_that_checks_them(targets: Any) -> None:
    def run() -> None:
        raise AssertionError("these arrays are others: nothing is to run")

    made = [(name, np.zeros(3, np.float32)) for name in "yz"]
    read = [("a", np.zeros(3, np.float32))]
    repeat = repeating_into(filling(read), made, run, {"tensor": "y"})
    assert repeat({"a": GIVEN["a"]}, targets) is None


def test_other_inputs_are_left_alone_beside_given_arrays_too() -> None:
    fill = filling([("a", GIVEN["a"].copy())])
    repeat = repeating_into(fill, [("y", GIVEN["b"])], lambda: None, {})
    assert repeat({"a": GIVEN["a"].astype(np.float64)}, {"y": GIVEN["b"].copy()}) is None
