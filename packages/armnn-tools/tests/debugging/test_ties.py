# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, TensorInfo
from armnn.backends import ModelContext
from armnn.backends.registry import BackendRegistry
from armnn.optimizer import Candidate
from armnn_tools.debugging.judging import Ties
from armnn_tools.debugging.reference import CleanValues, Reference, Visit


@pytest.fixture(scope="module")
def reference() -> Reference:
    backend = BackendRegistry(CreationOptions()).get("CpuRef")
    return Reference(Candidate(backend, ModelContext({})))


def visit_of(network: Network, array: Any, reference: Reference) -> Visit:
    (visit,) = CleanValues(network, {"x": array}, reference).visits
    return visit


def test_an_index_of_an_equal_element_is_a_tie(reference: Reference) -> None:
    network = Network("pick")
    x = network.add_input("x", TensorInfo((2, 4)))
    network.add_output("y", network.add_arg_min_max(x, function="Max", axis=1))
    visit = visit_of(network, np.float32([[1, 3, 3, 0], [5, 1, 2, 3]]), reference)
    ties = Ties(visit, reference)
    assert ties.explain(0, np.int32([2, 0]))
    assert not ties.explain(0, np.int32([0, 0]))
    assert not ties.explain(0, np.int32([2, 9]))
    assert not ties.explain(0, np.int32([2]))


def test_rounding_may_turn_over_a_division_at_an_integer(reference: Reference) -> None:
    network = Network("floor")
    x = network.add_input("x", TensorInfo((3,)))
    three = network.add_constant(np.float32([3, 3, 3]))
    network.add_output("y", network.add_elementwise_binary(x, three, operation="FloorDiv"))
    ties = Ties(visit_of(network, np.float32([6, 7, 8]), reference), reference)
    assert ties.explain(0, np.float32([1, 2, 2]))
    assert not ties.explain(0, np.float32([2, 1, 2]))


def test_smooth_functions_have_no_ties(reference: Reference) -> None:
    network = Network("smooth")
    x = network.add_input("x", TensorInfo((3,)))
    network.add_output("y", network.add_elementwise_unary(x, operation="Exp"))
    visit = visit_of(network, np.float32([1, 2, 3]), reference)
    assert not Ties(visit, reference).explain(0, visit.outputs[0] * np.float32(1 + 1e-7))


def boxes(overlap: float, reference: Reference) -> tuple[Ties, Visit]:
    """Return two boxes; covering more than half drops one."""
    network = Network("boxes")
    x = network.add_input("x", TensorInfo((1, 2, 4)))
    scores = network.add_constant(np.array([[[0.9, 0.8]]], np.float32))
    made = network.add_non_max_suppression(
        x, scores, max_output_boxes_per_class=2, iou_threshold=0.5
    )
    network.add_output("y", made)
    array = np.array([[[0, 0, 1, 1], [0, 0, 1, overlap]]], np.float32)
    visit = visit_of(network, array, reference)
    return Ties(visit, reference), visit


def test_a_box_at_the_threshold_may_be_kept_or_dropped(reference: Reference) -> None:
    for overlap, is_tie in ((0.3, False), (0.50000003, True), (0.8, False)):
        ties, visit = boxes(overlap, reference)
        other = np.zeros((3 - len(visit.outputs[0]), 3), np.int64)
        assert ties.explain(0, other) is is_tie


def test_the_size_of_sums_is_that_before_terms_cancel(reference: Reference) -> None:
    network = Network("cancels")
    x = network.add_input("x", TensorInfo((1, 4)))
    weights = np.array([[1], [1], [1], [-1]], np.float32)
    network.add_output("y", network.add_fully_connected(x, weights))
    visit = visit_of(network, np.array([[1, 2, 3, 5.5]], np.float32), reference)
    assert visit.outputs[0].item() == 0.5
    expected = np.sqrt(1 + 4 + 9 + 5.5**2)
    assert Ties(visit, reference).size_of_sums(0) == pytest.approx(expected)
