# SPDX-License-Identifier: MIT
"""CpuRef passes the conformance kit, without pytest's options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from armnn_conformance.cases import EDGE, all_cells, cases_of, covered_layers
from armnn_conformance.checks import contract, stress
from armnn_conformance.checks.by_name import Checks
from armnn_conformance.checks.correctness import CaseResult, check_cell, claimed_case
from armnn_conformance.checks.quiet import check_quiet
from armnn_conformance.graphs import drawn_layers
from armnn_conformance.graphs.families import ALL_FAMILIES
from armnn_conformance.subject import Subject
from armnn_conformance.support_table import layers_with_kernels

if TYPE_CHECKING:
    from armnn.types import DataType

CELLS = list(all_cells())
CELL_IDS = [f"{layer}-{data_type.arm_name}" for layer, data_type in CELLS]


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with Subject("CpuRef") as found:
        yield found


@pytest.fixture(scope="module")
def checks(subject: Subject) -> Checks:
    return Checks(subject)


def test_every_layer_with_a_kernel_has_cases() -> None:
    assert set(layers_with_kernels()) == set(covered_layers())


@pytest.mark.parametrize(("layer", "data_type"), CELLS, ids=CELL_IDS)
def test_every_cell_has_three_cases_and_an_edge(layer: str, data_type: DataType) -> None:
    cases = list(cases_of(layer, data_type))
    assert len(cases) >= 3
    assert len({case.name for case in cases}) == len(cases)
    assert any(EDGE in case.tags for case in cases)
    assert all(case.tolerance.reason for case in cases)


@pytest.mark.parametrize(("layer", "data_type"), CELLS, ids=CELL_IDS)
def test_every_case_is_computed_rightly(subject: Subject, layer: str, data_type: DataType) -> None:
    cell = check_cell(subject, layer, data_type)
    assert cell.details(CaseResult.FAILED) == {}
    assert cell.details(CaseResult.NOT_SUPPORTED) == {}


def test_it_keeps_the_contract_and_is_robust(subject: Subject) -> None:
    case = claimed_case(subject, "Addition")
    assert case is not None
    contract.check_identity(subject)
    contract.check_description(subject)
    contract.check_unknown_layer(subject)
    contract.check_future_items(subject)
    contract.check_handle_counts(subject, case)
    stress.check_concurrent_runs(subject, case)
    stress.check_out_of_memory(subject, case)
    stress.check_interrupted_runs(subject, case)


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_graphs_are_computed_as_their_layers(checks: Checks, family: str) -> None:
    assert checks.run("graphs", {"family": family, "layers": drawn_layers()})


def test_it_leaves_no_trace() -> None:
    check_quiet("CpuRef", ["Convolution2d", "Softmax"])
