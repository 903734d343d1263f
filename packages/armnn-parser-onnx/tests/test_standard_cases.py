# SPDX-License-Identifier: MIT
"""ONNX's own node tests: all pass but those named here; the README says how many."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx_standard import Outcome, run_case

from armnn_parser_onnx.operators import operator_names

PACKAGE = Path(__file__).resolve().parents[1]
# Only the worker of pytest-xdist that runs these computes the cases.
pytestmark = pytest.mark.xdist_group("cases of the standard")

REFUSED = {
    r"^test_roialign_mode_max$": "largest weighted neighbor",
    r"^test_not_": "uses opset 1: expected 7 or newer",
    r"^test_ai_onnx_ml_": "unsupported operators: .* of the domain 'ai.onnx.ml' are not supported",
}
"""Which cases are refused, and a part of the reason."""

ROUNDED_OTHERWISE = {
    r"^test_attention_.*_bf16(_expanded)?$": 0.02,
    r"^test_attention_4d_causal_fp16_expanded$": 0.002,
    r"^test_dft_inverse": 1e-5,
}
"""How far results may be from those of onnx, which rounds every intermediate result."""


@pytest.fixture(scope="module")
def outcomes(node_tests: list[Any]) -> list[Outcome]:
    """Return the outcome of each case, within the tolerances that onnx declares."""
    return [run_case(case, ["CpuRef"]) for case in node_tests]


def matching(table: dict[str, Any], name: str) -> list[Any]:
    return [value for pattern, value in table.items() if re.search(pattern, name)]


def test_cases_pass_but_for_those_of_the_tables(
    node_tests: list[Any], outcomes: list[Outcome]
) -> None:
    unexpected = []
    for case, outcome in zip(node_tests, outcomes, strict=True):
        assert case.name == outcome.name
        reasons = matching(REFUSED, case.name)
        if reasons and outcome.result != "excluded":
            as_said = outcome.result == "refused" and re.search(reasons[0], outcome.reason)
            unexpected += [] if as_said else [outcome]
        elif outcome.result == "failed" and (close := matching(ROUNDED_OTHERWISE, case.name)):
            nearly = run_case(replace(case, atol=max(case.atol, *close)), ["CpuRef"])
            unexpected += [] if nearly.result == "passed" else [nearly]
        elif outcome.result not in ("passed", "excluded"):
            unexpected.append(outcome)
    assert unexpected == []


def test_each_exception_is_met_by_a_case(outcomes: list[Outcome]) -> None:
    for result, table in (("refused", REFUSED), ("failed", ROUNDED_OTHERWISE)):
        names = [outcome.name for outcome in outcomes if outcome.result == result]
        for pattern in table:
            assert any(re.search(pattern, name) for name in names), pattern


def test_as_many_pass_as_are_recorded(outcomes: list[Outcome]) -> None:
    counts = Counter(outcome.result for outcome in outcomes)
    counted = counts.total() - counts["excluded"]
    assert counts["passed"] == int((PACKAGE / "onnx_standard_floor.txt").read_text())
    said = " ".join((PACKAGE / "README.md").read_text(encoding="utf-8").split())
    assert f" {counts['passed']} of the {counted} node tests of onnx {onnx.__version__} " in said


def test_the_cases_cover_nearly_every_operator(
    node_tests: list[Any], outcomes: list[Outcome]
) -> None:
    passed = {outcome.name for outcome in outcomes if outcome.result == "passed"}
    graphs = (case.model.graph for case in node_tests if case.name in passed)
    seen = {node.op_type for graph in graphs for node in graph.node}
    assert set(operator_names()) - seen <= {"Constant", "GlobalLpPool"}
