# SPDX-License-Identifier: MIT
"""Orders of preference that are worth measuring."""

from __future__ import annotations

from armnn.placement.orders import orders_of


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


def test_where_no_answer_is_known_each_backend_goes_first_once() -> None:
    assert orders_of(["A", "B"], {"A": [], "B": []}) == [("A", "B"), ("B", "A")]


def test_of_many_backends_the_most_preferred_are_permuted() -> None:
    ids = [f"B{number}" for number in range(8)]
    answers = {each: [each == one for one in ids[:5]] + [True] for each in ids}
    answers["B7"] = [True] * 6
    found = orders_of(ids, answers)
    assert found[0] == ("B7",)
    assert all(set(order) <= {*ids[:5]} or order == ("B7",) for order in found)
